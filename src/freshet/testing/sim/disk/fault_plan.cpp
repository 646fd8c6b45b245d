// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/sim/fault_plan.h"

#include "freshet/platform/thread.h"

#include <fnmatch.h>

#include <mutex>

namespace freshet::testing {
namespace {

constexpr size_t kLinesMax = 100;

const char* nameOf(FileOp op) {
    static constexpr const char* kNames[] = {
        "open", "read", "write", "sync", "truncate", "rename", "remove", "syncDirectory"};
    return kNames[static_cast<size_t>(op)];
}

const char* nameOf(FaultKind kind) {
    static constexpr const char* kNames[] = {"error",
                                             "short write",
                                             "lying sync",
                                             "torn write",
                                             "dropped write",
                                             "misdirected write",
                                             "bit flip at rest",
                                             "bit flip on read",
                                             "split write",
                                             "slow call",
                                             "late error"};
    return kNames[static_cast<size_t>(kind)];
}

bool matches(const std::string& glob, const std::string& path) {
    return ::fnmatch(glob.c_str(), path.c_str(), 0) == 0;
}

}  // namespace

size_t FaultPlan::add(FaultRule rule) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    entries_.push_back({.rule = std::move(rule)});
    return entries_.size() - 1;
}

void FaultPlan::cancel(size_t rule) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    entries_.at(rule).cancelled = true;
}

void FaultPlan::onFired(std::function<void(const std::string&)> report) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    report_ = std::move(report);
}

uint64_t FaultPlan::fired() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return fired_;
}

uint64_t FaultPlan::fired(size_t rule) const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return entries_.at(rule).fired;
}

std::string FaultPlan::summary() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    std::string text =
        "FRESHET_SEED=" + std::to_string(seed_) + ", faults fired: " + std::to_string(fired_);
    for (const std::string& line : lines_) {
        text += "\n  " + line;
    }
    return text;
}

bool FaultPlan::fires(Entry& entry, const Call& call) {
    const FaultRule& rule = entry.rule;
    if (entry.cancelled || entry.fired >= rule.times || rule.op != call.op ||
        (rule.growingOnly && !call.grows) || call.offset >= rule.below ||
        !(matches(rule.path, call.path) ||
          (!call.path2.empty() && matches(rule.path, call.path2)))) {
        return false;
    }
    return ++entry.matched >= rule.nth &&
           (rule.chance >= 1 ||
            std::uniform_real_distribution<double>(0, 1)(random_) < rule.chance);
}

void FaultPlan::note(const Entry& entry, const Call& call) {
    std::string line = std::string("fault ") + nameOf(entry.rule.kind) + " in " + nameOf(call.op) +
                       " of " + call.path + (call.path2.empty() ? "" : " to " + call.path2) +
                       " at offset " + std::to_string(call.offset) + ", " +
                       std::to_string(call.bytes) + " bytes" +
                       (entry.rule.powerOff ? "; the power goes" : "");
    if (report_) {
        report_(line);
    }
    if (lines_.size() < kLinesMax) {
        lines_.push_back(std::move(line));
    }
}

std::optional<FaultPlan::Fault> FaultPlan::meet(const Call& call) {
    std::optional<Fault> fault = draw(call);
    if (fault && fault->kind == FaultKind::kSlow) {
        platform::sleepMillis(fault->slowMs);  // without the lock: other calls are not slow
        return std::nullopt;
    }
    return fault;
}

std::optional<FaultPlan::Fault> FaultPlan::draw(const Call& call) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (powerIsOff_) {
        return Fault{FaultKind::kError, Status(Code::kIo, "the simulated power is off"), 0};
    }
    for (Entry& entry : entries_) {
        if (fires(entry, call)) {
            ++entry.fired;
            ++fired_;
            powerIsOff_ = entry.rule.powerOff;
            note(entry, call);
            return Fault{entry.rule.kind,
                         entry.rule.error.withContext(call.path),
                         random_(),
                         entry.rule.slowMs};
        }
    }
    return std::nullopt;
}

}  // namespace freshet::testing
