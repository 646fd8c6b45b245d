// SPDX-License-Identifier: Apache-2.0
/// Readers of a running log: they see every durable record, once and in order, from wherever they
/// begin, and are told when their place is gone or damaged. Pins.
#include "freshet/journal/reader.h"

#include "freshet/journal/file/framing.h"
#include "freshet/journal/file/recycling.h"
#include "freshet/journal/file/test_support.h"
#include "freshet/platform/thread.h"
#include "freshet/testing/sim/fault_plan.h"
#include "freshet/testing/sim/faulty_file_system.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/testing/sim/misreading_file_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <random>

namespace freshet::journal {
namespace {

using testing::DiskFaults;
using testing::MemoryFileSystem;
using testing::MisreadingFileSystem;

std::unique_ptr<Reader> openReader(Journal& journal, const ReadFrom& from = {}) {
    auto reader = Reader::open(journal, from);
    invariant(reader.isOk());
    return std::move(*reader);
}

/// Waits as long as next() asks for it.
Status nextWaiting(Reader& reader, RecordView* record) {
    for (;;) {
        Status status = reader.next(record);
        if (!status.isWouldBlock()) {
            return status;
        }
        sync::blockOn(reader.token());
    }
}

Replayed copyOf(const RecordView& record) {
    return {
        record.lsn, record.type, record.participant, record.timestamp, std::string(record.body)};
}

/// Reads up to the record at `last`, or until a status ends it.
struct ReadOut {
    std::vector<Replayed> records;
    Status status;
};
ReadOut readUpTo(Reader& reader, Lsn last) {
    ReadOut out;
    while (out.records.empty() || out.records.back().lsn < last) {
        RecordView record;
        out.status = nextWaiting(reader, &record);
        if (!out.status.isOk()) {
            break;
        }
        EXPECT_TRUE(out.records.empty() || record.lsn > out.records.back().lsn);
        out.records.push_back(copyOf(record));
        EXPECT_GT(reader.position(), record.lsn);
        EXPECT_LE(reader.neededFrom(), reader.position());
    }
    return out;
}

void expectSame(const std::vector<Replayed>& found, const std::vector<Replayed>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].lsn, expected[i].lsn) << i;
        ASSERT_EQ(found[i].type, expected[i].type);
        ASSERT_EQ(found[i].participant, expected[i].participant);
        ASSERT_EQ(found[i].timestamp, expected[i].timestamp);
        ASSERT_EQ(found[i].body, expected[i].body);
    }
}

/// Those for which `isWanted` holds.
template <typename Wanted>
std::vector<Replayed> only(const std::vector<Replayed>& all, Wanted&& isWanted) {
    std::vector<Replayed> some;
    std::copy_if(all.begin(), all.end(), std::back_inserter(some), isWanted);
    return some;
}

/// Records of `threads` threads, some in many fragments, that end in any order. All durable at the
/// end.
void appendMixed(Journal& journal, int threads, int records, uint64_t seed) {
    std::vector<platform::Thread> running;
    for (int t = 0; t < threads; ++t) {
        running.emplace_back("writer", [&journal, records, seed, t] {
            std::mt19937_64 random(seed + t);
            Lsn last = 0;
            for (int i = 0; i < records; ++i) {
                const size_t bytes = random() % 8 == 0 ? random() % 20'000 : random() % 600;
                std::string body = std::to_string(t) + "/" + std::to_string(i) + "/";
                body.resize(body.size() + bytes, static_cast<char>('a' + i % 26));
                const auto type = random() % 5 == 0 ? RecordType::kNoop : RecordType::kCommit;
                AppendOp op(type, static_cast<uint16_t>(t), body);
                ASSERT_TRUE(appendWaiting(journal, op).isOk());
                last = op.lsn();
                if (random() % 16 == 0) {
                    ASSERT_TRUE(waitDurable(journal, last).isOk());
                }
            }
            ASSERT_TRUE(waitDurable(journal, last).isOk());
        });
    }
}

