// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/limits.h"

#include "freshet/engine/store.h"
#include "freshet/platform/memory.h"
#include "freshet/query/javascript/mentions.h"

#include <algorithm>
#include <string>
#include <utility>

namespace freshet::query {
namespace {

/// What the calling thread has allocated for requests.
int64_t threadBytes() {
    return platform::threadMemoryBytes() - engine::Store::threadDataBytes();
}

}  // namespace

OperationLimits::OperationLimits(sync::MemoryPool* pool, std::function<Status()> interrupted)
    : interrupted_(std::move(interrupted)), hold_(pool) {}

void OperationLimits::enterThread() {
    threadThen_ = threadBytes();
}

void OperationLimits::leaveThread() {
    before_ += threadBytes() - threadThen_;
}

uint64_t OperationLimits::bytesHeld() const {
    const bool isHere = sync::TaskLocal::current() == this;
    const int64_t held = before_ + (isHere ? threadBytes() - threadThen_ : 0);
    return static_cast<uint64_t>(std::max<int64_t>(0, held));
}

Status OperationLimits::check(uint64_t bytesSoon) {
    stepsLeft_ = kStepsMax;
    if (interruption_.isOk()) {
        interruption_ = interrupted_();
    }
    if (!interruption_.isOk()) {
        stepsLeft_ = 1;  // the next step hears of it as well
        return interruption_;
    }
    const uint64_t held = bytesHeld() + bytesSoon;
    const sync::MemoryPool* const pool = hold_.pool();
    if (pool == nullptr || held < sync::MemoryHold::kUnitBytes) {
        hold_.release();
        return Status::ok();
    }
    if (held <= pool->shareMax() && hold_.tryResize(held)) {
        return Status::ok();
    }
    if (held <= kAlwaysBytes) {
        hold_.resize(held);
        return Status::ok();
    }
    return Status(Code::kLimit,
                  Reason::kExceededMemoryLimit,
                  held > pool->shareMax()
                      ? "the operation needs more than " + std::to_string(pool->shareMax()) +
                            " bytes of memory, the limit of one operation"
                      : "the operation needs " + std::to_string(held) +
                            " bytes of memory, and the pool of all operations has no more room");
}

bool mayTakeLong(bson::Document command) {
    static constexpr std::string_view kMakeMuch[] = {"$range", "$reduce", "$zip", "$graphLookup"};
    static constexpr std::string_view kLoops[] = {"$map", "$filter", "$sortArray", "$setUnion"};
    return countMentions(command, kMakeMuch, 1) != 0 || countMentions(command, kLoops, 2) == 2;
}

}  // namespace freshet::query
