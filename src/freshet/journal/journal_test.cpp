// SPDX-License-Identifier: Apache-2.0
/// The journal through its public header: what is appended comes back, levels mean what they say,
/// and a full ring, a slow disk or many threads lose nothing. Damage and crashes:
/// scan/log_scan_test.cpp.
#include "freshet/journal/journal.h"

#include "freshet/journal/file/test_support.h"
#include "freshet/journal/variants.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/atomic.h"
#include "freshet/testing/sim/faulty_file_system.h"
#include "freshet/testing/sim/memory_file_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <tuple>

namespace freshet::journal {
namespace {

using testing::DiskFaults;
using testing::MemoryFileSystem;

/// Holds flushes while closed.
class FlushGate {
public:
    explicit FlushGate(DiskFaults& faults) : faults_(faults) {
        faults_.setBeforeSync([this] {
            std::unique_lock<std::mutex> lock(mutex_);
            ++arrived_;
            changed_.notify_all();
            changed_.wait(lock, [this] { return open_; });
        });
    }
    ~FlushGate() {
        open();
        faults_.setBeforeSync({});
    }
    void awaitArrival(int arrivals) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return arrived_ >= arrivals; });
    }
    void open() {
        std::lock_guard<std::mutex> lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

private:
    DiskFaults& faults_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int arrived_ = 0;    // guarded by mutex_
    bool open_ = false;  // guarded by mutex_
};

/// Appends and waits for "written" until the log waits for a segment that is held back. Returns
/// the appended records.
std::vector<std::string> writeUntilSegmentMissing(Journal& journal) {
    std::vector<std::string> bodies;
    while (!journal.stats().segmentMissing) {
        const std::string body = std::to_string(bodies.size()) + std::string(900, 'x');
        AppendOp op(RecordType::kCommit, 1, body);
        if (appendUnlessSegmentMissing(journal, op).isOk()) {
            bodies.push_back(body);
            sync::WaitToken token;
            static_cast<void>(journal.written(op.lsn(), &token).isOk());
        }
    }
    return bodies;
}

/// Appends and waits for "written" until the first segment is full.
void writeIntoSecondSegment(Journal& journal, uint64_t segmentBytes) {
    while (journal.stats().bytes <= segmentBytes) {
        AppendOp op(RecordType::kCommit, 1, std::string(900, 'x'));
        ASSERT_TRUE(appendWaiting(journal, op).isOk());
        sync::WaitToken token;
        if (journal.written(op.lsn(), &token).isWouldBlock()) {
            sync::blockOn(token);
        }
    }
}

/// 0: there is no such file.
uint64_t bytesOf(MemoryFileSystem& disk, const std::string& path) {
    const auto file = disk.open(path, platform::OpenMode::kRead);
    return file.isOk() ? *(*file)->size() : 0;
}

TEST(Journal, NewLogIsEmptyAndStaysSo) {
    MemoryFileSystem disk;
    for (int i = 0; i < 3; ++i) {
        Opened log = openLog(smallOptions(disk));
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        EXPECT_TRUE(log.records.empty());
        EXPECT_TRUE(log.journal->close().isOk());
    }
}

TEST(Journal, WhatWasAppendedComesBackInOrder) {
    MemoryFileSystem disk;
    std::vector<Replayed> written;
    std::mt19937_64 random(7);
    for (int session = 0; session < 3; ++session) {
        Opened log = openLog(smallOptions(disk));
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        ASSERT_EQ(log.records.size(), written.size());
        for (int i = 0; i < 300; ++i) {
            auto type = static_cast<RecordType>(1 + random() % 4);
            auto participant = static_cast<uint16_t>(random());
            std::string body(random() % 700, static_cast<char>('a' + i % 26));
            AppendOp op(type, participant, body);
            ASSERT_TRUE(appendWaiting(*log.journal, op).isOk());
            written.push_back({op.lsn(), type, participant, op.timestamp(), body});
            EXPECT_GE(log.journal->now(), op.timestamp());
        }
        EXPECT_TRUE(log.journal->close().isOk());
    }
    Opened log = openLog(smallOptions(disk));
    ASSERT_EQ(log.records.size(), written.size());
    for (size_t i = 0; i < written.size(); ++i) {
        EXPECT_EQ(log.records[i].lsn, written[i].lsn);
        EXPECT_EQ(log.records[i].type, written[i].type);
        EXPECT_EQ(log.records[i].participant, written[i].participant);
        EXPECT_EQ(log.records[i].timestamp, written[i].timestamp);
        EXPECT_EQ(log.records[i].body, written[i].body);
        if (i > 0) {
            EXPECT_GT(written[i].lsn, written[i - 1].lsn);
            EXPECT_GT(written[i].timestamp, written[i - 1].timestamp);
        }
    }
}

