// SPDX-License-Identifier: Apache-2.0
/// Counts a simulated disk's operations and makes some fail. Shared by SimFileSystem and
/// MemoryFileSystem. Any thread.
#pragma once

#include "freshet/base/status.h"
#include "freshet/sync/mutex.h"

#include <cstdint>
#include <functional>
#include <map>

namespace freshet::testing {

class DiskFaults {
public:
    enum class Op : uint8_t { kRead, kWrite, kSync };

    /// Operations begun so far, failed ones included.
    uint64_t count(Op op) const;
    /// Bytes passed to pwrite so far.
    uint64_t bytesWritten() const;

    /// The `nth` operation of this kind from now on (1 = the next one) fails with `status`. A
    /// failing write leaves the first half of its bytes behind, a failing sync makes nothing
    /// durable.
    void fail(Op op, uint64_t nth, Status status);
    /// Called at the start of every sync, on its thread and before anything reaches the disk: a
    /// test can hold a flush there. An empty function removes the hook.
    void setBeforeSync(std::function<void()> hook);

    /// For the file systems: counts the operation; returns the status it shall fail with, or ok.
    Status begin(Op op, uint64_t bytes = 0);

private:
    mutable sync::Mutex mutex_;
    uint64_t counts_[3] = {};                // guarded by mutex_
    uint64_t bytesWritten_ = 0;              // guarded by mutex_
    std::map<uint64_t, Status> planned_[3];  // by number of the operation; guarded by mutex_
    std::function<void()> beforeSync_;       // guarded by mutex_
};

}  // namespace freshet::testing
