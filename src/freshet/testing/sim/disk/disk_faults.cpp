// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/sim/disk_faults.h"

#include <mutex>
#include <utility>

namespace freshet::testing {

uint64_t DiskFaults::count(Op op) const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return counts_[static_cast<size_t>(op)];
}

uint64_t DiskFaults::bytesWritten() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return bytesWritten_;
}

void DiskFaults::fail(Op op, uint64_t nth, Status status) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    size_t kind = static_cast<size_t>(op);
    planned_[kind].insert_or_assign(counts_[kind] + nth, std::move(status));
}

void DiskFaults::setBeforeSync(std::function<void()> hook) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    beforeSync_ = std::move(hook);
}

Status DiskFaults::begin(Op op, uint64_t bytes) {
    std::function<void()> hook;
    Status result;
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        size_t kind = static_cast<size_t>(op);
        ++counts_[kind];
        bytesWritten_ += bytes;
        if (auto planned = planned_[kind].extract(counts_[kind])) {
            result = std::move(planned.mapped());
        }
        if (op == Op::kSync) {
            hook = beforeSync_;
        }
    }
    if (hook) {
        hook();
    }
    return result;
}

}  // namespace freshet::testing
