// SPDX-License-Identifier: Apache-2.0
/// Segments that the log leaves behind: which are kept, which are reused, and that nothing stale in
/// them is ever taken for the log. Repair of a damaged log.
#include "freshet/journal/file/recycling.h"

#include "freshet/journal/file/framing.h"
#include "freshet/journal/file/segment.h"
#include "freshet/journal/file/test_support.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/atomic.h"
#include "freshet/testing/sim/memory_file_system.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace freshet::journal {
namespace {

using testing::DiskFaults;
using testing::MemoryFileSystem;

std::vector<std::string> namesIn(MemoryFileSystem& disk, const std::string& prefix = "") {
    std::vector<std::string> found;
    auto names = disk.list("/journal");
    for (const std::string& name : *names) {
        if (name.compare(0, prefix.size(), prefix) == 0) {
            found.push_back(name);
        }
    }
    return found;
}

/// Writes durable records, one block each, until the log has left `segments` segments behind it.
/// Returns each record's LSN by its body.
std::map<std::string, Lsn> leaveBehind(Journal& journal, size_t segments, const std::string& mark) {
    std::map<std::string, Lsn> lsns;
    uint64_t bytes = journal.stats().retainedBytes;
    for (size_t left = 0; left < segments;) {
        std::string body = mark + std::to_string(lsns.size()) + std::string(900, '.');
        lsns[body] = putDurable(journal, body);
        if (journal.stats().retainedBytes != bytes) {
            bytes = journal.stats().retainedBytes;
            ++left;
        }
    }
    return lsns;
}

/// Replay returned all of `written` at or above `redo`, and nothing else.
void expectFrom(Lsn redo, const std::map<std::string, Lsn>& written, const Opened& log) {
    ASSERT_TRUE(log.status.isOk()) << log.status.toString();
    size_t expected = 0;
    for (const auto& [body, lsn] : written) {
        expected += lsn >= redo ? 1 : 0;
    }
    EXPECT_EQ(log.records.size(), expected);
    for (const Replayed& record : log.records) {
        auto found = written.find(record.body);
        ASSERT_NE(found, written.end()) << record.body;
        EXPECT_EQ(found->second, record.lsn);
        EXPECT_GE(record.lsn, redo);
    }
}

Options from(Options options, Lsn redo) {
    options.redoLsn = redo;
    return options;
}

TEST(Recycling, ReplayBeginsAtTheRedoLsnWhereverItLies) {
    MemoryFileSystem disk;
    Opened log = openLog(smallOptions(disk));
    auto written = leaveBehind(*log.journal, 3, "r");
    Lsn tail = log.journal->tailLsn();
    ASSERT_TRUE(log.journal->close().isOk());
    for (const auto& [body, lsn] : written) {
        for (Lsn redo : {lsn, lsn + 1}) {
            expectFrom(redo, written, openLog(from(smallOptions(disk), redo)));
        }
    }
    expectFrom(tail, written, openLog(from(smallOptions(disk), tail)));
}

TEST(Recycling, SegmentsBelowTheRedoLsnAreUsedAgainAndTheLogGoesOnInThem) {
    MemoryFileSystem disk;
    Options options = smallOptions(disk);
    options.segmentBytesMax = options.segmentBytesFirst;
    Lsn redo = 0;
    std::map<std::string, Lsn> written;
    for (int era = 0; era < 3; ++era) {
        SCOPED_TRACE(era);
        Opened log = openLog(from(options, redo));
        expectFrom(redo, written, log);
        for (int turn = 0; turn < 4; ++turn) {
            written.merge(leaveBehind(
                *log.journal, 3, std::to_string(era) + "/" + std::to_string(turn) + "/"));
            redo = log.journal->tailLsn();
            ASSERT_TRUE(log.journal->recycle(redo).isOk());
            EXPECT_EQ(log.journal->stats().retainedBytes, 0u);
        }
        EXPECT_GE(log.journal->stats().segmentsRecycled, 12u);
        // Two in use or ready, and the spares: the disk does not fill up.
        EXPECT_LE(disk.list("/journal")->size(), 3 + SparePool::kSparesMax);
        written.merge(leaveBehind(*log.journal, 1, std::to_string(era) + "/last/"));
        era == 1 ? disk.crash() : static_cast<void>(log.journal->close().isOk());
    }
    expectFrom(redo, written, openLog(from(options, redo)));
    EXPECT_GT(segmentIndex(namesIn(disk, "j.").back()).value(), 30u);  // numbers rise for ever
}

TEST(Recycling, NothingNeededIsLetGo) {
    MemoryFileSystem disk;
    Opened log = openLog(smallOptions(disk));
    auto written = leaveBehind(*log.journal, 2, "r");
    waitForReadySegment(*log.journal, 4);  // the helper adds no name while names are compared
    auto before = namesIn(disk, "j.");
    ASSERT_TRUE(log.journal->recycle(written.begin()->second).isOk());
    EXPECT_EQ(namesIn(disk, "j."), before);
    // The first record of the second segment needs that segment, not the first.
    Lsn second = UINT64_MAX;
    std::string bytes(smallOptions(disk).segmentBytesFirst, '\0');
    auto file = disk.open("/journal/" + before[1], platform::OpenMode::kRead);
    ASSERT_TRUE((*file)->pread(bytes.data(), bytes.size(), 0).isOk());
    BlockHeader header;
    ASSERT_TRUE(readHeader(bytes.data(), &header));
    second = slotStart(header.slotNo);
    ASSERT_TRUE(log.journal->recycle(second - 1).isOk());
    EXPECT_EQ(namesIn(disk, "j."), before);
    ASSERT_TRUE(log.journal->recycle(second).isOk());
    EXPECT_EQ(log.journal->stats().segmentsRecycled, 1u);
    ASSERT_TRUE(log.journal->close().isOk());
    expectFrom(second, written, openLog(from(smallOptions(disk), second)));
    // The log does not reach back any further.
    Opened tooFar = openLog(from(smallOptions(disk), second - (1u << 24)));
    EXPECT_EQ(tooFar.status.code(), Code::kCorruption);
    EXPECT_NE(tooFar.status.text().find("are missing"), std::string::npos)
        << tooFar.status.toString();
    EXPECT_EQ(openLog(smallOptions(disk)).status.code(), Code::kCorruption);
}

TEST(Recycling, ASegmentWaitsUntilTheBlockBehindItIsDurable) {
    MemoryFileSystem disk;
    Options options = smallOptions(disk);
    options.slotBytes = 16 * 1024;  // a segment holds four blocks
    Opened log = openLog(options);
    waitForReadySegment(*log.journal, 2);
    while (log.journal->stats().retainedBytes == 0) {
        putWritten(*log.journal, std::string(3000, 'w'));
    }
    waitForReadySegment(*log.journal, 3);  // the helper is idle when the disk crashes
    // All is written, the second segment's first block too, but what is durable ends in the first.
    Lsn redo = log.journal->tailLsn();
    ASSERT_TRUE(log.journal->recycle(redo).isOk());
    EXPECT_EQ(log.journal->stats().segmentsRecycled, 0u);
    ASSERT_TRUE(waitDurable(*log.journal, redo).isOk());
    ASSERT_TRUE(log.journal->recycle(redo).isOk());
    EXPECT_EQ(log.journal->stats().segmentsRecycled, 1u);
    disk.crash();
    Opened again = openLog(from(options, redo));
    EXPECT_TRUE(again.status.isOk()) << again.status.toString();
}

TEST(Recycling, ADurableSegmentWaitsForTheFirstBlockOfTheNextOne) {
    MemoryFileSystem disk;
    Options options = smallOptions(disk);
    Opened log = openLog(options);
    waitForReadySegment(*log.journal, 2);
    for (uint64_t block = 1; block < options.segmentBytesFirst / kBlockAlign; ++block) {
        putDurable(*log.journal, "fills the segment");
    }
    Lsn redo = log.journal->tailLsn();
    ASSERT_EQ(log.journal->stats().retainedBytes, 0u);
    putWritten(*log.journal, "in the second segment, not durable");
    ASSERT_GT(log.journal->stats().retainedBytes, 0u);
    waitForReadySegment(*log.journal, 3);  // the helper is idle when the disk crashes
    ASSERT_TRUE(log.journal->recycle(redo).isOk());
    EXPECT_EQ(log.journal->stats().segmentsRecycled, 0u);
    disk.crash();
    Opened again = openLog(from(options, redo));
    EXPECT_TRUE(again.status.isOk()) << again.status.toString();
}

/// The log begins in a segment whose first block is damaged. The segment made ready behind it was,
/// in an earlier use, directly in front of it: its old blocks would end exactly where the log has
/// to begin.
TEST(Recycling, DamageIsNotHiddenByAnOlderLifeOfARecycledSegment) {
    MemoryFileSystem disk;
    Lsn redo = 0;
    {
        Opened log = openLog(smallOptions(disk));
        auto written = leaveBehind(*log.journal, 1, "r");
        for (const auto& [body, lsn] : written) {
            redo = std::max(redo, slotStart(slotOf(lsn)));  // the newest has a segment to itself
        }
        ASSERT_TRUE(log.journal->recycle(redo).isOk());
        ASSERT_EQ(log.journal->stats().segmentsRecycled, 1u);
        waitForReadySegment(*log.journal, 2);
        ASSERT_TRUE(log.journal->close().isOk());
    }
    ASSERT_TRUE(disk.remove("/journal/j.00000002").isOk());
    {
        Opened log = openLog(from(smallOptions(disk), redo));
        ASSERT_EQ(log.records.size(), 1u);
        waitForReadySegment(*log.journal, 2);
        ASSERT_EQ(namesIn(disk), (std::vector<std::string>{"durable", "j.00000001", "j.00000002"}));
        ASSERT_TRUE(log.journal->close().isOk());
    }
    disk.damage("/journal/j.00000001", 20);
    EXPECT_EQ(openLog(from(smallOptions(disk), redo)).status.code(), Code::kCorruption);
}

TEST(Recycling, RetentionByBytesAndByAge) {
    MemoryFileSystem disk;
    Options options = smallOptions(disk);
    options.segmentBytesMax = options.segmentBytesFirst;
    options.retainBytes = 3 * options.segmentBytesFirst;
    {
        Opened log = openLog(options);
        leaveBehind(*log.journal, 5, "r");
        ASSERT_TRUE(log.journal->recycle(log.journal->tailLsn()).isOk());
        EXPECT_EQ(log.journal->stats().segmentsRecycled, 2u);
        EXPECT_EQ(log.journal->stats().retainedBytes, options.retainBytes);
        leaveBehind(*log.journal, 1, "more");
        options.redoLsn = log.journal->tailLsn();
        ASSERT_TRUE(log.journal->recycle(options.redoLsn).isOk());
        EXPECT_EQ(log.journal->stats().segmentsRecycled, 3u);
        ASSERT_TRUE(log.journal->close().isOk());
    }
    // What is kept is known after a restart too; and a young record is kept whatever its bytes.
    options.retainBytes = 0;
    options.retainHours = 1;
    Opened log = openLog(options);
    ASSERT_TRUE(log.status.isOk()) << log.status.toString();
    EXPECT_EQ(log.journal->stats().retainedBytes, 3 * options.segmentBytesFirst);
    ASSERT_TRUE(log.journal->recycle(log.journal->tailLsn()).isOk());
    EXPECT_EQ(log.journal->stats().segmentsRecycled, 0u);
}

TEST(Recycling, AFailedDirectorySyncEndsTheJournal) {
    MemoryFileSystem disk;
    Options options = smallOptions(disk);
    int fatal = 0;
    options.onFatal = [&](const Status&) { ++fatal; };
    Opened log = openLog(options);
    leaveBehind(*log.journal, 1, "r");
    waitForReadySegment(*log.journal, 3);
    ASSERT_TRUE(disk.remove("/journal/j.00000000").isOk());
    EXPECT_FALSE(log.journal->recycle(log.journal->tailLsn()).isOk());
    EXPECT_FALSE(log.journal->health().isOk());
    EXPECT_EQ(fatal, 1);
}

/// Several threads append and wait for durability while another recycles all it can, through power
/// cuts that keep some of what was not flushed, and over several eras. Each round replays from its
/// redo LSN. No record is large enough to be cut into fragments: one that began below the redo LSN
/// would not be replayed, and the engine ensures that none is needed.
TEST(Recycling, PowerCutsWhileSegmentsComeBackLoseNothingAcknowledged) {
    uint64_t seed = testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    MemoryFileSystem disk;
    Options options = smallOptions(disk);
    options.segmentBytesMax = options.segmentBytesFirst;
    Lsn redo = 0;  // as in a superblock: durable before recycle() gets it
    std::map<std::string, Lsn> acknowledged;
    uint64_t recycled = 0;
    for (int round = 0; round < 20; ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        Opened log = openLog(from(options, redo));
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        std::map<std::string, Lsn> found;
        Lsn last = 0;
        for (const Replayed& record : log.records) {
            ASSERT_GT(record.lsn, last);
            last = record.lsn;
            found[record.body] = record.lsn;
        }
        for (const auto& [body, lsn] : acknowledged) {
            if (lsn >= redo) {
                ASSERT_TRUE(found.contains(body)) << body.substr(0, 20);
            }
        }
        acknowledged = found;
        std::vector<std::map<std::string, Lsn>> mine(3);
        std::vector<uint64_t> seeds = {random(), random(), random()};
        {
            std::vector<platform::Thread> threads;
            for (size_t t = 0; t < mine.size(); ++t) {
                threads.emplace_back("writer", [&, t] {
                    std::mt19937_64 chance(seeds[t]);
                    for (int i = 0; i < 60; ++i) {
                        std::string body = std::to_string(round) + "/" + std::to_string(t) + "/" +
                                           std::to_string(i) + std::string(chance() % 900, '.');
                        AppendOp op(RecordType::kCommit, static_cast<uint16_t>(t), body);
                        ASSERT_TRUE(appendWaiting(*log.journal, op).isOk());
                        if (chance() % 4 == 0) {
                            ASSERT_TRUE(waitDurable(*log.journal, op.lsn()).isOk());
                            mine[t][body] = op.lsn();
                        }
                    }
                });
            }
            for (int i = 0; i < 10; ++i) {
                Lsn tail = log.journal->tailLsn();
                ASSERT_TRUE(waitDurable(*log.journal, tail).isOk());
                redo = std::max(redo, tail);
                ASSERT_TRUE(log.journal->recycle(redo).isOk());
            }
        }
        for (auto& thread : mine) {
            acknowledged.merge(thread);
        }
        recycled += log.journal->stats().segmentsRecycled;
        random() % 2 == 0 ? disk.crash() : disk.crashKeepingSome(random(), 512);
    }
    EXPECT_GT(recycled, 20u);
}

/// A recycled segment of the same era as the log that continues in it, and the log ends in front of
/// stale blocks: they are neither accepted nor taken as proof of damage.
TEST(Recycling, TheLogMayEndAnywhereInARecycledSegment) {
    MemoryFileSystem disk;
    Options options = smallOptions(disk);
    options.segmentBytesMax = options.segmentBytesFirst;
    Opened log = openLog(options);
    leaveBehind(*log.journal, 3, "old");
    Lsn redo = log.journal->tailLsn();
    ASSERT_TRUE(log.journal->recycle(redo).isOk());
    auto written = leaveBehind(*log.journal, 2, "new");  // the second one is a recycled segment
    for (int i = 0; i < 20; ++i) {
        std::string body = "then " + std::to_string(i);
        written[body] = putDurable(*log.journal, body);
        // The state of the disk at this very moment, as another start would find it.
        MemoryFileSystem copy;
        ASSERT_TRUE(copy.makeDirectory("/journal").isOk());
        for (const std::string& name : namesIn(disk)) {
            auto file = disk.open("/journal/" + name, platform::OpenMode::kRead);
            if (!file.isOk()) {
                continue;  // the helper has renamed it
            }
            std::string bytes(*(*file)->size(), '\0');
            ASSERT_TRUE((*file)->pread(bytes.data(), bytes.size(), 0).isOk());
            auto out = copy.open("/journal/" + name, platform::OpenMode::kCreate);
            ASSERT_TRUE((*out)->pwrite(bytes, 0).isOk() && (*out)->sync().isOk());
        }
        expectFrom(redo, written, openLog(from(smallOptions(copy), redo)));
    }
}

// --- Repair ---

TEST(Repair, ADamagedLogIsCutAndTheLossIsNamed) {
    MemoryFileSystem disk;
    std::vector<std::string> bodies;
    {
        Opened log = openLog(smallOptions(disk));
        for (int i = 0; i < 8; ++i) {
            bodies.push_back("record " + std::to_string(i));
            putDurable(*log.journal, bodies.back());
        }
        ASSERT_TRUE(log.journal->close().isOk());
    }
    disk.damage("/journal/j.00000000", 4 * 4096 + 140);  // record 3; block 0 begins the era
    EXPECT_EQ(openLog(smallOptions(disk)).status.code(), Code::kCorruption);
    Options repair = smallOptions(disk);
    repair.repair = true;
    bodies.resize(3);
    {
        Opened log = openLog(repair);
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        EXPECT_EQ(bodiesOf(log.records), bodies);
        ASSERT_EQ(log.journal->losses().size(), 1u);
        const std::string loss = log.journal->losses()[0];
        EXPECT_NE(loss.find("/journal/j.00000000 at offset 16384:"), std::string::npos) << loss;
        // The damaged block's header is whole, and so are the four blocks behind it and the closing
        // one.
        EXPECT_NE(loss.find("6 blocks with 6 records"), std::string::npos) << loss;
        bodies.push_back("after the repair");
        putDurable(*log.journal, bodies.back());
        disk.crash();
    }
    // What was given up does not come back, and nothing counts as damaged any more.
    for (int i = 0; i < 2; ++i) {
        Opened log = openLog(smallOptions(disk));
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        EXPECT_EQ(bodiesOf(log.records), bodies);
        EXPECT_TRUE(log.journal->losses().empty());
        bodies.push_back("later " + std::to_string(i));
        putDurable(*log.journal, bodies.back());
        disk.crash();
    }
}

TEST(Repair, AMissingBeginningIsALossToo) {
    MemoryFileSystem disk;
    Options options = smallOptions(disk);
    Lsn redo = 0;
    Lsn last = 0;
    {
        Opened log = openLog(options);
        auto written = leaveBehind(*log.journal, 3, "r");
        redo = log.journal->tailLsn();
        last = putDurable(*log.journal, "above redo");
        ASSERT_TRUE(log.journal->close().isOk());
    }
    for (const std::string& name : namesIn(disk, "j.")) {
        ASSERT_TRUE(disk.remove("/journal/" + name).isOk());
    }
    Opened refused = openLog(from(options, redo));
    EXPECT_EQ(refused.status.code(), Code::kCorruption);
    Options repair = from(options, redo);
    repair.repair = true;
    {
        Opened log = openLog(repair);
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        EXPECT_TRUE(log.records.empty());
        ASSERT_EQ(log.journal->losses().size(), 1u);
        EXPECT_NE(log.journal->losses()[0].find("are missing"), std::string::npos);
        EXPECT_GT(putDurable(*log.journal, "anew"), last);
        disk.crash();
    }
    Opened log = openLog(from(options, redo));
    ASSERT_TRUE(log.status.isOk()) << log.status.toString();
    EXPECT_EQ(bodiesOf(log.records), std::vector<std::string>{"anew"});
}

TEST(Repair, AForeignLogIsNotRepaired) {
    MemoryFileSystem disk;
    putDurable(*openLog(smallOptions(disk)).journal, "theirs");
    Options options = smallOptions(disk);
    options.dbUuid[0] = 'X';
    options.repair = true;
    EXPECT_EQ(openLog(options).status.code(), Code::kCorruption);
}

}  // namespace
}  // namespace freshet::journal
