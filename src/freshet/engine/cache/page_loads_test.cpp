// SPDX-License-Identifier: Apache-2.0
/// Faults, with each way to read leaves: by io_uring, by threads where the system has no io_uring,
/// and by threads because the file is not one of the system's.
#include "freshet/engine/cache/page_loads.h"

#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/async_reads.h"
#include "freshet/platform/folder_for_test.h"
#include "freshet/platform/thread.h"
#include "freshet/telemetry/fail_point.h"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

namespace freshet::engine {
namespace {

enum class Way : uint8_t { kAsync, kRefused, kMemory };

constexpr uint64_t kKeys = 4'000;
constexpr TreeId kTree = 7;

std::string keyOf(uint64_t n) {
    std::string key;
    appendBe64(key, n);
    return key;
}

/// So large that about eight keys fill a leaf; one value in 90 is on a page of its own.
std::string valueFor(uint64_t n) {
    const size_t bytes = n % 90 == 7 ? 16'384 + n * 5 : 100 + n * 37 % 5'000;
    return std::to_string(n) + std::string(bytes, static_cast<char>('a' + n % 26));
}

class PageLoadsTest : public ::testing::TestWithParam<Way> {
protected:
    void SetUp() override {
        if (GetParam() == Way::kAsync && !platform::AsyncReads::create(8).isOk()) {
            GTEST_SKIP() << "io_uring is not available here";
        }
        refuse(GetParam() == Way::kRefused);
    }
    void TearDown() override {
        tree_.reset();
        store_.reset();
        refuse(false);
    }
    static void refuse(bool on) {
        telemetry::FailPoint* point = telemetry::findFailPoint("engineNoAsyncReads");
        ASSERT_NE(point, nullptr);
        telemetry::FailPointSetting setting;
        setting.mode = on ? telemetry::FailMode::kAlwaysOn : telemetry::FailMode::kOff;
        point->configure(setting);
    }

    bool isInMemory() const { return GetParam() == Way::kMemory; }
    platform::FileSystem& files() {
        return isInMemory() ? static_cast<platform::FileSystem&>(memory_)
                            : platform::FileSystem::posix();
    }
    void open(uint64_t memoryBytes = 0) {
        tree_.reset();
        store_.reset();
        StoreOptions options = storeOptions(memory_);
        options.files = &files();
        options.directory = isInMemory() ? "/db" : folder_.path().string();
        options.memoryBytes = memoryBytes;
        options.codec = Codec::kNone;  // so that the place of a leaf is known
        store_ = openStore(options);
        ASSERT_NE(store_, nullptr);
        tree_ = store_->tree(kTree);
    }
    /// Durable, on disk, and none of it in memory.
    void fillAndOpen(uint64_t memoryBytes = 0) {
        ASSERT_NO_FATAL_FAILURE(open());
        for (uint64_t n = 0; n < kKeys; ++n) {
            put(*store_, *tree_, keyOf(n), valueFor(n));
        }
        ASSERT_TRUE(store_->close().isOk());
        ASSERT_NO_FATAL_FAILURE(open(memoryBytes));
        ASSERT_GT(shapeOf(*store_, tree_).onDisk, 200u);
    }
    /// All leaves that callers did not read themselves are read in this way.
    void expectTheWay() {
        const StoreStats stats = store_->stats();
        EXPECT_GT(stats.leavesRead, 0u);
        EXPECT_EQ(stats.leavesReadAsync, GetParam() == Way::kAsync ? stats.leavesRead : 0u);
    }
    void withDataFile(const std::function<Status(platform::File&)>& change) {
        const std::string path = (isInMemory() ? "/db" : folder_.path().string()) + "/data.freshet";
        auto file = files().open(path, platform::OpenMode::kWrite);
        ASSERT_TRUE(file.isOk());
        ASSERT_TRUE(change(**file).isOk());
        ASSERT_TRUE((*file)->sync().isOk());
    }

    using Complaints = std::map<std::string, int>;
    Complaints complaints();
    /// The same of a plain thread.
    Complaints complaintsOfPlain();

