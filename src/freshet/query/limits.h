// SPDX-License-Identifier: Apache-2.0
/// OperationLimits: how much time and memory a running operation may still use. It follows the
/// operation from thread to thread (sync::TaskLocal), so code that may run long on a client's
/// input, above all parsers and expressions, can call mayGoOn() without being passed anything.
///
/// Memory is what the operation's threads have allocated for it and not freed, not counting pages
/// of data, so nothing has to be counted where it is allocated. It is known only if the allocator
/// reports it (platform/memory.h). An operation that holds little may always go on. Beyond that it
/// needs room in the shared pool, and no operation may hold more than the pool's largest share.
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
    /// `interrupted` returns ok, or why the operation must end for a reason other than memory; it
    /// is called often. `pool` may be null: then memory is unlimited. Both must outlive the limits.
    OperationLimits(sync::MemoryPool* pool, std::function<Status()> interrupted);

    /// Ok, or why the operation must end: the status of `interrupted`, or kLimit
    /// (kExceededMemoryLimit). `bytesSoon`: how much it is about to allocate. Once `interrupted`
    /// has returned an error, each later call returns it too, as does each step(). So code that
    /// cannot return a status may stop early with any result, if its caller asks again.
    Status check(uint64_t bytesSoon = 0);
    /// Calls check() once every kStepsMax calls.
    Status step() {
        if (--stepsLeft_ != 0) {
            return Status::ok();
        }
        return check();
    }
    /// In bytes, at the moment.
    uint64_t bytesHeld() const;

    /// The limits of the operation that this thread is running, or null.
    static OperationLimits* current() {
        return static_cast<OperationLimits*>(sync::TaskLocal::current());
    }

private:
    static constexpr uint32_t kStepsMax = 64;
    /// An operation that holds no more than this may go on even if the pool is full.
    static constexpr uint64_t kAlwaysBytes = 512u << 10;

    void enterThread() override;
    void leaveThread() override;

    const std::function<Status()> interrupted_;
    sync::MemoryHold hold_;
    uint32_t stepsLeft_ = kStepsMax;
    Status interruption_;     // the first error of interrupted_
    int64_t before_ = 0;      // bytes held when the operation entered this thread
    int64_t threadThen_ = 0;  // the thread's own count at that time
};

/// Whether a command may take long for a single document: it names an operator that makes a large
/// value of small ones, or two operators that loop.
bool mayTakeLong(bson::Document command);

/// For loops over what a client has sent or asked for: ok, or why the thread's operation must end.
/// Cheap enough to be called for each element.
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