/// What a start of the server would replay. The disk is not changed.
std::vector<Replayed> replayed(const Options& options) {
    MemoryFileSystem copy;
    EXPECT_TRUE(copy.makeDirectory(options.directory).isOk());
    auto names = options.files->list(options.directory);
    for (const std::string& name : *names) {
        const std::string path = options.directory + "/" + name;
        auto file = options.files->open(path, platform::OpenMode::kRead);
        if (!file.isOk()) {
            continue;  // a segment that got its name meanwhile; it holds nothing yet
        }
        std::string bytes(*(*file)->size(), '\0');
        EXPECT_TRUE((*file)->pread(bytes.data(), bytes.size(), 0).isOk());
        copy.put(path, std::move(bytes));
    }
    Options other = options;
    other.files = &copy;
    Opened log = openLog(other);
    EXPECT_TRUE(log.status.isOk()) << log.status.toString();
    return std::move(log.records);
}

/// A log of three eras with many segments, and everything in it.
struct MixedLog {
    explicit MixedLog(uint64_t seed) {
        options.segmentBytesMax = options.segmentBytesFirst;
        for (int era = 0; era < 3; ++era) {
            log = openLog(options);
            invariant(log.status.isOk());
            appendMixed(*log.journal, 3, 60, seed + era * 100);
            if (era < 2) {
                invariant(log.journal->close().isOk());
            }
        }
        all = replayed(options);
    }
    MemoryFileSystem disk;
    Options options = smallOptions(disk);
    Opened log;
    std::vector<Replayed> all;
};

TEST(Reader, ReadsFromTheStartToTheEndAndBeyond) {
    MixedLog mixed(testSeed());
    Journal& journal = *mixed.log.journal;
    ASSERT_GE(journal.stats().segments, 8u);
    auto reader = openReader(journal);
    ReadOut out = readUpTo(*reader, mixed.all.back().lsn);
    ASSERT_TRUE(out.status.isOk()) << out.status.toString();
    expectSame(out.records, mixed.all);

    appendMixed(journal, 2, 50, testSeed());
    mixed.all = replayed(mixed.options);
    const ReadOut beyond = readUpTo(*reader, mixed.all.back().lsn);
    out.records.insert(out.records.end(), beyond.records.begin(), beyond.records.end());
    expectSame(out.records, mixed.all);
}

/// The journal's timer is an hour, and nobody asks for a flush: the waiting reader is the reason.
TEST(Reader, AWaitingReaderIsWokenByDurabilityAndSeesNothingBefore) {
    MemoryFileSystem disk;
    Opened log = openLog(smallOptions(disk));
    auto reader = openReader(*log.journal);
    sync::Mutex flushing;
    disk.faults().setBeforeSync([&flushing] { std::lock_guard<sync::Mutex> held(flushing); });
    RecordView record;
    for (int i = 0; i < 20; ++i) {
        SCOPED_TRACE(i);
        while (reader->position() < log.journal->durableLsn()) {
            ASSERT_TRUE(reader->next(&record).isWouldBlock());
            if (reader->position() < log.journal->durableLsn()) {
                sync::blockOn(reader->token());
            }
        }
        ASSERT_TRUE(reader->next(&record).isWouldBlock());
        std::unique_lock<sync::Mutex> noFlush(flushing);
        const std::string body = "event " + std::to_string(i);
        AppendOp op(RecordType::kCommit, 1, body);
        ASSERT_TRUE(appendWaiting(*log.journal, op).isOk());
        ASSERT_TRUE(waitWritten(*log.journal, op.lsn()).isOk());
        ASSERT_TRUE(reader->next(&record).isWouldBlock());
        const sync::WaitToken token = reader->token();
        EXPECT_FALSE(token.isDone());
        noFlush.unlock();
        sync::blockOn(token);
        ASSERT_TRUE(nextWaiting(*reader, &record).isOk());
        EXPECT_EQ(record.body, body);
        EXPECT_EQ(record.lsn, op.lsn());
        EXPECT_EQ(record.timestamp, op.timestamp());
    }
    disk.faults().setBeforeSync({});
}

TEST(Reader, PollingAnIdleLogNeedsNoMemory) {
    MemoryFileSystem disk;
    Opened log = openLog(smallOptions(disk));
    auto reader = openReader(*log.journal, {.lsn = log.journal->tailLsn()});
    RecordView record;
    ASSERT_TRUE(reader->next(&record).isWouldBlock());
    const sync::WaitToken token = reader->token();
    for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(reader->next(&record).isWouldBlock());
    }
    // The same token: not one for each call.
    const Lsn lsn = putDurable(*log.journal, "event");
    sync::blockOn(token);
    EXPECT_TRUE(reader->token().isDone());
    EXPECT_EQ(readUpTo(*reader, lsn).records.size(), 1u);
}

