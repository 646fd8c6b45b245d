// SPDX-License-Identifier: Apache-2.0
/// What the witness detects: a log that lost its end is refused, with its place; a log that only a
/// crash has torn is not.
#include "freshet/journal/file/framing.h"
#include "freshet/journal/file/ring_format.h"
#include "freshet/journal/file/segment.h"
#include "freshet/journal/file/test_support.h"
#include "freshet/journal/file/witness_format.h"
#include "freshet/platform/folder_for_test.h"
#include "freshet/testing/sim/faulty_file_system.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/testing/sim/passing_file_system.h"
#include "freshet/testing/sim/seed.h"
#include "freshet/testing/sim/sim_file_system.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace freshet::journal {
namespace {

namespace fs = std::filesystem;
using testing::MemoryFileSystem;

constexpr const char* kSegment = "/journal/j.00000000";
constexpr const char* kWitness = "/journal/durable";

std::string contentOf(MemoryFileSystem& disk, const std::string& path) {
    auto file = disk.open(path, platform::OpenMode::kRead);
    invariant(file.isOk());
    std::string bytes(*(*file)->size(), '\0');
    invariant((*file)->pread(bytes.data(), bytes.size(), 0).isOk());
    return bytes;
}

/// The file offset behind the last block.
uint64_t endOf(const std::string& segment) {
    uint64_t end = 0;
    BlockHeader header;
    for (uint64_t at = 0; at + sizeof(header) <= segment.size(); at += kUnitBytes) {
        end = readHeader(segment.data() + at, &header) ? at + header.fill : end;
    }
    return end;
}

void expectRefused(const Opened& log, const std::string& place) {
    ASSERT_EQ(log.status.code(), Code::kCorruption) << log.status.toString();
    EXPECT_NE(log.status.text().find(place), std::string::npos) << log.status.toString();
}

/// Stops the journal; the disk keeps what was written to it, flushed or not.
void killProcess(MemoryFileSystem& disk, Opened* log) {
    std::map<std::string, std::string> files;
    const auto names = disk.list("/journal");
    invariant(names.isOk());
    for (const std::string& name : *names) {
        if (segmentIndex(name) || name == kWitnessName) {
            files[name] = contentOf(disk, "/journal/" + name);
        }
    }
    disk.crash();
    log->journal.reset();
    for (const auto& [name, bytes] : files) {
        disk.put("/journal/" + name, bytes);
    }
}

/// A log of ten durable records whose process was killed; `tamper` takes something from it.
template <typename Tamper>
void makeAndTamper(MemoryFileSystem& disk, Tamper&& tamper) {
    Opened log = openLog(smallOptions(disk));
    ASSERT_TRUE(log.status.isOk()) << log.status.toString();
    EXPECT_FALSE(log.journal->wasCutOff());
    for (int i = 0; i < 10; ++i) {
        putDurable(*log.journal, "record " + std::to_string(i) + std::string(700, '.'));
    }
    killProcess(disk, &log);
    tamper();
}

/// Refused; then repaired, and whole again.
void expectRepairable(MemoryFileSystem& disk, const std::string& place, size_t least) {
    expectRefused(openLog(smallOptions(disk)), place);
    expectRefused(openLog(smallOptions(disk)), place);  // nothing was changed by that
    Options options = smallOptions(disk);
    options.repair = true;
    Lsn first = 0;
    std::vector<std::string> expected;
    {
        Opened repaired = openLog(options);
        ASSERT_TRUE(repaired.status.isOk()) << repaired.status.toString();
        EXPECT_EQ(repaired.journal->losses().size(), 1u);
        EXPECT_GE(repaired.records.size(), least);
        expected = bodiesOf(repaired.records);
        first = putDurable(*repaired.journal, "behind it");
        expected.push_back("behind it");
        killProcess(disk, &repaired);
    }
    EXPECT_GT(slotOf(first), 12u);  // above everything that may have been seen
    Opened again = openLog(smallOptions(disk));
    ASSERT_TRUE(again.status.isOk()) << again.status.toString();
    EXPECT_EQ(bodiesOf(again.records), expected);
    EXPECT_TRUE(again.journal->wasCutOff());
}

TEST(Witness, ALogThatLostItsEndIsRefused) {
    for (const bool zeroed : {false, true}) {
        for (uint64_t cut = 0;; cut += 3 * 512) {
            SCOPED_TRACE(std::to_string(cut) + (zeroed ? " zeroed" : " cut"));
            MemoryFileSystem disk;
            bool isAll = false;
            makeAndTamper(disk, [&] {
                const std::string whole = contentOf(disk, kSegment);
                isAll = cut >= endOf(whole);
                std::string rest = whole.substr(0, cut);
                rest.resize(zeroed ? whole.size() : rest.size(), '\0');
                disk.put(kSegment, rest);
            });
            if (isAll) {
                EXPECT_EQ(openLog(smallOptions(disk)).records.size(), 10u);
                break;
            }
            expectRepairable(disk, std::string(kSegment) + " at offset ", 0);
        }
    }
}

TEST(Witness, AMissingLogIsRefused) {
    MemoryFileSystem disk;
    makeAndTamper(disk, [&] {
        const auto names = disk.list("/journal");
        ASSERT_TRUE(names.isOk());
        for (const std::string& name : *names) {
            if (segmentIndex(name)) {
                ASSERT_TRUE(disk.remove("/journal/" + name).isOk());
            }
        }
    });
    expectRepairable(disk, "/journal: the log ends here", 0);
}

TEST(Witness, AMissingOrDamagedWitnessIsNoticedUnlessTheLogWasClosed) {
    const std::map<std::string, std::function<void(MemoryFileSystem&)>> ways = {
        {"is missing", [](auto& disk) { ASSERT_TRUE(disk.remove(kWitness).isOk()); }},
        {"at offset 0 is cut", [](auto& disk) { disk.put(kWitness, ""); }},
        {"at offset 0 is cut or", [](auto& disk) { disk.damage(kWitness, 20); }},
        {"at offset 64 is damaged", [](auto& disk) {
             disk.damage(kWitness, kWitnessDurable + 3);
             disk.damage(kWitness, kWitnessTwin + 3);
         }}};
    for (const auto& [what, tamper] : ways) {
        SCOPED_TRACE(what);
        MemoryFileSystem disk;
        makeAndTamper(disk, [&disk, &tamper = tamper] { tamper(disk); });
        expectRepairable(disk, std::string(kWitness) + " " + what, 10);
        ASSERT_TRUE(openLog(smallOptions(disk)).journal->close().isOk());
        tamper(disk);
        Opened closed = openLog(smallOptions(disk));
        ASSERT_TRUE(closed.status.isOk()) << closed.status.toString();
        EXPECT_EQ(closed.records.size(), 11u);
        EXPECT_FALSE(closed.journal->wasCutOff());
    }
}

/// Words written by system calls alternate.
TEST(Witness, AWordThatAPowerCutHasTornLeavesTheOneBeforeIt) {
    for (const size_t torn : {kWitnessDurable, kWitnessTwin}) {
        MemoryFileSystem disk;
        makeAndTamper(disk, [&] { disk.damage(kWitness, torn + 3); });
        Opened log = openLog(smallOptions(disk));
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        EXPECT_EQ(log.records.size(), 10u);
    }
}

/// The system copies a word in pieces, and any sector may reach the disk between two pieces.
TEST(Witness, WordsThatAreWrittenInPiecesAreNeverBothTorn) {
    constexpr int kRuns = 400;
    const uint64_t seed = testing::testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    for (int run = 0; run < kRuns; ++run) {
        SCOPED_TRACE(run);
        MemoryFileSystem disk;
        {
            testing::SimFileSystem leaking(disk);
            leaking.leak(0.5, seed + run);
            testing::FaultPlan plan(seed + run);
            plan.add({.path = "*/durable",
                      .kind = testing::FaultKind::kSplitWrite,
                      .chance = 1,
                      .times = testing::kEver});
            testing::FaultyFileSystem faulty(leaking, plan);
            Opened log = openLog(smallOptions(faulty));
            ASSERT_TRUE(log.status.isOk()) << log.status.toString();
            for (int i = 0; i < 8; ++i) {
                putDurable(*log.journal, "record");
            }
            killProcess(disk, &log);
        }
        Opened log = openLog(smallOptions(disk));
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        ASSERT_EQ(log.records.size(), 8u);
    }
}

/// As when a crash came before the new start's witness reached the disk, or an older file was
/// restored.
TEST(Witness, AnOlderOneHarmsNothing) {
    MemoryFileSystem disk;
    makeAndTamper(disk, [] {});
    const std::string before = contentOf(disk, kWitness);
    for (int start = 0; start < 2; ++start) {
        Opened log = openLog(smallOptions(disk));
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        EXPECT_EQ(log.records.size(), 10u + start);
        putDurable(*log.journal, "more");
        killProcess(disk, &log);
        disk.put(kWitness, before);
    }
}

/// On a real disk, where the witness is mapped and the ring a file.
class SharedWitness : public ::testing::Test {
protected:
    void SetUp() override {
        if (!platform::FileSystem::posix().sharesIn(root_)) {
            GTEST_SKIP() << "this file system shares no memory: " << root_;
        }
    }
    Options options(const fs::path& folder) const {
        Options options = smallOptions(platform::FileSystem::posix());
        options.directory = folder;
        return options;
    }
    /// As a process that was killed while idle would leave it.
    fs::path killed(const fs::path& folder) {
        const fs::path to = root_ / ("killed" + std::to_string(++copies_));
        fs::create_directory(to);
        for (const char* first : {kWitnessName, kRingName}) {
            fs::copy(folder / first, to);
        }
        for (const auto& entry : fs::directory_iterator(folder)) {
            if (segmentIndex(entry.path().filename())) {
                fs::copy(entry.path(), to);
            }
        }
        return to;
    }

