// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/memory/memory_budget.h"

namespace freshet::engine {

using sync::kRelaxed;

void MemoryBudget::start(std::function<void()> wake) {
    std::lock_guard<std::mutex> guard(mutex_);
    wake_ = std::move(wake);
}

void MemoryBudget::stop() {
    std::vector<sync::WaitToken> waiting;
    {
        std::lock_guard<std::mutex> guard(mutex_);
        wake_ = nullptr;
        waiting.swap(waiting_);
    }
    for (const sync::WaitToken& token : waiting) {
        token.complete();
    }
}

void MemoryBudget::note() {
    // [budget.call] relaxed: see there.
    if (!isHigh() || called_.load(kRelaxed) != 0) {
        return;
    }
    std::lock_guard<std::mutex> guard(mutex_);
    if (wake_ && called_.exchange(1, kRelaxed) == 0) {
        wake_();
    }
}

bool MemoryBudget::mustWait(sync::WaitToken* token) {
    note();
    if (!isTight()) {
        return false;
    }
    std::lock_guard<std::mutex> guard(mutex_);
    if (!wake_ || vainRounds_ >= kVainRoundsMax) {
        return false;
    }
    waiting_.push_back(sync::WaitToken::create());
    *token = waiting_.back();
    return true;
}

void MemoryBudget::countVain(Round round, uint64_t nowNanos) {
    if (!isTight() || round == Round::kFreed) {
        vainRounds_ = 0;
        heldSinceNanos_ = 0;
        return;
    }
    heldSinceNanos_ = heldSinceNanos_ == 0 ? nowNanos : heldSinceNanos_;
    if (round == Round::kVain || nowNanos - heldSinceNanos_ >= kHeldNanosMax) {
        ++vainRounds_;
    }
}

bool MemoryBudget::endRound(Round round, uint64_t nowNanos) {
    std::vector<sync::WaitToken> waiting;
    {
        std::lock_guard<std::mutex> guard(mutex_);
        if (isTight() && round == Round::kFreed && ++rounds_ < kRoundsMax && !waiting_.empty()) {
            return true;
        }
        rounds_ = 0;
        countVain(round, nowNanos);
        // [budget.call] relaxed: see there.
        called_.store(0, kRelaxed);
        waiting.swap(waiting_);
    }
    for (const sync::WaitToken& token : waiting) {
        token.complete();
    }
    return false;
}

}  // namespace freshet::engine