TEST(Reader, BeginsAnywhere) {
    MixedLog mixed(testSeed());
    std::mt19937_64 random(testSeed());
    for (int i = 0; i < 60; ++i) {
        const Replayed& first = mixed.all[random() % mixed.all.size()];
        const Lsn from = first.lsn + random() % 2;
        SCOPED_TRACE(from);
        const auto expected =
            only(mixed.all, [from](const Replayed& one) { return one.lsn >= from; });
        if (expected.empty()) {
            continue;
        }
        auto reader = openReader(*mixed.log.journal, {.lsn = from});
        expectSame(readUpTo(*reader, mixed.all.back().lsn).records, expected);
    }
}

TEST(Reader, ContinuesAnotherOneAtItsPosition) {
    MixedLog mixed(testSeed());
    std::vector<Replayed> found;
    Lsn position = 0;
    while (found.size() < mixed.all.size()) {
        auto reader = openReader(*mixed.log.journal, {.lsn = position});
        for (int i = 0; i < 7 && found.size() < mixed.all.size(); ++i) {
            RecordView record;
            ASSERT_TRUE(nextWaiting(*reader, &record).isOk());
            found.push_back(copyOf(record));
        }
        position = reader->position();
    }
    expectSame(found, mixed.all);
}

TEST(Reader, BeginsAtATime) {
    MixedLog mixed(testSeed());
    std::mt19937_64 random(testSeed());
    for (int i = 0; i < 60; ++i) {
        const uint64_t from = mixed.all[random() % mixed.all.size()].timestamp + random() % 2;
        SCOPED_TRACE(from);
        const auto expected =
            only(mixed.all, [from](const Replayed& one) { return one.timestamp >= from; });
        if (expected.empty()) {
            continue;
        }
        auto reader = openReader(*mixed.log.journal, {.timestamp = from});
        expectSame(readUpTo(*reader, mixed.all.back().lsn).records, expected);
    }
    // Before the first record, of a log that has lost nothing.
    auto reader = openReader(*mixed.log.journal, {.timestamp = 1});
    expectSame(readUpTo(*reader, mixed.all.back().lsn).records, mixed.all);
}

TEST(Reader, ATimeInTheFutureIsAwaited) {
    MemoryFileSystem disk;
    Opened log = openLog(smallOptions(disk));
    putDurable(*log.journal, "past");
    const uint64_t now = log.journal->now();
    auto fromNow = openReader(*log.journal, {.timestamp = now});
    auto fromLater = openReader(*log.journal, {.timestamp = now + 1000});
    Lsn last = 0;
    std::vector<Replayed> written;
    while (written.empty() || written.back().timestamp < now + 1500) {
        AppendOp op(RecordType::kCommit, 1, "a record");
        ASSERT_TRUE(appendWaiting(*log.journal, op).isOk());
        written.push_back({op.lsn(), RecordType::kCommit, 1, op.timestamp(), "a record"});
        last = op.lsn();
    }
    ASSERT_TRUE(waitDurable(*log.journal, last).isOk());
    expectSame(readUpTo(*fromNow, last).records, written);
    expectSame(readUpTo(*fromLater, last).records,
               only(written, [now](const Replayed& one) { return one.timestamp >= now + 1000; }));
}

TEST(Reader, ReturnsTheTypesAskedForAndPassesTheOthers) {
    MixedLog mixed(testSeed());
    auto reader = openReader(*mixed.log.journal, {.types = maskOf(RecordType::kNoop)});
    const auto expected =
        only(mixed.all, [](const Replayed& one) { return one.type == RecordType::kNoop; });
    ASSERT_GT(expected.size(), 10u);
    expectSame(readUpTo(*reader, expected.back().lsn).records, expected);
    const Lsn last = putDurable(*mixed.log.journal, "not asked for");
    RecordView record;
    while (reader->position() <= last) {
        ASSERT_TRUE(reader->next(&record).isWouldBlock());
        if (reader->position() <= last) {
            sync::blockOn(reader->token());
        }
    }
}

