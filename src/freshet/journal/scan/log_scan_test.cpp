// SPDX-License-Identifier: Apache-2.0
/// What open() finds: torn tails, damage, stale blocks, missing files, power cuts at random. Every
/// log here is made by the journal itself and then tampered with.
#include "freshet/journal/scan/log_scan.h"

#include "freshet/base/checksum.h"
#include "freshet/journal/file/framing.h"
#include "freshet/journal/file/segment.h"
#include "freshet/journal/file/test_support.h"
#include "freshet/journal/file/witness_format.h"
#include "freshet/testing/sim/faulty_file_system.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/testing/sim/misreading_file_system.h"
#include "freshet/testing/sim/trace_recorder.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace freshet::journal {
namespace {

using testing::MemoryFileSystem;

constexpr uint32_t kSector = 512;

std::string pathOf(const std::string& name) {
    return "/journal/" + name;
}

using Files = std::map<std::string, std::string>;

Files readAll(MemoryFileSystem& disk) {
    Files files;
    auto names = disk.list("/journal");
    invariant(names.isOk());
    for (const std::string& name : *names) {
        auto file = disk.open(pathOf(name), platform::OpenMode::kRead);
        if (!file.isOk() && name == kUnfinishedName) {
            continue;  // the helper has just finished it
        }
        invariant(file.isOk());
        std::string bytes(*(*file)->size(), '\0');
        invariant((*file)->pread(bytes.data(), bytes.size(), 0).isOk());
        files[name] = bytes;
    }
    return files;
}

void writeAll(MemoryFileSystem& disk, const Files& files) {
    invariant(disk.makeDirectory("/journal").isOk());
    for (const auto& [name, bytes] : files) {
        auto file = disk.open(pathOf(name), platform::OpenMode::kCreate);
        invariant(file.isOk() && (*file)->pwrite(bytes, 0).isOk() && (*file)->sync().isOk());
    }
    invariant(disk.syncDirectory("/journal").isOk());
}

/// Opens a copy of `files`.
Opened openCopy(const Files& files) {
    static std::vector<std::unique_ptr<MemoryFileSystem>> disks;  // outlive the journals
    disks.push_back(std::make_unique<MemoryFileSystem>());
    writeAll(*disks.back(), files);
    return openLog(smallOptions(*disks.back()));
}

/// Offsets of the blocks of the first segment.
std::vector<std::pair<uint64_t, BlockHeader>> blocksOf(const std::string& segment) {
    std::vector<std::pair<uint64_t, BlockHeader>> blocks;
    BlockHeader header;
    auto follows = [&](uint64_t at) {
        return at + sizeof(header) <= segment.size() && readHeader(segment.data() + at, &header) &&
               (blocks.empty() || header.slotNo > blocks.back().second.slotNo);
    };
    for (uint64_t at = 0; follows(at) || follows(at = roundUp(at, kBlockAlign));
         at += header.fill) {
        blocks.emplace_back(at, header);
    }
    return blocks;
}

std::string bodyNumber(int i) {
    return std::to_string(i) + std::string(300 + 700 * (i % 5), static_cast<char>('a' + i));
}

std::vector<std::string> firstBodies(size_t n) {
    std::vector<std::string> bodies;
    for (size_t i = 0; i < n; ++i) {
        bodies.push_back(bodyNumber(static_cast<int>(i)));
    }
    return bodies;
}

enum class Put { kDurable, kWritten };

/// A log of `n` records, each in a block (or, when large, blocks) of its own, not closed.
Files makeLog(int n, Put put) {
    MemoryFileSystem disk;
    Opened log = openLog(smallOptions(disk));
    for (int i = 0; i < n; ++i) {
        put == Put::kDurable ? putDurable(*log.journal, bodyNumber(i))
                             : putWritten(*log.journal, bodyNumber(i));
    }
    Files files = readAll(disk);
    disk.crash();
    return files;
}

TEST(LogScan, LogThatEndsAnywhereIsCutAtABlock) {
    Files files = makeLog(8, Put::kWritten);
    std::string& segment = files["j.00000000"];
    const std::string whole = segment;
    auto blocks = blocksOf(whole);
    ASSERT_GE(blocks.size(), 9u);
    uint64_t end = blocks.back().first + kBlockAlign;
    // The era's first block is durable.
    for (uint64_t cut = blocks[1].first; cut <= end; cut += kSector) {
        SCOPED_TRACE("cut at " + std::to_string(cut));
        size_t kept = 0;  // a record is complete with the block that holds its last fragment
        for (size_t b = 1; b < blocks.size(); ++b) {
            if (blocks[b].first + blocks[b].second.fill > cut) {
                break;
            }
            const ByteView block = ByteView(whole).substr(blocks[b].first, blocks[b].second.fill);
            for (uint32_t at = sizeof(BlockHeader); at < block.size();) {
                const auto frag = static_cast<Fragment>(recordAt(block, at, &at).header.frag);
                kept += frag == Fragment::kFull || frag == Fragment::kLast ? 1 : 0;
            }
        }
        segment = whole.substr(0, cut);
        Opened shorter = openCopy(files);
        ASSERT_TRUE(shorter.status.isOk()) << shorter.status.toString();
        EXPECT_EQ(bodiesOf(shorter.records), firstBodies(kept));

        segment.resize(whole.size(), '\0');
        Opened zeroed = openCopy(files);
        ASSERT_TRUE(zeroed.status.isOk()) << zeroed.status.toString();
        EXPECT_EQ(bodiesOf(zeroed.records), firstBodies(kept));
    }
}

TEST(LogScan, LogGoesOnAfterACut) {
    Files files = makeLog(4, Put::kWritten);
    auto blocks = blocksOf(files["j.00000000"]);
    for (uint64_t cut : {blocks[4].first, blocks[4].first + kSector, blocks[4].first + 1}) {
        MemoryFileSystem disk;
        Files torn = files;
        torn["j.00000000"].replace(cut, kBlockAlign, kBlockAlign, '\0');
        writeAll(disk, torn);
        std::vector<std::string> expected;
        for (int round = 0; round < 3; ++round) {
            Opened log = openLog(smallOptions(disk));
            ASSERT_TRUE(log.status.isOk()) << log.status.toString();
            if (round > 0) {
                EXPECT_EQ(bodiesOf(log.records), expected);
            }
            expected = bodiesOf(log.records);
            EXPECT_FALSE(expected.empty());
            expected.push_back("after the cut " + std::to_string(round));
            putDurable(*log.journal, expected.back());
            disk.crash();
        }
    }
}

TEST(LogScan, DamageBeforeTheDurableEndIsRefusedWithItsPlace) {
    uint64_t seed = testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Files files = makeLog(10, Put::kDurable);
    const std::string& whole = files.at("j.00000000");
    auto blocks = blocksOf(whole);
    ASSERT_GE(blocks.size(), 11u);
    for (size_t b = 0; b < blocks.size(); ++b) {
        // No block behind the last one says that it is durable, but the witness does.
        auto [offset, header] = blocks[b];
        for (int i = 0; i < 16; ++i) {
            // Somewhere in the header or in a record; zeros behind a record's end are not checked.
            uint64_t at = i % 2 == 0 ? random() % sizeof(BlockHeader)
                                     : sizeof(BlockHeader) + random() % sizeof(RecordHeader);
            SCOPED_TRACE("block " + std::to_string(b) + " byte " + std::to_string(at));
            Files damaged = files;
            damaged["j.00000000"][offset + at] ^= static_cast<char>(1u << random() % 8);
            Opened log = openCopy(damaged);
            ASSERT_EQ(log.status.code(), Code::kCorruption) << log.status.toString();
            EXPECT_NE(log.status.text().find("/journal/j.00000000 at offset " +
                                             std::to_string(offset) + ":"),
                      std::string::npos)
                << log.status.toString();
        }
    }
}

TEST(LogScan, DamageThatACheckpointCoversIsSkipped) {
    uint64_t seed = testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Files files = makeLog(10, Put::kDurable);
    const auto blocks = blocksOf(files.at("j.00000000"));
    ASSERT_GE(blocks.size(), 11u);
    for (size_t redo = 3; redo < blocks.size(); ++redo) {
        for (size_t b = 1; b < blocks.size(); ++b) {
            SCOPED_TRACE("redo at block " + std::to_string(redo) + ", damage in " +
                         std::to_string(b));
            MemoryFileSystem disk;
            Files damaged = files;
            const uint64_t at = blocks[b].first + random() % (sizeof(BlockHeader) + 32);
            damaged["j.00000000"][at] ^= 0x10;
            writeAll(disk, damaged);
            Options options = smallOptions(disk);
            options.redoLsn = slotStart(blocks[redo].second.slotNo);
            const Opened log = openLog(options);
            if (b >= redo) {
                ASSERT_EQ(log.status.code(), Code::kCorruption) << log.status.toString();
                continue;
            }
            // The first block is the era's own; each of the others has a record.
            ASSERT_TRUE(log.status.isOk()) << log.status.toString();
            const std::vector<std::string> all = firstBodies(10);
            EXPECT_EQ(bodiesOf(log.records),
                      std::vector<std::string>(all.begin() + static_cast<ptrdiff_t>(redo) - 1,
                                               all.end()));
        }
    }
}

TEST(LogScan, DamageInWhatWasNeverFlushedIsCutOff) {
    uint64_t seed = testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Files files = makeLog(5, Put::kWritten);
    auto blocks = blocksOf(files.at("j.00000000"));
    for (size_t b = 1; b < blocks.size(); ++b) {
        auto [offset, header] = blocks[b];
        for (int i = 0; i < 8; ++i) {
            Files damaged = files;
            damaged["j.00000000"][offset + random() % (sizeof(BlockHeader) + 32)] ^= 0x10;
            Opened log = openCopy(damaged);
            ASSERT_TRUE(log.status.isOk()) << log.status.toString();
            auto bodies = bodiesOf(log.records);
            EXPECT_EQ(bodies, firstBodies(bodies.size()));
            EXPECT_LT(bodies.size(), 5u);
        }
    }
}

/// Most of all the last one: no block behind it says that it was durable, so it would be taken for
/// a torn tail and the log would continue over it.
TEST(LogScan, ABlockThatIsReadWrongOnceIsReadAgain) {
    const Files files = makeLog(8, Put::kDurable);
    const auto blocks = blocksOf(files.at("j.00000000"));
    ASSERT_GE(blocks.size(), 9u);
    for (const auto& [offset, header] : blocks) {
        for (const uint64_t at :
             {offset + offsetof(BlockHeader, slotNo), offset + header.fill - 1}) {
            SCOPED_TRACE("byte " + std::to_string(at));
            MemoryFileSystem disk;
            testing::MisreadingFileSystem misread(disk);
            writeAll(disk, files);
            misread.misread(pathOf("j.00000000"), at, 1);
            std::vector<std::string> expected = firstBodies(8);
            for (int round = 0; round < 2; ++round) {
                Opened log = openLog(smallOptions(misread));
                ASSERT_TRUE(log.status.isOk()) << log.status.toString();
                EXPECT_EQ(misread.misreadings(), 1u);
                ASSERT_EQ(bodiesOf(log.records), expected);
                expected.push_back("behind it");
                putDurable(*log.journal, expected.back());
                disk.crash();
            }
        }
    }
}

TEST(LogScan, CleanCloseProvesEverythingDurable) {
    MemoryFileSystem disk;
    {
        Opened log = openLog(smallOptions(disk));
        AppendOp op(RecordType::kCommit, 1, "never waited for");
        ASSERT_TRUE(log.journal->append(op).isOk());
        ASSERT_TRUE(log.journal->close().isOk());
    }
    Files files = readAll(disk);
    auto blocks = blocksOf(files["j.00000000"]);
    ASSERT_EQ(blocks.size(), 3u);
    files["j.00000000"][blocks[1].first + 150] ^= 1;
    EXPECT_EQ(openCopy(files).status.code(), Code::kCorruption);
}

/// With `bytes` small the blocks share pages.
class StaleBlocks : public ::testing::TestWithParam<size_t> {};

TEST_P(StaleBlocks, OfAnOlderEraNeverComeBack) {
    // Six blocks, none flushed; the fourth is torn.
    MemoryFileSystem disk;
    auto old = [](int i) { return "old " + std::to_string(i) + std::string(GetParam(), '.'); };
    {
        Opened log = openLog(smallOptions(disk));
        for (int i = 0; i < 6; ++i) {
            putWritten(*log.journal, old(i));
        }
        Files files = readAll(disk);
        disk.crash();
        auto blocks = blocksOf(files["j.00000000"]);
        ASSERT_EQ(blocks.size(), 7u);
        files["j.00000000"][blocks[4].first + 140] ^= 1;
        writeAll(disk, files);
    }
    std::vector<std::string> expected = {old(0), old(1), old(2)};
    for (int i = 0; i < 5; ++i) {
        // Each turn overwrites one or two stale blocks and leaves the others behind the end.
        Opened log = openLog(smallOptions(disk));
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        EXPECT_EQ(bodiesOf(log.records), expected);
        if (i % 2 == 1) {
            expected.push_back("new " + std::to_string(i));
            putDurable(*log.journal, expected.back());
        }
        disk.crash();
    }
}

INSTANTIATE_TEST_SUITE_P(Bytes, StaleBlocks, ::testing::Values(1, 700, 980));

TEST(LogScan, BlocksShareAPageUntilItIsFlushed) {
    MemoryFileSystem disk;
    Opened log = openLog(smallOptions(disk));
    std::vector<std::string> expected;
    std::vector<size_t> pages;  // of each block behind the era's first
    for (int i = 0; i < 30; ++i) {
        expected.push_back(bodyNumber(i).substr(0, 100));
        bool flush = i == 9 || i == 19;
        flush ? putDurable(*log.journal, expected.back())
              : putWritten(*log.journal, expected.back());
    }
    Files files = readAll(disk);
    disk.crash();
    auto blocks = blocksOf(files["j.00000000"]);
    ASSERT_EQ(blocks.size(), 31u);
    for (size_t b = 1; b < blocks.size(); ++b) {
        pages.push_back(blocks[b].first / kBlockAlign);
    }
    // A page each for 0 to 9, 10 to 19 and 20 to 29: a flush, or a higher durable position, begins
    // another.
    for (size_t b = 0; b < pages.size(); ++b) {
        EXPECT_EQ(pages[b], 1 + b / 10) << b;
    }
    Opened again = openCopy(files);
    ASSERT_TRUE(again.status.isOk()) << again.status.toString();
    EXPECT_EQ(bodiesOf(again.records), expected);
    // Damage in a block that shares its page with the next one is detected and located.
    files["j.00000000"][blocks[5].first + 140] ^= 1;
    Opened damaged = openCopy(files);
    EXPECT_EQ(damaged.status.code(), Code::kCorruption);
    EXPECT_NE(damaged.status.text().find("at offset " + std::to_string(blocks[5].first) + ":"),
              std::string::npos)
        << damaged.status.toString();
}

TEST(LogScan, NoPageIsWrittenAgainOnceItIsDurable) {
    uint64_t seed = testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    MemoryFileSystem memory;
    testing::TraceRecorder disk(memory);
    std::vector<size_t> flushed;  // positions in the trace
    for (int start = 0; start < 3; ++start) {
        Opened log = openLog(smallOptions(disk));
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        flushed.push_back(disk.position());
        for (int i = 0; i < 60; ++i) {
            std::string body(random() % 600, 'x');
            if (random() % 5 == 0) {
                putDurable(*log.journal, body);
                flushed.push_back(disk.position());
            } else {
                putWritten(*log.journal, body);
            }
        }
    }
    using Page = std::pair<uint32_t, uint64_t>;
    std::set<Page> written, durable;
    std::set<uint32_t> others;  // no segments
    size_t shared = 0;
    auto nextFlush = flushed.begin();
    const testing::Trace trace = disk.trace();
    for (size_t i = 0; i < trace.size(); ++i) {
        for (; nextFlush != flushed.end() && *nextFlush <= i; ++nextFlush) {
            durable = written;
        }
        const testing::TraceOp& op = trace[i];
        if (op.kind == testing::TraceOp::Kind::kCreate && op.path == pathOf(kWitnessName)) {
            others.insert(op.file);
        }
        if (op.kind != testing::TraceOp::Kind::kWrite || others.contains(op.file) ||
            op.data.find_first_not_of('\0') == std::string::npos) {
            continue;
        }
        for (uint64_t page = op.offset / kBlockAlign;
             page * kBlockAlign < op.offset + op.data.size();
             ++page) {
            EXPECT_FALSE(durable.contains({op.file, page})) << "page " << page;
            shared += written.insert({op.file, page}).second ? 0 : 1;
        }
    }
    EXPECT_GT(shared, 20u);
}

TEST(LogScan, SectorLeftOverFromAnOlderBlockIsNotTakenForARecord) {
    // Two blocks of the same shape at one place, as a recycled or cut segment can have them: the
    // newer block's second sector never reached the disk. The record there is whole, but belongs to
    // the older block.
    auto logWith = [](const std::string& second) {
        MemoryFileSystem disk;
        Opened log = openLog(smallOptions(disk));
        AppendOp a(RecordType::kCommit, 1, std::string(kSector - sizeof(BlockHeader) - 32, 'a'));
        AppendOp b(RecordType::kCommit, 1, second);
        invariant(log.journal->append(a).isOk() && log.journal->append(b).isOk());
        invariant(waitWritten(*log.journal, b.lsn()).isOk());
        Files files = readAll(disk);
        disk.crash();
        return files;
    };
    Files older = logWith("older");
    Files newer = logWith("newer");
    uint64_t sector = blocksOf(newer["j.00000000"])[1].first + kSector;
    newer["j.00000000"].replace(sector, kSector, older["j.00000000"].substr(sector, kSector));
    Opened log = openCopy(newer);
    ASSERT_TRUE(log.status.isOk()) << log.status.toString();
    EXPECT_TRUE(log.records.empty());
}

TEST(LogScan, UnendedFragmentsAreDropped) {
    MemoryFileSystem disk;
    {
        Opened log = openLog(smallOptions(disk));
        putDurable(*log.journal, "before");
        putWritten(*log.journal, std::string(20'000, 'l'));
        Files files = readAll(disk);
        disk.crash();
        auto blocks = blocksOf(files["j.00000000"]);
        ASSERT_GE(blocks.size(), 6u);
        files["j.00000000"].replace(blocks.back().first, kBlockAlign, kBlockAlign, '\0');
        writeAll(disk, files);
    }
    // Twice: the new era's blocks follow the unended fragments.
    for (const auto& expected : {std::vector<std::string>{"before"}, {"before", "after"}}) {
        Opened log = openLog(smallOptions(disk));
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        EXPECT_EQ(bodiesOf(log.records), expected);
        putDurable(*log.journal, "after");
        disk.crash();
    }
}

/// A log over several segments.
Files makeLongLog(size_t* records) {
    MemoryFileSystem disk;
    Opened log = openLog(smallOptions(disk));
    *records = 0;
    while (log.journal->stats().segments < 5) {
        putDurable(*log.journal, std::to_string((*records)++));
    }
    invariant(log.journal->close().isOk());
    return readAll(disk);
}

TEST(LogScan, MissingSegmentIsRefused) {
    size_t records = 0;
    const Files files = makeLongLog(&records);
    EXPECT_EQ(openCopy(files).records.size(), records);
    for (const char* name : {"j.00000000", "j.00000001", "j.00000002"}) {
        Files fewer = files;
        ASSERT_EQ(fewer.erase(name), 1u);
        EXPECT_EQ(openCopy(fewer).status.code(), Code::kCorruption) << name;
    }
}

TEST(LogScan, DamageAtASegmentsStartIsPlacedThere) {
    size_t records = 0;
    Files files = makeLongLog(&records);
    files["j.00000001"][5] ^= 1;
    Opened log = openCopy(files);
    ASSERT_EQ(log.status.code(), Code::kCorruption);
    EXPECT_NE(log.status.text().find("j.00000001 at offset 0:"), std::string::npos)
        << log.status.toString();
}

TEST(LogScan, ForeignFilesAreRefusedAndOthersLeftAlone) {
    Files files = makeLog(2, Put::kDurable);
    files["notes.txt"] = "not a segment";
    files["j.0000000"] = "nor this";
    EXPECT_EQ(openCopy(files).records.size(), 2u);

    MemoryFileSystem disk;
    writeAll(disk, files);
    Options options = smallOptions(disk);
    options.dbUuid[0] = 'X';
    Opened log = openLog(options);
    EXPECT_EQ(log.status.code(), Code::kCorruption);
    EXPECT_NE(log.status.text().find("another data directory"), std::string::npos);
}

TEST(LogScan, NewerFormatIsNamed) {
    Files files = makeLog(2, Put::kDurable);
    std::string& segment = files["j.00000000"];
    auto header = loadLe<BlockHeader>(segment.data());
    header.formatVer = kBlockFormat + 1;
    header.headerCrc = crc32c(&header, offsetof(BlockHeader, headerCrc));
    storeLe(segment.data(), header);
    Opened log = openCopy(files);
    EXPECT_EQ(log.status.code(), Code::kUnsupported);
    EXPECT_NE(log.status.text().find("newer"), std::string::npos);
}

TEST(LogScan, WhatAStartHasReplayedIsDurable) {
    // Written but never flushed, since every flush fails: the process has died, not the machine.
    MemoryFileSystem disk;
    testing::FaultPlan plan(1);
    testing::FaultyFileSystem broken(disk, plan);
    std::vector<std::string> expected;
    {
        Opened log = openLog(smallOptions(broken));
        plan.add({.path = "*/j.*", .op = testing::FileOp::kSync, .times = testing::kEver});
        while (log.journal->stats().retainedBytes == 0) {  // into the second segment
            expected.push_back(std::to_string(expected.size()));
            putWritten(*log.journal, expected.back());
        }
        EXPECT_EQ(log.journal->close().code(), Code::kIo);
    }
    EXPECT_EQ(bodiesOf(openLog(smallOptions(disk)).records), expected);
    disk.crash();
    EXPECT_EQ(bodiesOf(openLog(smallOptions(disk)).records), expected);
}

TEST(LogScan, PowerCutsAtRandomKeepAllThatWasAcknowledged) {
    uint64_t seed = testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    MemoryFileSystem disk;
    std::vector<std::string> log;  // expected records, in order; grows from round to round
    int number = 0;
    for (int round = 0; round < 60; ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        Options options = smallOptions(disk);
        Opened opened = openLog(options);
        ASSERT_TRUE(opened.status.isOk()) << opened.status.toString();
        // All that was acknowledged, then possibly more of what was appended after it, in order.
        auto found = bodiesOf(opened.records);
        ASSERT_GE(found.size(), log.size());
        for (size_t i = 0; i < log.size(); ++i) {
            ASSERT_EQ(found[i], log[i]);
        }
        for (size_t i = std::max<size_t>(log.size(), 1); i < found.size(); ++i) {
            ASSERT_LT(std::stoi(found[i - 1]), std::stoi(found[i]));
        }
        log = found;
        std::vector<std::string> pending;
        for (int i = static_cast<int>(random() % 30); i > 0; --i) {
            std::string body = std::to_string(number++) + std::string(random() % 3000, 'x');
            AppendOp op(RecordType::kCommit, 1, body);
            ASSERT_TRUE(appendWaiting(*opened.journal, op).isOk());
            pending.push_back(body);
            if (random() % 4 == 0) {
                ASSERT_TRUE(waitWritten(*opened.journal, op.lsn()).isOk());
            }
            if (random() % 6 == 0) {
                ASSERT_TRUE(waitDurable(*opened.journal, op.lsn()).isOk());
                log.insert(log.end(), pending.begin(), pending.end());
                pending.clear();
            }
        }
        disk.crashKeepingSome(random());
    }
}

}  // namespace
}  // namespace freshet::journal
