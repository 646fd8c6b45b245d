// SPDX-License-Identifier: Apache-2.0
/// OperationLimits: what a running operation may still use, of time and of memory. It goes with the
/// operation from thread to thread (sync::TaskLocal), so whatever may take long on what a client
/// has sent, parsers and expressions above all, can ask mayGoOn() without being handed anything.
///
/// Memory is what the operation's threads have allocated for it and not freed, pages of data left
/// out: nothing has to be counted where it is made. It is known only where the allocator tells
/// (platform/memory.h). An operation that holds little may always go on; beyond that it needs room
/// in the pool that all share, and none may have more than the pool's largest share.
///
/// An operation's limits are used by one thread at a time.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/view.h"
#include "freshet/sync/memory_pool.h"
#include "freshet/sync/task_local.h"

#include <cstdint>
#include <functional>

namespace freshet::query {

class OperationLimits final : public sync::TaskLocal {
public:
    /// `interrupted` says whether the operation is to end for another reason than memory; it is
    /// called often. `pool` may be null: memory has no limit then. Both must outlive the limits.
    OperationLimits(sync::MemoryPool* pool, std::function<Status()> interrupted);

    /// Ok, or why the operation must end: what `interrupted` says, or kLimit
    /// (kExceededMemoryLimit). `bytesSoon`: what it is about to allocate.
    Status check(uint64_t bytesSoon = 0);
    /// Does check() each kStepsMax calls.
    Status step() {
        if (--stepsLeft_ != 0) {
            return Status::ok();
        }
        return check();
    }
    /// What it holds at the moment.
    uint64_t bytesHeld() const;

    /// Those of the operation that this thread is running; null: none.
    static OperationLimits* current() {
        return static_cast<OperationLimits*>(sync::TaskLocal::current());
    }

private:
    static constexpr uint32_t kStepsMax = 64;
    /// An operation that holds no more than this goes on although the pool is full.
    static constexpr uint64_t kAlwaysBytes = 512u << 10;

    void enterThread() override;
    void leaveThread() override;

    const std::function<Status()> interrupted_;
    sync::MemoryHold hold_;
    uint32_t stepsLeft_ = kStepsMax;
    int64_t before_ = 0;      // what it held when it came to this thread
    int64_t threadThen_ = 0;  // what the thread's count was then
};

/// Whether a command may take long for a single document: it names operators that loop, one of
/// those that make much of little, or loops in loops.
bool mayTakeLong(bson::Document command);

/// For loops over what a client has sent or asked for: ok, or why the thread's operation must end.
/// Cheap enough for each element.
inline Status mayGoOn() {
    OperationLimits* const limits = OperationLimits::current();
    return limits == nullptr ? Status::ok() : limits->step();
}
/// Before something large is made.
inline Status mayTake(uint64_t bytes) {
    OperationLimits* const limits = OperationLimits::current();
    return limits == nullptr || bytes < sync::MemoryHold::kUnitBytes ? Status::ok()
                                                                     : limits->check(bytes);
}

}  // namespace freshet::query