TEST(Reader, FollowsWritersOfSeveralThreads) {
    MemoryFileSystem disk;
    Options options = smallOptions(disk);
    options.commitIntervalMs = 2;
    Opened log = openLog(options);
    std::vector<ReadOut> outs(4);
    {
        std::vector<platform::Thread> readers;
        for (ReadOut& out : outs) {
            readers.emplace_back("reader", [&log, &out] {
                auto reader = openReader(*log.journal);
                RecordView record;
                while (out.status.isOk() && record.body != "the last") {
                    out.status = nextWaiting(*reader, &record);
                    out.records.push_back(copyOf(record));
                }
            });
        }
        appendMixed(*log.journal, 4, 400, testSeed());
        putDurable(*log.journal, "the last");
    }
    ASSERT_TRUE(log.journal->close().isOk());
    const auto all = replayed(options);
    for (const ReadOut& out : outs) {
        ASSERT_TRUE(out.status.isOk()) << out.status.toString();
        expectSame(out.records, all);
    }
}

TEST(Reader, AHundredAtTheTailReadNoFile) {
    MemoryFileSystem disk;
    Opened log = openLog(smallOptions(disk));
    putDurable(*log.journal, "before");
    std::vector<std::unique_ptr<Reader>> readers;
    const Lsn from = log.journal->tailLsn();
    for (int i = 0; i < 100; ++i) {
        readers.push_back(openReader(*log.journal, {.lsn = from}));
        RecordView record;
        ASSERT_TRUE(readers.back()->next(&record).isWouldBlock());
    }
    const uint64_t reads = disk.faults().count(DiskFaults::Op::kRead);
    Lsn last = 0;
    for (int i = 0; i < 10; ++i) {
        last = putDurable(*log.journal, "event " + std::to_string(i));
    }
    for (auto& reader : readers) {
        const ReadOut out = readUpTo(*reader, last);
        ASSERT_TRUE(out.status.isOk()) << out.status.toString();
        ASSERT_EQ(out.records.size(), 10u);
        EXPECT_EQ(out.records.front().body, "event 0");
    }
    EXPECT_EQ(disk.faults().count(DiskFaults::Op::kRead), reads);
}

TEST(Reader, MayEndAtAnyTimeAndMoveBetweenThreads) {
    MixedLog mixed(testSeed());
    std::vector<Replayed> found;
    auto reader = openReader(*mixed.log.journal);
    while (found.size() < mixed.all.size()) {
        platform::Thread mover("reader", [&] {
            RecordView record;
            for (int i = 0; i < 20 && found.size() < mixed.all.size(); ++i) {
                ASSERT_TRUE(nextWaiting(*reader, &record).isOk());
                found.push_back(copyOf(record));
            }
            // One that ends while its request is being served.
            auto other = openReader(*mixed.log.journal, {.lsn = reader->position()});
            static_cast<void>(other->next(&record).isOk());
        });
    }
    expectSame(found, mixed.all);
}

TEST(Reader, NothingShownIsMissingAfterAPowerCut) {
    for (uint64_t round = 0; round < 10; ++round) {
        const uint64_t seed = testSeed() + round;
        SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
        MemoryFileSystem disk;
        Options options = smallOptions(disk);
        options.commitIntervalMs = 2;
        std::vector<Replayed> shown;
        {
            Opened log = openLog(options);
            auto reader = openReader(*log.journal);
            platform::Thread reading("reader", [&] {
                RecordView record;
                while (nextWaiting(*reader, &record).isOk()) {
                    shown.push_back(copyOf(record));
                }
            });
            std::mt19937_64 random(seed);
            const int records = 200 + random() % 400;
            for (int i = 0; i < records; ++i) {
                AppendOp op(RecordType::kCommit, 1, std::string(random() % 3000, 'x'));
                ASSERT_TRUE(appendWaiting(*log.journal, op).isOk());
                if (random() % 32 == 0) {
                    ASSERT_TRUE(waitDurable(*log.journal, op.lsn()).isOk());
                }
            }
            disk.crashKeepingSome(seed, 512);
            // The disk is gone: closing ends the reader's waiting, whatever else it says.
            static_cast<void>(log.journal->close().isOk());
        }
        Opened log = openLog(options);
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        ASSERT_GE(log.records.size(), shown.size());
        log.records.resize(shown.size());
        expectSame(shown, log.records);
    }
}

// --- Places that are gone or damaged ---