TEST(Journal, LargeRecordsOfSeveralThreadsKeepTheirBytes) {
    MemoryFileSystem disk;
    std::vector<size_t> sizes = {990, 991, 992, 993, 1024, 1983, 1984, 1985, 4096, 100'000};
    {
        Opened log = openLog(smallOptions(disk));
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        std::vector<platform::Thread> threads;
        for (uint16_t t = 0; t < 3; ++t) {
            threads.emplace_back("writer", [&, t] {
                for (size_t size : sizes) {
                    std::string body(size, '\0');
                    for (size_t i = 0; i < size; ++i) {
                        body[i] = static_cast<char>(i * 31 + size + t);
                    }
                    AppendOp op(RecordType::kCommit, t, body);
                    ASSERT_TRUE(appendWaiting(*log.journal, op).isOk());
                }
            });
        }
        threads.clear();
        EXPECT_TRUE(log.journal->close().isOk());
    }
    Opened log = openLog(smallOptions(disk));
    std::map<uint16_t, size_t> next;
    for (const Replayed& record : log.records) {
        ASSERT_LT(next[record.participant], sizes.size());
        size_t size = sizes[next[record.participant]++];
        ASSERT_EQ(record.body.size(), size);
        for (size_t i = 0; i < size; ++i) {
            ASSERT_EQ(record.body[i], static_cast<char>(i * 31 + size + record.participant));
        }
    }
    for (uint16_t t = 0; t < 3; ++t) {
        EXPECT_EQ(next[t], sizes.size());
    }
}

TEST(Journal, BodyOfTheEngineMaySurviveManySegments) {
    MemoryFileSystem disk;
    Options options = smallOptions(disk);
    std::string body(options.segmentBytesMax * 3, 'x');
    {
        Opened log = openLog(options);
        putDurable(*log.journal, body);
        EXPECT_GE(log.journal->stats().segments, 4u);
    }
    EXPECT_EQ(bodiesOf(openLog(options).records), std::vector<std::string>{body});
}

/// One thread's share of the test below: appends and waits at a random level.
struct Levels {
    std::vector<std::string> durable;  // acknowledged as durable
    uint64_t appended = 0;
};

void appendAtRandomLevels(Journal& journal, uint16_t me, int records, uint64_t seed, Levels* out) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < records; ++i) {
        std::string body = std::to_string(me) + "/" + std::to_string(i) + "/";
        body.resize(body.size() + random() % 600, '.');
        AppendOp op(RecordType::kCommit, me, body);
        ASSERT_TRUE(appendWaiting(journal, op).isOk());
        ++out->appended;
        switch (random() % 16) {
            case 0:
                ASSERT_TRUE(waitDurable(journal, op.lsn()).isOk());
                ASSERT_GT(journal.durableLsn(), op.lsn());
                out->durable.push_back(body);
                break;
            case 1:
                ASSERT_TRUE(waitWritten(journal, op.lsn()).isOk());
                break;
            default:
                break;
        }
    }
}

/// The benchmark's variants keep the same promises.
class JournalThreads : public ::testing::TestWithParam<std::tuple<int, Variant>> {
protected:
    JournalThreads() { useVariantForBench(std::get<Variant>(GetParam())); }
    ~JournalThreads() override { useVariantForBench(Variant::kSlots); }
};

