// SPDX-License-Identifier: Apache-2.0
/// Memory becomes free while a checkpoint writes, not only when it is finished: callers that wait
/// for memory go on meanwhile (decision 0036).
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/testing/sim/passing_file_system.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace freshet::engine {
namespace {

constexpr uint64_t kCeiling = 8u << 20;
constexpr uint64_t kKeys = 32'000;  // of 1 KiB: four times the ceiling

/// Looks at the memory in use each time an image has been written. While a checkpoint writes, no
/// one else may allocate.
class WatchedFileSystem final : public testing::PassingFileSystem {
public:
    using PassingFileSystem::PassingFileSystem;
    StatusOr<std::unique_ptr<platform::File>> open(const std::string& path,
                                                   platform::OpenMode mode) override {
        FRESHET_ASSIGN_OR_RETURN(auto file, PassingFileSystem::open(path, mode));
        if (!path.starts_with("/db/data.freshet")) {  // a new file has another name at first
            return file;
        }
        return std::unique_ptr<platform::File>(std::make_unique<Watched>(std::move(file), *this));
    }
    void awaitFlush() {
        std::unique_lock<std::mutex> lock(mutex_);
        flushed_.wait(lock, [this] { return bytesAtFirst_ == 0; });
    }
    /// The largest decrease of memory between the first image and a later one, before the flush.
    uint64_t freedBytesMax() {
        std::lock_guard<std::mutex> guard(mutex_);
        return freedBytesMax_;
    }

private:
    class Watched final : public testing::PassingFile {
    public:
        Watched(std::unique_ptr<platform::File> file, WatchedFileSystem& files)
            : PassingFile(std::move(file)), files_(files) {}
        Status pwrite(ByteView data, uint64_t offset) override {
            files_.noteWrite();
            return PassingFile::pwrite(data, offset);
        }
        Status sync() override {
            files_.noteFlush();
            return PassingFile::sync();
        }

    private:
        WatchedFileSystem& files_;
    };

    void noteWrite() {
        const uint64_t bytes = MemoryCount::bytes();
        std::lock_guard<std::mutex> guard(mutex_);
        bytesAtFirst_ = bytesAtFirst_ == 0 ? bytes : bytesAtFirst_;
        freedBytesMax_ = std::max(freedBytesMax_, bytesAtFirst_ - std::min(bytesAtFirst_, bytes));
    }
    void noteFlush() {
        {
            std::lock_guard<std::mutex> guard(mutex_);
            bytesAtFirst_ = 0;
        }
        flushed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable flushed_;
    uint64_t bytesAtFirst_ = 0;   // 0: nothing was written since the flush; guarded by mutex_
    uint64_t freedBytesMax_ = 0;  // guarded by mutex_
};

TEST(EvictMeanwhileStore, MemoryIsFreedWhileACheckpointWrites) {
    std::mt19937_64 random(testSeed());
    testing::MemoryFileSystem disk;
    WatchedFileSystem files(disk);
    StoreOptions options = storeOptions(disk);
    options.files = &files;
    options.memoryBytes = kCeiling;
    options.journalSegmentBytesMax = 16u << 20;
    std::unique_ptr<Store> store = openStore(options);
    const TreeRef tree = store->tree(2);
    // All leaves in memory are written to, so that none can be evicted before a checkpoint has
    // begun.
    constexpr uint64_t kWanted = kCeiling / 20;
    uint64_t writes = 0;
    for (; writes < 10 * kKeys && files.freedBytesMax() < kWanted; ++writes) {
        std::string key;
        appendBe64(key, random() % kKeys * 0x9E3779B97F4A7C15u);
        put(*store, *tree, key, std::string(1024, 'a'));
        files.awaitFlush();
    }
    EXPECT_GE(files.freedBytesMax(), kWanted) << "after " << writes << " writes";
}

}  // namespace
}  // namespace freshet::engine