/// Writes durable records, one block each, until the log has left `segments` more behind.
std::vector<Lsn> leaveBehind(Journal& journal, size_t segments) {
    std::vector<Lsn> lsns;
    const uint64_t before = journal.stats().segmentsRecycled;
    uint64_t bytes = journal.stats().retainedBytes;
    for (size_t left = 0; left < segments;) {
        lsns.push_back(putDurable(journal, std::string(900, '.')));
        if (journal.stats().retainedBytes != bytes) {
            bytes = journal.stats().retainedBytes;
            ++left;
        }
    }
    EXPECT_EQ(journal.stats().segmentsRecycled, before);
    return lsns;
}

Options manySegments(MemoryFileSystem& disk) {
    Options options = smallOptions(disk);
    options.segmentBytesMax = options.segmentBytesFirst;
    return options;
}

TEST(Reader, IsToldThatItsPlaceWasRecycled) {
    MemoryFileSystem disk;
    Opened log = openLog(manySegments(disk));
    // More than a reader fetches at once.
    const auto lsns = leaveBehind(*log.journal, 20);
    const uint64_t time = log.journal->now();
    auto early = openReader(*log.journal);
    auto unused = openReader(*log.journal, {.lsn = lsns[1]});
    RecordView record;
    ASSERT_TRUE(nextWaiting(*early, &record).isOk());
    ASSERT_TRUE(log.journal->recycle(log.journal->tailLsn()).isOk());
    // Their files are used again.
    leaveBehind(*log.journal, 4);

    Status status;
    size_t more = 0;
    for (; status.isOk(); ++more) {
        status = nextWaiting(*early, &record);
    }
    EXPECT_EQ(status.code(), Code::kNotFound) << status.toString();
    EXPECT_LT(more, lsns.size());  // it had some in memory
    EXPECT_EQ(nextWaiting(*unused, &record).code(), Code::kNotFound);
    EXPECT_EQ(early->next(&record).code(), Code::kNotFound);

    EXPECT_EQ(Reader::open(*log.journal, {.lsn = lsns[0]}).status().code(), Code::kNotFound);
    auto byTime = openReader(*log.journal, {.timestamp = 1});
    EXPECT_EQ(nextWaiting(*byTime, &record).code(), Code::kNotFound);
    auto sinceThen = openReader(*log.journal, {.timestamp = time});
    EXPECT_TRUE(nextWaiting(*sinceThen, &record).isOk());
    auto oldest = openReader(*log.journal);
    ASSERT_TRUE(nextWaiting(*oldest, &record).isOk());
    EXPECT_GT(record.lsn, lsns[0]);
    const Lsn redo = oldest->position();
    oldest.reset();
    early.reset();
    unused.reset();
    byTime.reset();
    sinceThen.reset();

    // After a restart, too.
    ASSERT_TRUE(log.journal->close().isOk());
    Options options = manySegments(disk);
    options.redoLsn = redo;
    log = openLog(options);
    ASSERT_TRUE(log.status.isOk()) << log.status.toString();
    EXPECT_EQ(Reader::open(*log.journal, {.lsn = lsns[0]}).status().code(), Code::kNotFound);
    byTime = openReader(*log.journal, {.timestamp = 1});
    EXPECT_EQ(nextWaiting(*byTime, &record).code(), Code::kNotFound);
}

TEST(Reader, ARecordWhoseBeginningWasRecycledIsLost) {
    MemoryFileSystem disk;
    Options options = manySegments(disk);
    Opened log = openLog(options);
    const std::string large(3 * options.segmentBytesFirst, 'x');
    const Lsn small = putDurable(*log.journal, "small");
    const Lsn whole = putDurable(*log.journal, large);
    const Lsn last = putDurable(*log.journal, "last");
    auto middle = openReader(*log.journal, {.lsn = small + 1});
    expectSame(readUpTo(*middle, last).records,
               only(replayed(options), [small](const Replayed& one) { return one.lsn > small; }));
    ASSERT_TRUE(log.journal->recycle(log.journal->tailLsn()).isOk());
    RecordView record;
    auto lost = openReader(*log.journal, {.lsn = whole});
    EXPECT_EQ(nextWaiting(*lost, &record).code(), Code::kNotFound);
    auto oldest = openReader(*log.journal);
    ASSERT_TRUE(nextWaiting(*oldest, &record).isOk());
    EXPECT_EQ(record.body, "last");
}