TEST_P(JournalThreads, LevelsMeanWhatTheySayAfterAPowerCut) {
    uint64_t seed = testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    const int threads = std::get<int>(GetParam());
    MemoryFileSystem disk;
    Options options = smallOptions(disk);
    options.commitIntervalMs = 5;
    std::vector<Levels> levels(threads);
    {
        Opened log = openLog(options);
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        std::vector<platform::Thread> running;
        for (int t = 0; t < threads; ++t) {
            running.emplace_back("writer", [&, t] {
                auto me = static_cast<uint16_t>(t);
                appendAtRandomLevels(*log.journal, me, 4000 / threads, seed + t, &levels[t]);
            });
        }
        running.clear();
        // Threads that merely retried on an old lap would be counted thousands of times for each
        // slot; a thread that helps moves on at most once per slot.
        Stats stats = log.journal->stats();
        EXPECT_LE(stats.oldLapMeetings, (stats.slotsWritten + options.slots + 1) * threads);
        disk.crash();
    }
    Opened log = openLog(smallOptions(disk));
    ASSERT_TRUE(log.status.isOk()) << log.status.toString();
    std::set<std::string> found;
    std::map<uint16_t, uint64_t> next;
    for (const Replayed& record : log.records) {
        // Each thread's records without a gap: the log lost its tail only.
        std::string expected =
            std::to_string(record.participant) + "/" + std::to_string(next[record.participant]++);
        ASSERT_EQ(record.body.substr(0, expected.size() + 1), expected + "/");
        found.insert(record.body);
    }
    for (const Levels& level : levels) {
        for (const std::string& body : level.durable) {
            EXPECT_TRUE(found.contains(body)) << body;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Threads,
    JournalThreads,
    ::testing::Combine(::testing::Values(2, 8, 64),
                       ::testing::Values(Variant::kSlots, Variant::kLeader, Variant::kMutex)));

TEST(Journal, AFlushTakesAllThatArrivedWhileTheOneBeforeRan) {
    MemoryFileSystem disk;
    Options options = smallOptions(disk);
    options.slotBytes = 64 * 1024;
    options.segmentBytesFirst = options.segmentBytesMax = 1u << 20;
    Opened log = openLog(options);
    waitForReadySegment(*log.journal, 2);
    FlushGate gate(disk.faults());
    platform::Thread first("first", [&] { putDurable(*log.journal, "first"); });
    gate.awaitArrival(1);
    Stats before = log.journal->stats();
    std::vector<sync::WaitToken> tokens;
    for (int i = 0; i < 100; ++i) {
        AppendOp op(RecordType::kCommit, 1, "one of many");
        ASSERT_TRUE(log.journal->append(op).isOk());
        sync::WaitToken token;
        ASSERT_TRUE(log.journal->durable(op.lsn(), &token).isWouldBlock());
        tokens.push_back(token);
    }
    // No small slot was closed for a flush that could not begin.
    EXPECT_EQ(log.journal->stats().slotsWritten, before.slotsWritten);
    gate.open();
    for (const sync::WaitToken& token : tokens) {
        sync::blockOn(token);
    }
    EXPECT_EQ(log.journal->stats().slotsWritten, before.slotsWritten + 1);
    EXPECT_EQ(log.journal->stats().flushes, before.flushes + 2);
}

TEST(Journal, FullRingHoldsBackAndGoesOn) {
    MemoryFileSystem disk;
    Options options = smallOptions(disk);
    options.segmentBytesMax = options.segmentBytesFirst;
    std::vector<std::string> bodies;
    {
        Opened log = openLog(options);
        waitForReadySegment(*log.journal, 2);
        FlushGate gate(disk.faults());
        bodies = writeUntilSegmentMissing(*log.journal);
        const uint64_t fullWaits = log.journal->stats().fullWaits;
        std::deque<AppendOp> blocked;
        for (int i = 0; blocked.size() < 3; ++i) {
            bodies.push_back(std::to_string(i) + std::string(900, '-'));
            AppendOp op(RecordType::kCommit, 1, bodies.back());
            Status status = log.journal->append(op);
            ASSERT_TRUE(status.isOk() || status.isWouldBlock()) << status.toString();
            ASSERT_LT(i, 1000);
            if (status.isWouldBlock()) {
                EXPECT_FALSE(op.started());
                EXPECT_FALSE(op.token().isDone());
                blocked.push_back(op);
            } else {
                ASSERT_TRUE(blocked.empty());
            }
        }
        EXPECT_EQ(log.journal->stats().fullWaits, fullWaits + 3);
        gate.open();
        for (AppendOp& op : blocked) {
            sync::blockOn(op.token());
            ASSERT_TRUE(appendWaiting(*log.journal, op).isOk());
        }
        ASSERT_TRUE(log.journal->close().isOk());
    }
    EXPECT_EQ(bodiesOf(openLog(options).records), bodies);
}

TEST(Journal, IdleDataBecomesDurableByItself) {
    MemoryFileSystem disk;
    Options options = smallOptions(disk);
    options.commitIntervalMs = 1;
    Opened log = openLog(options);
    AppendOp op(RecordType::kCommit, 1, "no thread waits for me");
    ASSERT_TRUE(log.journal->append(op).isOk());
    while (log.journal->durableLsn() <= op.lsn()) {
        platform::yieldThread();
    }
    disk.crash();
    EXPECT_EQ(openLog(options).records.size(), 1u);
}

TEST(Journal, WaitingForWhatIsNotThereYetMeansAllThatIs) {
    MemoryFileSystem disk;
    Opened log = openLog(smallOptions(disk));
    sync::WaitToken token;
    EXPECT_TRUE(log.journal->durable(log.journal->tailLsn(), &token).isOk());
    EXPECT_TRUE(log.journal->written(log.journal->tailLsn() + 1000, &token).isOk());
    AppendOp op(RecordType::kCommit, 1, "x");
    Lsn before = log.journal->tailLsn();
    ASSERT_TRUE(log.journal->append(op).isOk());
    EXPECT_GE(op.lsn(), before);
    EXPECT_GT(log.journal->tailLsn(), op.lsn());
    ASSERT_TRUE(waitDurable(*log.journal, log.journal->tailLsn()).isOk());
    EXPECT_GT(log.journal->durableLsn(), op.lsn());
}

TEST(Journal, LsnAndTimestampNeverRepeatThoughRecordsWereLost) {
    MemoryFileSystem disk;
    Lsn lsn = 0;
    uint64_t timestamp = 0;
    for (int i = 0; i < 5; ++i) {
        Opened log = openLog(smallOptions(disk));
        for (int k = 0; k < 12; ++k) {
            AppendOp op(RecordType::kCommit, 1, std::string(900, 'x'));
            if (!log.journal->append(op).isOk()) {
                break;
            }
            EXPECT_GT(op.lsn(), lsn);
            EXPECT_GT(op.timestamp(), timestamp);
            lsn = op.lsn();
            timestamp = op.timestamp();
        }
        disk.crash();
    }
}

TEST(Journal, TimestampsDoNotRepeatThoughWhatWasLostHadBegunANewSecond) {
    MemoryFileSystem disk;
    uint64_t timestamp = 0;
    {
        Opened log = openLog(smallOptions(disk));
        putDurable(*log.journal, "kept");
        FlushGate gate(disk.faults());
        for (const int64_t then = platform::wallMillis() / 1000;
             platform::wallMillis() / 1000 == then;) {
            platform::sleepMillis(1);
        }
        for (int k = 0; k < 12; ++k) {
            AppendOp op(RecordType::kCommit, 1, std::string(900, 'x'));
            if (log.journal->append(op).isOk()) {
                timestamp = op.timestamp();
            }
        }
        ASSERT_GT(timestamp, 0u);
        disk.crash();
    }
    Opened log = openLog(smallOptions(disk));
    AppendOp op(RecordType::kCommit, 1, "next");
    ASSERT_TRUE(log.journal->append(op).isOk());
    EXPECT_GT(op.timestamp(), timestamp);
}

struct FatalCount {
    int calls = 0;
    std::string text;
    Options watch(Options options) {
        options.onFatal = [this](const Status& why) {
            ++calls;
            text = why.toString();
        };
        return options;
    }
};

TEST(Journal, FailedFlushIsFinal) {
    MemoryFileSystem disk;
    FatalCount fatal;
    Opened log = openLog(fatal.watch(smallOptions(disk)));
    putDurable(*log.journal, "kept");
    waitForReadySegment(*log.journal, 2);
    Lsn durable = log.journal->durableLsn();
    disk.faults().fail(DiskFaults::Op::kSync, 1, Status(Code::kIo, "the disk is on fire"));
    uint64_t syncs = disk.faults().count(DiskFaults::Op::kSync);

    AppendOp op(RecordType::kCommit, 1, "lost");
    ASSERT_TRUE(log.journal->append(op).isOk());
    EXPECT_EQ(waitDurable(*log.journal, op.lsn()).code(), Code::kIo);
    EXPECT_EQ(log.journal->durableLsn(), durable);
    AppendOp more(RecordType::kCommit, 1, "refused");
    EXPECT_EQ(log.journal->append(more).code(), Code::kIo);
    EXPECT_EQ(waitDurable(*log.journal, op.lsn()).code(), Code::kIo);
    EXPECT_EQ(log.journal->health().code(), Code::kIo);
    EXPECT_EQ(log.journal->close().code(), Code::kIo);
    EXPECT_EQ(disk.faults().count(DiskFaults::Op::kSync), syncs + 1);  // never tried again
    EXPECT_EQ(fatal.calls, 1);
    EXPECT_NE(fatal.text.find("on fire"), std::string::npos);
    disk.crash();
    EXPECT_EQ(bodiesOf(openLog(smallOptions(disk)).records), std::vector<std::string>{"kept"});
}

TEST(Journal, FailedWriteIsFinal) {
    MemoryFileSystem disk;
    FatalCount fatal;
    Opened log = openLog(fatal.watch(smallOptions(disk)));
    putDurable(*log.journal, "kept");
    waitForReadySegment(*log.journal, 2);
    disk.faults().fail(DiskFaults::Op::kWrite, 1, Status(Code::kIo, "bad sector"));
    uint64_t writes = disk.faults().count(DiskFaults::Op::kWrite);
    AppendOp op(RecordType::kCommit, 1, "lost");
    ASSERT_TRUE(log.journal->append(op).isOk());
    EXPECT_EQ(waitWritten(*log.journal, op.lsn()).code(), Code::kIo);
    EXPECT_EQ(log.journal->close().code(), Code::kIo);
    EXPECT_EQ(disk.faults().count(DiskFaults::Op::kWrite), writes + 1);
    EXPECT_EQ(fatal.calls, 1);
}

TEST(Journal, FailureReachesEveryWaiter) {
    MemoryFileSystem disk;
    FatalCount fatal;
    Options options = fatal.watch(smallOptions(disk));
    options.slotBytes = 64 * 1024;
    options.segmentBytesFirst = options.segmentBytesMax = 1u << 20;
    Opened log = openLog(options);
    waitForReadySegment(*log.journal, 2);
    FlushGate gate(disk.faults());
    disk.faults().fail(DiskFaults::Op::kSync, 1, Status(Code::kIo, "gone"));
    std::vector<sync::WaitToken> tokens;
    for (int i = 0; i < 20; ++i) {
        AppendOp op(RecordType::kCommit, 1, "x");
        ASSERT_TRUE(log.journal->append(op).isOk());
        sync::WaitToken token;
        ASSERT_TRUE(log.journal->durable(op.lsn(), &token).isWouldBlock());
        tokens.push_back(token);
    }
    gate.open();
    for (const sync::WaitToken& token : tokens) {
        sync::blockOn(token);
    }
    EXPECT_EQ(log.journal->health().code(), Code::kIo);
}

/// A disk that refuses space for another segment while it is set to full. Existing space can be
/// written.
class CrampedDisk {
public:
    void fill() {
        rule_ = plan_.add({.path = "*/next.tmp",
                           .op = testing::FileOp::kOpen,
                           .error = Status(Code::kNoSpace, "disk full"),
                           .times = testing::kEver});
    }
    void giveBack() { plan_.cancel(rule_); }

    MemoryFileSystem memory;

private:
    testing::FaultPlan plan_{1};
    size_t rule_ = 0;

public:
    testing::FaultyFileSystem files{memory, plan_};
};

/// Appends until the journal, short of a segment, refuses. Returns the records stored.
size_t fillUntilRefused(Journal& journal) {
    for (size_t stored = 0;; ++stored) {
        AppendOp op(RecordType::kCommit, 1, std::string(900, 'x'));
        Status status = appendWaiting(journal, op);
        if (!status.isOk()) {
            EXPECT_EQ(status.code(), Code::kNoSpace) << status.toString();
            EXPECT_FALSE(op.started());
            return stored;
        }
        platform::yieldThread();
    }
}

TEST(Journal, FullDiskRefusesNewRecordsKeepsTheOldAndHeals) {
    CrampedDisk disk;
    FatalCount fatal;
    Options options = fatal.watch(smallOptions(disk.files));
    options.commitIntervalMs = 1;
    Opened log = openLog(options);
    waitForReadySegment(*log.journal, 2);
    disk.fill();
    size_t stored = fillUntilRefused(*log.journal);
    EXPECT_TRUE(log.journal->health().isOk());
    // Records accepted before the helper noticed may wait in the ring for space, too.
    disk.giveBack();
    EXPECT_TRUE(waitDurable(*log.journal, log.journal->tailLsn()).isOk());
    AppendOp late(RecordType::kCommit, 1, "there is room again");
    while (!appendWaiting(*log.journal, late).isOk()) {
        platform::yieldThread();
    }
    EXPECT_TRUE(log.journal->close().isOk());
    EXPECT_EQ(fatal.calls, 0);
    EXPECT_EQ(openLog(smallOptions(disk.memory)).records.size(), stored + 1);
}

/// Space runs out in the middle of a segment's zeros; what is recycled needs none.
TEST(Journal, FullDiskIsHelpedByARecycledSegment) {
    MemoryFileSystem memory;
    testing::FaultPlan plan(testSeed());
    testing::FaultyFileSystem disk(memory, plan);
    Options options = smallOptions(disk);
    options.commitIntervalMs = 1;
    options.segmentBytesMax = options.segmentBytesFirst;
    Opened log = openLog(options);
    waitForReadySegment(*log.journal, 2);
    plan.add({.path = "*/next.tmp",
              .kind = testing::FaultKind::kShortWrite,
              .error = Status(Code::kNoSpace, "disk full"),
              .times = testing::kEver});
    fillUntilRefused(*log.journal);
    ASSERT_GT(plan.fired(), 0u);
    EXPECT_TRUE(log.journal->health().isOk());
    // A checkpoint frees space, again and again.
    Lsn redo = 0;
    for (int i = 0; i < 3; ++i) {
        while (log.journal->stats().segmentsRecycled <= static_cast<uint64_t>(i)) {
            redo = std::max(redo, log.journal->durableLsn());
            ASSERT_TRUE(log.journal->recycle(redo).isOk());
            AppendOp op(RecordType::kCommit, 1, std::string(900, 'y'));
            Status status = appendWaiting(*log.journal, op);
            ASSERT_TRUE(status.isOk() || status.code() == Code::kNoSpace) << status.toString();
        }
    }
    // The disk is still full, and the last segment may be full again: then the records that wait
    // for the next one cannot be stored. They were never acknowledged.
    const Lsn promised = log.journal->durableLsn();
    const Status closed = log.journal->close();
    EXPECT_TRUE(closed.isOk() || closed.code() == Code::kNoSpace) << closed.toString();
    log.journal.reset();
    Options reopen = smallOptions(memory);
    reopen.redoLsn = redo;
    const Opened again = openLog(reopen);
    ASSERT_TRUE(again.status.isOk()) << again.status.toString();
    EXPECT_GE(again.journal->tailLsn(), promised) << plan.summary();
}

TEST(Journal, FullDiskRefusesThoseWhoWaitForASlot) {
    MemoryFileSystem memory;
    testing::FaultPlan plan(testSeed());
    testing::FaultyFileSystem disk(memory, plan);
    Options options = smallOptions(disk);
    options.segmentBytesFirst = options.segmentBytesMax = 2u << 20;  // made in two steps
    options.zeroedPerSecondMax = UINT64_MAX;                         // also if they fill at once
    Opened log = openLog(options);
    waitForReadySegment(*log.journal, 2);
    // While the making of the third segment is held, the full disk goes unnoticed.
    FlushGate gate(memory.faults());
    writeIntoSecondSegment(*log.journal, options.segmentBytesFirst);
    // The maker has to be held after its first step: if the log waits for the segment before it
    // begins, it makes all of it at once.
    while (bytesOf(memory, "/journal/next.tmp") == 0) {
        platform::yieldThread();
    }
    writeUntilSegmentMissing(*log.journal);
    plan.add({.path = "*/next.tmp",
              .kind = testing::FaultKind::kShortWrite,
              .error = Status(Code::kNoSpace, "disk full"),
              .times = testing::kEver});
    const AppendOp record(RecordType::kCommit, 1, std::string(900, 'x'));
    AppendOp op = record;
    Status status;
    while (status.isOk()) {
        op = record;
        status = log.journal->append(op);
    }
    ASSERT_TRUE(status.isWouldBlock()) << status.toString();
    gate.open();
    sync::blockOn(op.token());
    EXPECT_EQ(log.journal->append(op).code(), Code::kNoSpace);
}

/// A record larger than all the space there is, begun before the disk was full.
TEST(Journal, StartedRecordWaitsForRoomOnAFullDisk) {
    CrampedDisk disk;
    Options options = smallOptions(disk.files);
    options.commitIntervalMs = 1;
    std::string body(4 * options.segmentBytesMax, 'b');
    {
        Opened log = openLog(options);
        waitForReadySegment(*log.journal, 2);
        disk.fill();
        AppendOp op(RecordType::kCommit, 1, body);
        ASSERT_TRUE(appendUnlessSegmentMissing(*log.journal, op).isWouldBlock());
        EXPECT_TRUE(op.started());
        EXPECT_TRUE(log.journal->health().isOk());
        disk.giveBack();
        ASSERT_TRUE(appendWaiting(*log.journal, op).isOk());
    }
    EXPECT_EQ(bodiesOf(openLog(options).records), std::vector<std::string>{body});
}

TEST(Journal, CloseDoesNotWaitForAFullDisk) {
    CrampedDisk disk;
    FatalCount fatal;
    Options options =
        fatal.watch(smallOptions(disk.files));  // no timer: no other thread takes the role
    Opened log = openLog(options);
    waitForReadySegment(*log.journal, 2);
    disk.fill();
    AppendOp op(RecordType::kCommit, 1, std::string(4 * options.segmentBytesMax, 'b'));
    ASSERT_TRUE(appendUnlessSegmentMissing(*log.journal, op).isWouldBlock());
    EXPECT_EQ(log.journal->close().code(), Code::kNoSpace);
    EXPECT_EQ(fatal.calls, 1);
}

TEST(Journal, RealFiles) {
    const std::filesystem::path directory =
        ::testing::TempDir() + "freshet-journal-" + std::to_string(platform::processId());
    struct Remover {
        std::filesystem::path directory;
        ~Remover() { std::filesystem::remove_all(directory); }
    } remover{directory};
    Options options = smallOptions(platform::FileSystem::posix());
    options.directory = directory / "journal";
    std::vector<std::string> bodies;
    for (int session = 0; session < 3; ++session) {
        Opened log = openLog(options);
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        EXPECT_EQ(bodiesOf(log.records), bodies);
        for (int i = 0; i < 5; ++i) {
            bodies.push_back(std::string(static_cast<size_t>(i) * 5000, 'r'));
            putDurable(*log.journal, bodies.back());
        }
        EXPECT_TRUE(log.journal->close().isOk());
    }
}

TEST(Journal, ClosedMeansClosed) {
    MemoryFileSystem disk;
    Opened log = openLog(smallOptions(disk));
    EXPECT_TRUE(log.journal->close().isOk());
    EXPECT_TRUE(log.journal->close().isOk());
    AppendOp op(RecordType::kCommit, 1, "late");
    EXPECT_EQ(log.journal->append(op).code(), Code::kUnavailable);
}

TEST(Journal, WhatMakesTheLogsPlaceDurableMustNotFail) {
    for (const char* directory : {"/", "/journal"}) {
        MemoryFileSystem memory;
        testing::FaultPlan plan(1);
        testing::FaultyFileSystem disk(memory, plan);
        plan.add({.path = directory, .op = testing::FileOp::kSyncDirectory});
        EXPECT_EQ(openLog(smallOptions(disk)).status.code(), Code::kIo);
        EXPECT_EQ(plan.fired(), 1u);
    }
}

TEST(Journal, ReplaysFailureEndsTheOpen) {
    MemoryFileSystem disk;
    putDurable(*openLog(smallOptions(disk)).journal, "x");
    auto result = Journal::open(smallOptions(disk),
                                [](const RecordView&) { return Status(Code::kLimit, "no more"); });
    ASSERT_FALSE(result.isOk());
    EXPECT_EQ(result.status().code(), Code::kLimit);
}

TEST(Journal, RefusesSizesItCannotServe) {
    MemoryFileSystem disk;
    for (auto change :
         std::vector<void (*)(Options&)>{[](Options& o) { o.slots = 3; },
                                         [](Options& o) { o.slots = 33; },
                                         [](Options& o) { o.slotBytes = 5000; },
                                         [](Options& o) { o.slotBytes = 4u << 20; },
                                         [](Options& o) { o.segmentBytesFirst = 4096; },
                                         [](Options& o) { o.segmentBytesMax = 4096; },
                                         [](Options& o) { o.files = nullptr; }}) {
        Options options = smallOptions(disk);
        change(options);
        EXPECT_EQ(openLog(options).status.code(), Code::kInvalid);
    }
}

}  // namespace
}  // namespace freshet::journal
