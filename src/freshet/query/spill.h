// SPDX-License-Identifier: Apache-2.0
/// SpillSpace: where sorts and groups put what exceeds their memory limits. Files have no name
/// (they are unlinked as soon as they are open), so they disappear with the operation, however it
/// ends. Any thread.
#pragma once

#include "freshet/platform/file.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/worker.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace freshet::query {

/// How much an operation may hold, in bytes.
struct MemoryLimits {
    bool usesDisk = true;  // default for operations that do not say
    size_t sort = 100u << 20;
    size_t group = 100u << 20;
    size_t bucketAuto = 100u << 20;
    size_t push = 100u << 20;  // one accumulator of one group, such as $push
    size_t addToSet = 100u << 20;
};

/// Since the server's start.
struct SpillTotals {
    uint64_t sortSpills = 0;
    uint64_t groupSpills = 0;
    uint64_t bytesWritten = 0;
    uint64_t keysSorted = 0;
    uint64_t bytesSorted = 0;
};

class SpillSpace {
public:
    /// `limits` is called when an operation begins. Files are made in `directory`, which is created
    /// for the first of them; what a crash has left there is removed now.
    SpillSpace(platform::FileSystem& files,
               std::string directory,
               std::function<MemoryLimits()> limits);
    ~SpillSpace();

    MemoryLimits limits() const { return limits_(); }
    SpillTotals totals() const;

    // --- For query itself ---

    /// A file that disappears when it is closed. Blocks.
    StatusOr<std::unique_ptr<platform::File>> openFile();
    /// Like Worker::run(), on one of kThreads threads. Every job is bounded: see SpillTask.
    StatusOr<sync::WaitToken> run(std::function<void()> job);

    enum class Total : uint8_t { kSortSpills, kGroupSpills, kBytes, kKeysSorted, kBytesSorted };
    void count(Total total, uint64_t number = 1);

private:
    static constexpr size_t kThreads = 2;
    static constexpr size_t kTotals = 5;

    sync::Worker& nextWorker();

    platform::FileSystem& files_;
    const std::string directory_;
    const std::function<MemoryLimits()> limits_;
    /// Numbers the files, and the jobs to spread them over the threads. Written by: all operations
    /// that spill.
    ///   INV-1    only rises
    sync::Atomic<uint64_t> filesMade_{0};
    sync::Atomic<uint64_t> jobs_{0};
    /// SpillTotals, indexed by Total. Written by: all operations. Read by: serverStatus.
    ///   INV-1    a cell only rises
    sync::Atomic<uint64_t> totals_[kTotals] = {};
    sync::Mutex mutex_;
    std::unique_ptr<sync::Worker> workers_[kThreads];  // guarded by mutex_; null before the first
};

/// What one operation may use.
struct MemoryRules {
    MemoryLimits limits;
    SpillSpace* space = nullptr;
    bool usesDisk = false;

    bool maySpill() const { return usesDisk && space != nullptr; }
};
/// `space` may be null: then nothing spills.
MemoryRules memoryRules(SpillSpace* space, std::optional<bool> allowDiskUse);

/// What an operation has put on disk.
struct SpillCounts {
    int64_t spills = 0;
    int64_t bytes = 0;
};

}  // namespace freshet::query