TEST(Pin, KeepsSegmentsUntilItMovesOn) {
    MemoryFileSystem disk;
    Opened log = openLog(manySegments(disk));
    leaveBehind(*log.journal, 2);
    const Lsn from = log.journal->tailLsn();
    auto pin = std::make_unique<Pin>(*log.journal, from);
    const auto lsns = leaveBehind(*log.journal, 4);
    ASSERT_TRUE(log.journal->recycle(log.journal->tailLsn()).isOk());
    EXPECT_EQ(log.journal->stats().segmentsRecycled, 2u);
    EXPECT_FALSE(pin->isVoid());

    auto reader = openReader(*log.journal, {.lsn = from});
    const ReadOut out = readUpTo(*reader, lsns.back());
    ASSERT_TRUE(out.status.isOk()) << out.status.toString();
    EXPECT_EQ(out.records.size(), lsns.size());

    pin->moveTo(lsns[lsns.size() / 2]);
    pin->moveTo(lsns[0]);  // no effect
    ASSERT_TRUE(log.journal->recycle(log.journal->tailLsn()).isOk());
    EXPECT_GT(log.journal->stats().segmentsRecycled, 2u);
    EXPECT_LT(log.journal->stats().segmentsRecycled, 6u);
    auto later = openReader(*log.journal, {.lsn = lsns[lsns.size() / 2]});
    EXPECT_TRUE(readUpTo(*later, lsns.back()).status.isOk());

    EXPECT_TRUE(Pin(*log.journal, from).isVoid());
    pin.reset();
    ASSERT_TRUE(log.journal->recycle(log.journal->tailLsn()).isOk());
    EXPECT_EQ(log.journal->stats().segmentsRecycled, 6u);
}

TEST(Pin, IsVoidBeyondItsLimits) {
    MemoryFileSystem disk;
    Options options = manySegments(disk);
    options.pinBytesMax = 3 * options.segmentBytesFirst;
    Opened log = openLog(options);
    Pin pin(*log.journal, log.journal->tailLsn());
    auto reader = openReader(*log.journal, {.lsn = log.journal->tailLsn()});
    leaveBehind(*log.journal, 3);
    ASSERT_TRUE(log.journal->recycle(log.journal->tailLsn()).isOk());
    EXPECT_FALSE(pin.isVoid());
    leaveBehind(*log.journal, 10);  // more than there is memory for
    Pin later(*log.journal, log.journal->tailLsn());
    ASSERT_TRUE(log.journal->recycle(log.journal->tailLsn()).isOk());
    EXPECT_TRUE(pin.isVoid());
    EXPECT_FALSE(later.isVoid());
    EXPECT_EQ(log.journal->stats().segmentsRecycled, 13u);
    RecordView record;
    Status status;
    for (int i = 0; i < 1000 && status.isOk(); ++i) {
        status = nextWaiting(*reader, &record);
    }
    EXPECT_EQ(status.code(), Code::kNotFound) << status.toString();
}

TEST(Pin, IsVoidAfterItsHours) {
    MemoryFileSystem disk;
    Options options = manySegments(disk);
    options.pinHours = 2;
    ASSERT_TRUE(disk.makeDirectory(options.directory).isOk());
    disk.put("/journal/j.00000000", std::string(options.segmentBytesFirst, 'x'));
    Recycler recycler(options);
    const Lsn end = slotStart(7);
    const uint64_t then = 1'000'000;
    recycler.finished({.path = "/journal/j.00000000",
                       .bytes = options.segmentBytesFirst,
                       .end = end,
                       .timestamp = then << 32});
    const auto pin = recycler.pins().add(end - 1);
    uint64_t gone = 0;
    ASSERT_TRUE(recycler.recycle(end, end + 1, then + 7199, false, &gone).isOk());
    EXPECT_EQ(gone, 0u);
    EXPECT_FALSE(pin->isVoid.load(sync::kRelaxed));
    ASSERT_TRUE(recycler.recycle(end, end + 1, then + 7200, false, &gone).isOk());
    EXPECT_EQ(gone, 1u);
    EXPECT_TRUE(pin->isVoid.load(sync::kRelaxed));
}

