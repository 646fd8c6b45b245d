// SPDX-License-Identifier: Apache-2.0
#ifdef FRESHET_EXPLORE
#include "freshet/testing/sim/explore/chooser.h"

#include <algorithm>
#include <numeric>
#include <sstream>

namespace freshet::testing {

Chooser::Chooser(const ExploreOptions& options, uint64_t seed)
    : exhaustive_(options.mode == ExploreOptions::Mode::kExhaustive),
      executionsLeft_(options.executionsMax),
      changePoints_(options.preemptions),
      random_(seed) {
    if (!options.replay.empty()) {
        replayOnly_ = true;
        parse(options.replay);
    }
}

bool Chooser::next() {
    bool first = !started_;
    started_ = true;
    if (replayOnly_) {
        return first;
    }
    if (executionsLeft_ == 0) {
        return false;
    }
    --executionsLeft_;
    if (exhaustive_) {
        if (!first && !backtrack()) {
            complete_ = true;
            return false;
        }
    } else {
        choices_.clear();
        shufflePriorities();
    }
    position_ = 0;
    step_ = 0;
    return true;
}

/// Depth first: the last choice that has an untried option takes it.
bool Chooser::backtrack() {
    choices_.resize(position_);
    while (!choices_.empty() && choices_.back().taken + 1 >= choices_.back().count) {
        choices_.pop_back();
    }
    if (choices_.empty()) {
        return false;
    }
    ++choices_.back().taken;
    return true;
}

void Chooser::shufflePriorities() {
    randomWalk_ = (random_() & 1) != 0;
    priorities_.resize(Model::kThreadsMax + 1);
    std::iota(priorities_.begin(), priorities_.end(), 1);
    std::shuffle(priorities_.begin(), priorities_.end(), random_);
    lowest_ = 0;
    changeAt_.clear();
    for (unsigned i = 0; i < changePoints_; ++i) {
        changeAt_.push_back(random_() % stepsExpected_);
    }
}

unsigned Chooser::takeScripted(unsigned count) {
    Choice& choice = choices_[position_++];
    // A parsed schedule has no counts.
    diverged_ = diverged_ || choice.taken >= count || (choice.count != 0 && choice.count != count);
    choice.count = count;
    return std::min(choice.taken, count - 1);
}

unsigned Chooser::record(unsigned taken, unsigned count) {
    choices_.push_back({taken, count});
    ++position_;
    return taken;
}

unsigned Chooser::choose(unsigned count) {
    if (count == 1) {
        return 0;
    }
    if (isScripted()) {
        return takeScripted(count);
    }
    bool first = exhaustive_ || replayOnly_ || random_() % 4 != 0;
    return record(first ? 0 : static_cast<unsigned>(1 + random_() % (count - 1)), count);
}

unsigned Chooser::chooseThread(const std::vector<unsigned>& candidates) {
    auto count = static_cast<unsigned>(candidates.size());
    ++step_;
    if (count == 1) {
        return 0;
    }
    if (isScripted()) {
        return takeScripted(count);
    }
    if (exhaustive_ || replayOnly_) {
        return record(0, count);
    }
    if (randomWalk_) {
        return record(random_() % 3 != 0 ? 0 : static_cast<unsigned>(random_() % count), count);
    }
    if (std::find(changeAt_.begin(), changeAt_.end(), step_) != changeAt_.end()) {
        priorities_[candidates[0]] = --lowest_;
    }
    auto best = std::max_element(candidates.begin(), candidates.end(), [&](unsigned a, unsigned b) {
        return priorities_[a] < priorities_[b];
    });
    return record(static_cast<unsigned>(best - candidates.begin()), count);
}

void Chooser::noteYield(unsigned thread) {
    if (!priorities_.empty()) {
        priorities_[thread] = --lowest_;
    }
}

/// "x:0x12.2.0x3": exhaustive (or r, random), then the choices, a run of equal ones as value x
/// times.
std::string Chooser::schedule() const {
    std::ostringstream out;
    out << (exhaustive_ ? "x" : "r");
    for (size_t i = 0; i < position_;) {
        size_t end = i;
        while (end < position_ && choices_[end].taken == choices_[i].taken) {
            ++end;
        }
        out << (i == 0 ? ':' : '.') << choices_[i].taken;
        if (end - i > 1) {
            out << 'x' << end - i;
        }
        i = end;
    }
    return out.str();
}

void Chooser::parse(const std::string& schedule) {
    exhaustive_ = schedule[0] == 'x';
    std::string choices = schedule.substr(0, schedule.find('@'));
    std::istringstream in(choices.substr(std::min<size_t>(2, choices.size())));
    for (std::string part; std::getline(in, part, '.');) {
        size_t times = part.find('x');
        unsigned long count = times == std::string::npos ? 1 : std::stoul(part.substr(times + 1));
        choices_.insert(choices_.end(), count, {static_cast<unsigned>(std::stoul(part)), 0});
    }
}

}  // namespace freshet::testing
#endif