    testing::MemoryFileSystem memory_;
    const platform::FolderForTest folder_;
    std::unique_ptr<Store> store_;
    TreeRef tree_;
};

/// Reads that wait for their leaves, as many at once as a reactor's sessions.
class ManyReads {
public:
    ManyReads(Store& store, Tree& tree, size_t count) : tree_(tree) {
        for (size_t i = 0; i < count; ++i) {
            reads_.push_back(std::make_unique<One>(store));
        }
    }
    /// Begins all of them; most wait then.
    size_t begin(const std::function<uint64_t()>& next) {
        size_t waiting = 0;
        for (auto& read : reads_) {
            read->key = next();
            read->status = get(*read);
            waiting += read->status.isWouldBlock() ? 1 : 0;
        }
        return waiting;
    }
    void finish(const std::function<void(uint64_t key, const Status&, const std::string&)>& judge) {
        for (auto& read : reads_) {
            while (read->status.isWouldBlock()) {
                sync::blockOn(read->txn.token());
                read->status = get(*read);
            }
            judge(read->key, read->status, read->value);
        }
    }
    bool areAllTold() const {
        return std::all_of(reads_.begin(), reads_.end(), [](const auto& read) {
            return !read->status.isWouldBlock() || read->txn.token().isDone();
        });
    }

private:
    struct One {
        explicit One(Store& store) : txn(store) {}
        Txn txn;
        uint64_t key = 0;
        std::string value;
        Status status;
    };
    Status get(One& read) { return read.txn.get(tree_, keyOf(read.key), &read.value); }