TEST(Pin, GivesWayWhenWritesAreRefused) {
    MemoryFileSystem memory;
    testing::FaultPlan plan(testSeed());
    testing::FaultyFileSystem disk(memory, plan);
    Options options = manySegments(memory);
    options.files = &disk;
    options.commitIntervalMs = 2;
    Opened log = openLog(options);
    ASSERT_TRUE(log.status.isOk()) << log.status.toString();
    Pin pin(*log.journal, log.journal->tailLsn());
    leaveBehind(*log.journal, 3);
    const Lsn redo = log.journal->tailLsn();
    ASSERT_TRUE(log.journal->recycle(redo).isOk());
    EXPECT_FALSE(pin.isVoid());
    plan.add({.path = "*/next.tmp",
              .kind = testing::FaultKind::kShortWrite,
              .error = Status(Code::kNoSpace, "disk full"),
              .times = testing::kEver});
    auto append = [&log] {
        AppendOp op(RecordType::kCommit, 1, std::string(900, 'x'));
        return appendWaiting(*log.journal, op);
    };
    while (append().isOk()) {
    }
    ASSERT_TRUE(log.journal->isOutOfSpace());
    ASSERT_TRUE(log.journal->recycle(redo).isOk());
    EXPECT_TRUE(pin.isVoid());
    // The spares are segments again.
    while (!append().isOk()) {
        platform::yieldThread();
    }
}

TEST(Reader, NamesADamagedBlock) {
    MemoryFileSystem disk;
    Opened log = openLog(manySegments(disk));
    const auto lsns = leaveBehind(*log.journal, 2);
    disk.damage("/journal/j.00000000", 3 * kBlockAlign + 200);
    auto reader = openReader(*log.journal);
    const ReadOut out = readUpTo(*reader, lsns.back());
    EXPECT_EQ(out.status.code(), Code::kCorruption);
    EXPECT_NE(out.status.text().find("/journal/j.00000000 at offset 12288"), std::string::npos)
        << out.status.toString();
    ASSERT_FALSE(out.records.empty());
    EXPECT_LT(out.records.size(), 4u);
    RecordView record;
    EXPECT_EQ(reader->next(&record).code(), Code::kCorruption);
    // What lies behind can be read.
    auto behind = openReader(*log.journal, {.lsn = lsns[lsns.size() - 2]});
    EXPECT_EQ(readUpTo(*behind, lsns.back()).records.size(), 2u);
}

TEST(Reader, ReadsABlockAgainThatWasMisread) {
    MemoryFileSystem disk;
    MisreadingFileSystem flaky(disk);
    Options options = manySegments(disk);
    options.files = &flaky;
    Opened log = openLog(options);
    const auto lsns = leaveBehind(*log.journal, 2);
    flaky.misread("/journal/j.00000000", 3 * kBlockAlign + 200, 1);
    auto reader = openReader(*log.journal);
    const ReadOut out = readUpTo(*reader, lsns.back());
    ASSERT_TRUE(out.status.isOk()) << out.status.toString();
    EXPECT_EQ(out.records.size(), lsns.size());
    EXPECT_EQ(flaky.misreadings(), 1u);
}

TEST(Reader, AWaitingReaderLearnsThatTheJournalHasEnded) {
    for (const bool fails : {false, true}) {
        SCOPED_TRACE(fails);
        MemoryFileSystem disk;
        Opened log = openLog(smallOptions(disk));
        auto reader = openReader(*log.journal, {.lsn = log.journal->tailLsn()});
        RecordView record;
        ASSERT_TRUE(reader->next(&record).isWouldBlock());
        const sync::WaitToken token = reader->token();
        if (fails) {
            disk.faults().fail(DiskFaults::Op::kSync, 1, Status(Code::kIo, "no disk"));
            AppendOp op(RecordType::kCommit, 1, "x");
            ASSERT_TRUE(log.journal->append(op).isOk());
            EXPECT_EQ(waitDurable(*log.journal, op.lsn()).code(), Code::kIo);
        } else {
            EXPECT_TRUE(log.journal->close().isOk());
        }
        sync::blockOn(token);
        EXPECT_EQ(reader->next(&record).code(), fails ? Code::kIo : Code::kUnavailable);
        EXPECT_FALSE(Reader::open(*log.journal, {}).isOk());
    }
}

}  // namespace
}  // namespace freshet::journal
