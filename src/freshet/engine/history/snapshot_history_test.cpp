// SPDX-License-Identifier: Apache-2.0
/// Snapshots of the past: each shows exactly what the log had up to its time, beside writers and
/// checkpoints; how long they can be read, and that they hold no memory.
#include "freshet/engine/history/snapshot_history.h"

#include "freshet/engine/commit_reader.h"
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/journal/reader.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace freshet::engine {
namespace {

constexpr TreeId kTree = 2;
using Contents = std::map<std::string, std::string>;

Status find(Store& store, uint64_t time, Snapshot* snapshot) {
    Status status = store.findSnapshot(time, snapshot);
    while (status.isWouldBlock()) {
        platform::sleepMillis(1);
        status = store.findSnapshot(time, snapshot);
    }
    return status;
}

Snapshot snapshotOfNow(Store& store) {
    Snapshot snapshot;
    EXPECT_TRUE(find(store, 0, &snapshot).isOk());
    return snapshot;
}

Status readAll(Txn& txn, const TreeRef& tree, Contents* contents) {
    Cursor cursor(txn, tree);
    Status status = waiting(txn, [&] { return cursor.first(); });
    while (status.isOk() && cursor.valid()) {
        contents->emplace(cursor.key(), cursor.value());
        status = waiting(txn, [&] { return cursor.next(); });
    }
    return status;
}

bool isTooOld(const Status& status) {
    return status.code() == Code::kConflict && status.reason() == Reason::kSnapshotTooOld;
}

class SnapshotHistoryTest : public ::testing::Test {
protected:
    void open(uint64_t memoryBytes = 0, uint64_t historyBytesMax = 0) {
        tree_.reset();
        store_.reset();
        StoreOptions options = storeOptions(disk_);
        options.journalCommitIntervalMs = 5;
        options.memoryBytes = memoryBytes;
        options.historyBytesMax = historyBytesMax;
        store_ = openStore(options);
        tree_ = store_->tree(kTree);
    }
    void put(ByteView key, ByteView value) { engine::put(*store_, *tree_, key, value); }
    uint64_t now() { return store_->journal().now() - 1; }
    /// What is there at that time.
    Contents at(uint64_t time) {
        Snapshot snapshot;
        Txn txn(*store_);
        Contents contents;
        Status status = find(*store_, time, &snapshot);
        status = status.isOk() ? txn.beginAt(snapshot) : status;
        status = status.isOk() ? readAll(txn, tree_, &contents) : status;
        EXPECT_TRUE(status.isOk()) << status.toString();
        return contents;
    }
    Status tryAt(uint64_t time) {
        Snapshot snapshot;
        FRESHET_RETURN_IF_ERROR(find(*store_, time, &snapshot));
        return Txn(*store_).beginAt(snapshot);
    }

    testing::MemoryFileSystem disk_;
    std::unique_ptr<Store> store_;
    TreeRef tree_;
};

TEST_F(SnapshotHistoryTest, EachTimeHasItsState) {
    open();
    put("a", "0");
    snapshotOfNow(*store_);  // from here on history is kept
    std::map<uint64_t, Contents> expected;
    Contents contents{{"a", "0"}};
    expected[now()] = contents;
    for (int i = 1; i < 50; ++i) {
        const std::string key = std::string(1, static_cast<char>('a' + i % 5));
        if (i % 7 == 0 && contents.contains(key)) {
            erase(*store_, *tree_, key);
            contents.erase(key);
        } else {
            put(key, std::to_string(i));
            contents[key] = std::to_string(i);
        }
        expected[now()] = contents;
        if (i == 20) {
            EXPECT_TRUE(store_->checkpointNow().isOk());
        }
    }
    for (const auto& [time, state] : expected) {
        EXPECT_EQ(state, at(time)) << time;
    }
}

TEST_F(SnapshotHistoryTest, WhatWasBeforeTheHistoryIsTooOld) {
    open();
    put("a", "0");
    const uint64_t before = now();
    put("a", "1");
    const Snapshot first = snapshotOfNow(*store_);
    EXPECT_GT(first.time(), before);
    EXPECT_TRUE(isTooOld(tryAt(before)));
    EXPECT_EQ((Contents{{"a", "1"}}), at(first.time()));
    // Nothing was written in between: the last state before the history is known as well.
    EXPECT_EQ((Contents{{"a", "1"}}), at(now()));
}

TEST_F(SnapshotHistoryTest, HistoryThatIsAlwaysKeptBeginsWithTheOrder) {
    open();
    store_->keepHistory(300, true);
    snapshotOfNow(*store_);
    put("a", "0");
    const uint64_t before = now();
    put("a", "1");
    EXPECT_EQ((Contents{{"a", "0"}}), at(before));
}

TEST_F(SnapshotHistoryTest, WritesInASnapshotOfThePastConflictWithLaterOnes) {
    open();
    put("a", "0");
    put("b", "0");
    const Snapshot past = snapshotOfNow(*store_);
    put("a", "1");
    Txn txn(*store_, OnConflict::kFail);
    ASSERT_TRUE(txn.beginAt(past).isOk());
    EXPECT_EQ("0", valueOf(txn, *tree_, "a"));
    EXPECT_TRUE(txn.put(*tree_, "b", "2").isOk());
    EXPECT_EQ(Reason::kWriteConflict, txn.put(*tree_, "a", "2").reason());
    txn.abort();
    ASSERT_TRUE(txn.beginAt(past).isOk());
    ASSERT_TRUE(txn.endAfter(60'000).isOk());
    EXPECT_TRUE(txn.put(*tree_, "b", "2").isOk());
    EXPECT_TRUE(commitAndWait(txn).isOk());
    EXPECT_EQ((Contents{{"a", "1"}, {"b", "2"}}), at(now()));
}

TEST_F(SnapshotHistoryTest, AShortWindowPasses) {
    open();
    store_->keepHistory(1, false);
    put("a", "0");
    const Snapshot past = snapshotOfNow(*store_);
    Txn paused(*store_);
    ASSERT_TRUE(paused.beginAt(past).isOk());
    paused.pause();
    ASSERT_TRUE(paused.resume().isOk());
    EXPECT_EQ("0", valueOf(paused, *tree_, "a"));
    Txn open(*store_);  // holds its snapshot
    ASSERT_TRUE(open.beginAt(past).isOk());
    paused.pause();
    // The floor moves when time has passed and something was written meanwhile.
    const uint64_t began = platform::monotonicNanos();
    Status status;
    for (int i = 0; status.isOk(); ++i) {
        put("a", std::to_string(i));
        platform::sleepMillis(50);
        Snapshot again;
        status = find(*store_, past.time(), &again);
        status = status.isOk() ? Txn(*store_).beginAt(again) : status;
        ASSERT_LT(platform::monotonicNanos() - began, 20'000'000'000u);
    }
    EXPECT_TRUE(isTooOld(status)) << status.toString();
    EXPECT_GE(platform::monotonicNanos() - began, 1'000'000'000u);
    EXPECT_TRUE(isTooOld(paused.resume()));
    EXPECT_EQ("0", valueOf(open, *tree_, "a"));
}

TEST_F(SnapshotHistoryTest, WithoutUseItEndsAndBeginsAnew) {
    open();
    store_->keepHistory(1, false);
    put("a", "0");
    const Snapshot past = snapshotOfNow(*store_);
    // Not even a pin is left then.
    const uint64_t began = platform::monotonicNanos();
    put("a", "1");
    while (isTooOld(tryAt(past.time())) == false) {
        platform::sleepMillis(1'500);  // longer than it goes on without use
        ASSERT_LT(platform::monotonicNanos() - began, 30'000'000'000u);
    }
    const Snapshot later = snapshotOfNow(*store_);
    put("a", "2");
    EXPECT_EQ((Contents{{"a", "1"}}), at(later.time()));
}

TEST_F(SnapshotHistoryTest, AnAmountOfWritesEndsItBeforeItsTime) {
    open(0, 1u << 20);
    put("a", "0");
    const Snapshot past = snapshotOfNow(*store_);
    const std::string large(100'000, 'x');
    const uint64_t began = platform::monotonicNanos();
    while (tryAt(past.time()).isOk()) {
        put("a", large);
        platform::sleepMillis(10);
        ASSERT_LT(platform::monotonicNanos() - began, 30'000'000'000u);
    }
    EXPECT_TRUE(isTooOld(tryAt(past.time())));
    EXPECT_EQ((Contents{{"a", large}}), at(snapshotOfNow(*store_).time()));
}

/// With a ceiling, what old versions take goes when it is needed: also what the history did not
/// foresee, since deleting writes little.
TEST_F(SnapshotHistoryTest, MemoryStaysBoundedAlsoWhenMuchIsDeleted) {
    constexpr uint64_t kCeiling = 8u << 20;
    open(kCeiling, kCeiling);
    const Snapshot past = snapshotOfNow(*store_);
    Txn paused(*store_, OnConflict::kWait, Waits::kHere);
    ASSERT_TRUE(paused.beginAt(past).isOk());
    paused.pause();
    const std::string value(4'000, 'x');
    uint64_t most = 0;
    for (int i = 0; i < 20'000; ++i) {
        const std::string key = std::to_string(i);
        put(key, value);
        erase(*store_, *tree_, key);
        most = std::max(most, store_->stats().memoryBytes);
    }
    EXPECT_LT(most, kCeiling * 5 / 4);
    EXPECT_TRUE(isTooOld(paused.resume()));
}

// --- against the log

struct Logged {
    uint64_t time = 0;
    std::vector<std::pair<std::string, std::string>> puts;
};

std::vector<Logged> readLog(Store& store) {
    sync::WaitToken token;
    while (store.journal().durable(store.journal().tailLsn(), &token).isWouldBlock()) {
        sync::blockOn(token);
    }
    const journal::Lsn end = store.journal().durableLsn();
    auto reader =
        journal::Reader::open(store.journal(), {.types = maskOf(journal::RecordType::kCommit)});
    EXPECT_TRUE(reader.isOk());
    std::vector<Logged> log;
    for (;;) {
        journal::RecordView record;
        const Status status = (*reader)->next(&record);
        if (status.isWouldBlock()) {
            if ((*reader)->position() >= end) {
                return log;
            }
            sync::blockOn((*reader)->token());
            continue;
        }
        EXPECT_TRUE(status.isOk()) << status.toString();
        auto commit = CommitReader::open(record.body);
        EXPECT_TRUE(commit.isOk());
        Logged logged{record.timestamp, {}};
        CommitChange change;
        while (commit->next(&change)) {
            if (change.tree == kTree) {
                logged.puts.emplace_back(change.key, change.value);
            }
        }
        log.push_back(std::move(logged));
    }
}

/// Threads overwrite a few keys, each transaction some of them; others read snapshots of now and of
/// the past. Afterwards each of these is compared with what the log had up to its time.
class AgainstTheLog : public SnapshotHistoryTest, public ::testing::WithParamInterface<int> {
protected:
    static constexpr int kKeys = 24;
    static constexpr int kCommits = 3000;
    struct Seen {
        uint64_t time = 0;
        Contents contents;
    };

    void write(int thread, std::mt19937_64& random, int commits) {
        for (int i = 0; i < commits; ++i) {
            const std::string value = std::to_string(thread) + "." + std::to_string(i);
            Txn txn(*store_);
            Status status;
            const size_t first = random() % kKeys;
            // In ascending order, so that no two wait for each other.
            for (size_t k = first; k < std::min<size_t>(kKeys, first + 1 + random() % 3); ++k) {
                const std::string key(1, static_cast<char>('a' + k));
                status = waiting(txn, [&] { return txn.put(*tree_, key, value); });
                if (!status.isOk()) {
                    break;
                }
            }
            status = status.isOk() ? commitAndWait(txn) : status;
            ASSERT_TRUE(status.isOk() || status.code() == Code::kConflict) << status.toString();
        }
    }
    void read(std::mt19937_64& random, std::vector<Seen>* seen) {
        const uint64_t first = snapshotOfNow(*store_).time();
        Txn txn(*store_);
        for (int i = 0; !areDone_.load(sync::kAcquire) || i < 50; ++i) {
            // Writers let others run between two calls; on a busy machine a reader that never rests
            // would leave them hardly any time.
            platform::sleepMillis(1);
            const uint64_t end = now();
            const uint64_t time = random() % 2 == 0 ? 0 : first + random() % (end - first + 1);
            Snapshot snapshot;
            Status status = find(*store_, time, &snapshot);
            status = status.isOk() ? txn.beginAt(snapshot) : status;
            if (isShort_ && isTooOld(status)) {
                continue;
            }
            ASSERT_TRUE(status.isOk()) << status.toString();
            ASSERT_TRUE(time == 0 || snapshot.time() == time);
            Seen one{snapshot.time(), {}};
            ASSERT_TRUE(readAll(txn, tree_, &one.contents).isOk());
            if (!isShort_ && random() % 4 == 0) {
                txn.pause();
                ASSERT_TRUE(txn.resume().isOk());
                Contents again;
                ASSERT_TRUE(readAll(txn, tree_, &again).isOk());
                ASSERT_EQ(one.contents, again);
            }
            seen->push_back(std::move(one));
        }
    }
    void judge(std::vector<Seen> seen) {
        std::sort(
            seen.begin(), seen.end(), [](const Seen& a, const Seen& b) { return a.time < b.time; });
        const std::vector<Logged> log = readLog(*store_);
        size_t next = 0;
        Contents contents;
        for (const Seen& one : seen) {
            for (; next < log.size() && log[next].time <= one.time; ++next) {
                for (const auto& [key, value] : log[next].puts) {
                    contents[key] = value;
                }
            }
            ASSERT_EQ(contents, one.contents) << "at " << one.time;
        }
    }

    void writeReadAndJudge();

    bool isShort_ = false;  // snapshots may be too old
    sync::Atomic<bool> areDone_{false};
};

void AgainstTheLog::writeReadAndJudge() {
    const uint64_t seed = testSeed();
    constexpr int kReaders = 2;
    std::vector<Seen> seen[kReaders];
    {
        std::vector<platform::Thread> readers;
        for (int r = 0; r < kReaders; ++r) {
            readers.emplace_back("reader", [&, r] {
                std::mt19937_64 random(seed + 1'000 + static_cast<uint64_t>(r));
                read(random, &seen[r]);
            });
        }
        std::vector<platform::Thread> writers;
        for (int t = 0; t < GetParam(); ++t) {
            writers.emplace_back("writer", [&, t] {
                std::mt19937_64 random(seed + static_cast<uint64_t>(t));
                write(t, random, kCommits);
            });
        }
        EXPECT_TRUE(store_->checkpointNow().isOk());
        for (platform::Thread& thread : writers) {
            thread.join();
        }
        areDone_.store(true, sync::kRelease);
        for (platform::Thread& thread : readers) {
            thread.join();
        }
    }
    seen[0].insert(seen[0].end(), seen[1].begin(), seen[1].end());
    judge(std::move(seen[0]));
}

TEST_P(AgainstTheLog, EachSnapshotIsAPrefix) {
    open();
    writeReadAndJudge();
}

/// The notes of commits have room for fewer than are made, so some times are soon too old.
TEST_P(AgainstTheLog, AlsoWhenNotesAreSoonGone) {
    isShort_ = true;
    open(0, 1u << 20);
    writeReadAndJudge();
}

INSTANTIATE_TEST_SUITE_P(Threads, AgainstTheLog, ::testing::Values(1, 4, 16));

}  // namespace
}  // namespace freshet::engine