    const platform::FolderForTest folder_;
    const fs::path root_ = folder_.path();
    int copies_ = 0;
};

TEST_F(SharedWitness, RecordsWrittenSinceTheSystemStartedMustExist) {
    if (platform::FileSystem::posix().bootNumber() == 0) {
        GTEST_SKIP() << "the system has no name for this run of it";
    }
    const fs::path folder = root_ / "log";
    Opened log = openLog(options(folder));
    // The ring holds four slots of 4 KiB; what has left it was written, and not flushed.
    constexpr size_t kRecords = 40;
    for (size_t i = 0; i < kRecords; ++i) {
        AppendOp op(RecordType::kCommit, 1, std::string(700, 'w'));
        ASSERT_TRUE(appendWaiting(*log.journal, op).isOk());
    }
    ASSERT_EQ(log.journal->stats().flushes, 0u);
    EXPECT_EQ(openLog(options(killed(folder))).records.size(), kRecords);
    const fs::path cut = killed(folder);
    const uint64_t third = fs::file_size(cut / "j.00000000") / 4;
    fs::resize_file(cut / "j.00000000", third / kBlockAlign * kBlockAlign / 2);
    expectRefused(openLog(options(cut)), "j.00000000 at offset ");
    // The same after the machine has gone down is an honest end.
    const fs::path rebooted = killed(folder);
    fs::resize_file(rebooted / "j.00000000", third / kBlockAlign * kBlockAlign / 2);
    class Rebooted final : public testing::PassingFileSystem {
    public:
        using PassingFileSystem::PassingFileSystem;
    } system(platform::FileSystem::posix());
    Options after = options(rebooted);
    after.files = &system;
    Opened again = openLog(after);
    ASSERT_TRUE(again.status.isOk()) << again.status.toString();
    EXPECT_LT(again.records.size(), kRecords);
}

TEST_F(SharedWitness, AMissingOrCutRingIsNoticedUnlessTheLogWasClosed) {
    const fs::path folder = root_ / "log";
    Opened log = openLog(options(folder));
    putDurable(*log.journal, "durable");
    AppendOp op(RecordType::kCommit, 1, "in the ring");
    ASSERT_TRUE(appendWaiting(*log.journal, op).isOk());
    const fs::path whole = killed(folder);
    ASSERT_TRUE(log.journal->close().isOk());
    for (const char* way : {"gone", "cut", "emptied"}) {
        SCOPED_TRACE(way);
        for (const bool closed : {false, true}) {
            const fs::path copy = killed(closed ? folder : whole);
            const fs::path ring = copy / kRingName;
            way == std::string("gone") ? static_cast<void>(fs::remove(ring))
                                       : fs::resize_file(ring, *way == 'c' ? 20'000 : 0);
            Opened again = openLog(options(copy));
            if (closed) {
                ASSERT_TRUE(again.status.isOk()) << again.status.toString();
                EXPECT_EQ(again.records.size(), 2u);
            } else {
                expectRefused(again, ring.string());
            }
        }
    }
}

}  // namespace
}  // namespace freshet::journal