    Tree& tree_;
    std::vector<std::unique_ptr<One>> reads_;
};

/// For each status text, the number of keys whose read returned it.
PageLoadsTest::Complaints PageLoadsTest::complaints() {
    Complaints all;
    ManyReads reads(*store_, *tree_, 100);
    uint64_t next = 0;
    for (uint64_t i = 0; i < kKeys / 100; ++i) {
        reads.begin([&] { return next++; });
        reads.finish([&](uint64_t n, const Status& status, const std::string& value) {
            EXPECT_TRUE(!status.isOk() || value == valueFor(n)) << n;
            ++all[status.toString()];
        });
    }
    return all;
}

Status getHere(Txn& txn, Tree& tree, uint64_t n, std::string* value) {
    for (;;) {
        Status status = txn.get(tree, keyOf(n), value);
        if (!status.isWouldBlock()) {
            return status;
        }
        txn.await();
    }
}

PageLoadsTest::Complaints PageLoadsTest::complaintsOfPlain() {
    Complaints all;
    Txn txn(*store_, OnConflict::kWait, Waits::kHere);
    for (uint64_t n = 0; n < kKeys; ++n) {
        std::string value;
        const Status status = getHere(txn, *tree_, n, &value);
        EXPECT_TRUE(!status.isOk() || value == valueFor(n)) << n;
        ++all[status.toString()];
    }
    return all;
}

TEST_P(PageLoadsTest, ManyCallersForManyLeavesFindWhatWasWritten) {
    ASSERT_NO_FATAL_FAILURE(fillAndOpen());
    const uint64_t seed = testSeed();
    for (uint64_t round = 0; round < 3; ++round) {
        std::vector<platform::Thread> threads;
        for (uint64_t t = 0; t < 4; ++t) {
            threads.emplace_back("test", [&, t] {
                std::mt19937_64 random(seed + round * 4 + t);
                ManyReads reads(*store_, *tree_, 50);
                for (int i = 0; i < 10; ++i) {
                    reads.begin([&] { return random() % kKeys; });
                    reads.finish([&](uint64_t n, const Status& status, const std::string& value) {
                        ASSERT_TRUE(status.isOk()) << status.toString();
                        ASSERT_TRUE(value == valueFor(n)) << n;
                    });
                }
            });
        }
        threads.clear();
        store_->evictAll();
        store_->evictAll();
    }
    expectTheWay();
}

TEST_P(PageLoadsTest, PlainThreadsAndOtherCallersReadEachLeafOnce) {
    ASSERT_NO_FATAL_FAILURE(fillAndOpen());
    const uint64_t before = store_->stats().leavesRead;
    const uint64_t onDisk = shapeOf(*store_, tree_).onDisk;
    std::vector<platform::Thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back("test", [&] {
            const Complaints found = complaintsOfPlain();
            EXPECT_EQ(found.size(), 1u) << found.rbegin()->first;
        });
        threads.emplace_back("test", [&] {
            const Complaints found = complaints();
            EXPECT_EQ(found.size(), 1u) << found.rbegin()->first;
        });
    }
    threads.clear();
    EXPECT_EQ(store_->stats().leavesRead - before, onDisk);
}

TEST_P(PageLoadsTest, AWalkFindsAll) {
    ASSERT_NO_FATAL_FAILURE(fillAndOpen());
    Txn txn(*store_);
    Cursor cursor(txn, tree_);
    ASSERT_TRUE(waiting(txn, [&] { return cursor.first(); }).isOk());
    for (uint64_t n = 0; n < kKeys; ++n) {
        ASSERT_TRUE(cursor.valid());
        ASSERT_EQ(cursor.key(), keyOf(n));
        ASSERT_TRUE(cursor.value() == valueFor(n)) << n;
        ASSERT_TRUE(waiting(txn, [&] { return cursor.next(); }).isOk());
    }
    EXPECT_FALSE(cursor.valid());
    expectTheWay();
}

TEST_P(PageLoadsTest, TheCeilingHoldsWhileManyRead) {
    constexpr uint64_t kCeiling = 3u << 20;
    ASSERT_NO_FATAL_FAILURE(fillAndOpen(kCeiling));
    const uint64_t seed = testSeed();
    std::mt19937_64 random(seed);
    ManyReads reads(*store_, *tree_, 100);
    uint64_t most = 0;
    for (int round = 0; round < 30; ++round) {
        reads.begin([&] { return random() % kKeys; });
        // What is read is also written, so that checkpoints bring leaves back.
        const uint64_t written = random() % kKeys;
        reads.finish([&](uint64_t n, const Status& status, const std::string& value) {
            ASSERT_TRUE(status.isOk()) << status.toString();
            ASSERT_TRUE(value == valueFor(n)) << n;
            most = std::max(most, store_->stats().memoryBytes);
        });
        put(*store_, *tree_, keyOf(written), valueFor(written));
    }
    EXPECT_LT(most, 2 * kCeiling);
    EXPECT_GT(store_->stats().leavesEvicted, 100u);
    EXPECT_EQ(store_->stats().leavesReadAsync > 0, GetParam() == Way::kAsync);
}

TEST_P(PageLoadsTest, ShortOfRoomAllStillGetTheirLeavesBesideCheckpointsThatNeedThem) {
    // There is hardly ever room, since a tree of a closed store is held, and counts. So many reads
    // wait for an eviction round. The thread that makes rounds also makes checkpoints, and these
    // move leaves to where a dropped tree was: leaves that are on disk, and that others are
    // reading, must be brought back for that. A thread that waited for room while it had reads
    // under way would hang here, in most runs.
    constexpr uint64_t kCeiling = 2u << 20;
    ASSERT_NO_FATAL_FAILURE(open());
    const TreeRef held = store_->tree(kTree + 1);
    for (uint64_t n = 0; n < kKeys; ++n) {
        put(*store_, *held, keyOf(n), std::string(8'000, 'd'));
    }
    ASSERT_TRUE(store_->checkpointNow().isOk());
    ASSERT_NO_FATAL_FAILURE(fillAndOpen(kCeiling));
    store_->dropTree(kTree + 1);
    const uint64_t seed = testSeed();
    // Relaxed: it only ends the reads.
    sync::Atomic<bool> isEnough{false};
    std::vector<platform::Thread> threads;
    for (uint64_t t = 0; t < 3; ++t) {
        threads.emplace_back("test", [&, t] {
            std::mt19937_64 random(seed + t);
            ManyReads reads(*store_, *tree_, 100);
            while (!isEnough.load(sync::kRelaxed)) {
                reads.begin([&] { return random() % kKeys; });
                reads.finish([&](uint64_t n, const Status& status, const std::string& value) {
                    EXPECT_TRUE(status.isOk()) << status.toString();
                    EXPECT_TRUE(value == valueFor(n)) << n;
                });
            }
        });
    }
    for (int checkpoint = 0; checkpoint < 10; ++checkpoint) {
        put(*store_, *tree_, keyOf(0), valueFor(0));
        store_->epochs().tryAdvance();
        ASSERT_TRUE(store_->checkpointNow().isOk());
    }
    isEnough.store(true, sync::kRelaxed);
    threads.clear();
    EXPECT_EQ(store_->stats().leavesReadAsync > 0, GetParam() == Way::kAsync);
}

TEST_P(PageLoadsTest, ClosingFailsAllWaitingReads) {
    ASSERT_NO_FATAL_FAILURE(fillAndOpen());
    uint64_t next = 0;
    {
        ManyReads reads(*store_, *tree_, 150);
        // Each in another leaf.
        EXPECT_GT(reads.begin([&] { return next += kKeys / 160; }), 100u);
        ASSERT_TRUE(store_->close().isOk());
        EXPECT_TRUE(reads.areAllTold());
        reads.finish([](uint64_t n, const Status& status, const std::string& value) {
            EXPECT_TRUE(status.isOk() ? value == valueFor(n) : status.code() == Code::kUnavailable)
                << status.toString();
        });
        // The last leaves have not been requested: too late.
        ManyReads late(*store_, *tree_, 1);
        late.begin([] { return kKeys - 1; });
        late.finish([](uint64_t, const Status& status, const std::string&) {
            EXPECT_EQ(status.code(), Code::kUnavailable) << status.toString();
        });
        Txn plain(*store_, OnConflict::kWait, Waits::kHere);
        std::string value;
        EXPECT_EQ(getHere(plain, *tree_, kKeys - 100, &value).code(), Code::kUnavailable);
    }
    expectTheWay();
}

TEST_P(PageLoadsTest, DamageFailsOnlyItsReadersAndNamesItsPlace) {
    ASSERT_NO_FATAL_FAILURE(fillAndOpen());
    // In the middle of all pages: some leaf, or a large value.
    const uint64_t middle = store_->stats().block.fileBytes / 2 / block::kBlockBytes;
    for (uint64_t i = middle; i < middle + 9; ++i) {
        withDataFile([&](platform::File& file) {
            return file.pwrite("damage", i * block::kBlockBytes + 110);
        });
    }
    const Complaints found = complaints();
    EXPECT_GT(found.size(), 1u);
    EXPECT_GT(found.at(Status().toString()), static_cast<int>(kKeys) * 9 / 10);
    for (const auto& [text, count] : found) {
        if (text != Status().toString()) {
            EXPECT_NE(text.find("data.freshet: page "), std::string::npos) << text;
            EXPECT_NE(text.find("checksum is wrong"), std::string::npos) << text;
        }
    }
    EXPECT_GT(store_->stats().leavesUnreadable, 0u);
    // By threads, with the same texts.
    refuse(true);
    ASSERT_NO_FATAL_FAILURE(open());
    EXPECT_EQ(complaints(), found);
    ASSERT_NO_FATAL_FAILURE(open());
    EXPECT_EQ(complaintsOfPlain(), found);
}

TEST_P(PageLoadsTest, AFileThatWasCutIsNoticed) {
    ASSERT_NO_FATAL_FAILURE(fillAndOpen());
    const uint64_t left = store_->stats().block.fileBytes / 2 / block::kBlockBytes;
    // Most probably within a leaf.
    withDataFile([&](platform::File& file) { return file.truncate(left * block::kBlockBytes); });
    const Complaints found = complaints();
    EXPECT_GT(found.at(Status().toString()), 0);
    for (const auto& [text, count] : found) {
        if (text != Status().toString()) {
            EXPECT_NE(text.find("the file ends in it"), std::string::npos) << text;
        }
    }
    EXPECT_GT(store_->stats().leavesUnreadable, 10u);
}

std::string nameOf(const ::testing::TestParamInfo<Way>& way) {
    static constexpr const char* kNames[] = {"Async", "Refused", "Memory"};
    return kNames[static_cast<size_t>(way.param)];
}

INSTANTIATE_TEST_SUITE_P(Ways,
                         PageLoadsTest,
                         ::testing::Values(Way::kAsync, Way::kRefused, Way::kMemory),
                         nameOf);

}  // namespace
}  // namespace freshet::engine
