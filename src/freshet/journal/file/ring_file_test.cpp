// SPDX-License-Identifier: Apache-2.0
/// The ring's file on a real disk. A killed process is modelled by a copy of its directory, taken
/// while no thread appends: the copy has what the system's cache held, and nothing is flushed for
/// it.
#include "freshet/journal/file/ring_file.h"

#include "freshet/journal/file/framing.h"
#include "freshet/journal/file/ring_format.h"
#include "freshet/journal/file/segment.h"
#include "freshet/journal/file/test_support.h"
#include "freshet/journal/file/witness_format.h"
#include "freshet/platform/folder_for_test.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

namespace freshet::journal {
namespace {

namespace fs = std::filesystem;

std::string ringOf(const fs::path& directory) {
    return directory / kRingName;
}

uint64_t loadAt(const std::string& path, uint64_t offset) {
    std::ifstream file(path, std::ios::binary);
    char bytes[sizeof(uint64_t)] = {};
    file.seekg(static_cast<std::streamoff>(offset)).read(bytes, sizeof(bytes));
    return loadLe<uint64_t>(bytes);
}

void storeAt(const std::string& path, uint64_t offset, uint64_t value) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    char bytes[sizeof(value)];
    storeLe(bytes, value);
    file.seekp(static_cast<std::streamoff>(offset)).write(bytes, sizeof(bytes));
}

class RingFileTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!platform::FileSystem::posix().sharesIn(root_)) {
            GTEST_SKIP() << "this file system shares no memory: " << root_;
        }
    }

    Options options(const std::string& name) const {
        Options options = smallOptions(platform::FileSystem::posix());
        options.directory = root_ / name;
        return options;
    }
    RingLayout layout() const { return {options("").slots, options("").slotBytes / kUnitBytes}; }
    /// What a killed process leaves. The witness is copied first, then the ring, because what has
    /// left the ring is in a segment by then.
    Options killed(const std::string& name, const std::string& as) const {
        const fs::path from = root_ / name;
        const fs::path to = root_ / as;
        fs::create_directory(to);
        fs::copy(from / kWitnessName, to);
        fs::copy(ringOf(from), to);
        for (const auto& entry : fs::directory_iterator(from)) {
            if (segmentIndex(entry.path().filename())) {
                fs::copy(entry.path(), to);
            }
        }
        return options(as);
    }
    /// Appended, in order.
    std::vector<Replayed> append(Journal& journal, const std::vector<size_t>& sizes) {
        std::vector<Replayed> appended;
        for (const size_t size : sizes) {
            std::string body = std::to_string(++count_) + ":" + std::string(size, 'b');
            AppendOp op(RecordType::kCommit, 7, body);
            EXPECT_TRUE(appendWaiting(journal, op).isOk());
            appended.push_back({op.lsn(), RecordType::kCommit, 7, op.timestamp(), body});
        }
        return appended;
    }
    static void expectEqual(const std::vector<Replayed>& got, const std::vector<Replayed>& wanted) {
        ASSERT_EQ(got.size(), wanted.size());
        for (size_t i = 0; i < wanted.size(); ++i) {
            EXPECT_EQ(got[i].body, wanted[i].body) << i;
            EXPECT_EQ(got[i].lsn, wanted[i].lsn) << i;
            EXPECT_EQ(got[i].timestamp, wanted[i].timestamp) << i;
        }
    }

    const platform::FolderForTest folder_;
    const fs::path root_ = folder_.path();
    uint64_t count_ = 0;
};

TEST_F(RingFileTest, AKilledProcessLosesNothingThatWasAppended) {
    const uint64_t seed = testing::testSeed();
    std::mt19937_64 random(seed);
    for (int round = 0; round < 30; ++round) {
        const std::string name = "log" + std::to_string(round);
        std::vector<size_t> sizes(random() % 60);
        for (size_t& size : sizes) {
            size = random() % 8 == 0 ? random() % 9'000 : random() % 300;  // some in fragments
        }
        Opened log = openLog(options(name));
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        std::vector<Replayed> all = append(*log.journal, sizes);

        Opened again = openLog(killed(name, name + "-killed"));
        ASSERT_TRUE(again.status.isOk()) << again.status.toString();
        expectEqual(again.records, all);
        // It continues, is killed once more, and then closed.
        const std::vector<Replayed> more = append(*again.journal, {10, 2'000, 10});
        all.insert(all.end(), more.begin(), more.end());
        Opened third = openLog(killed(name + "-killed", name + "-again"));
        expectEqual(third.records, all);
        ASSERT_TRUE(third.journal->close().isOk());
        expectEqual(openLog(options(name + "-again")).records, all);
    }
}

TEST_F(RingFileTest, WrittenIsWhatWasAppended) {
    Opened log = openLog(options("log"));
    const std::vector<Replayed> appended = append(*log.journal, {10, 20, 3'000});
    const uint64_t blocks = log.journal->stats().slotsWritten;
    sync::WaitToken token;
    EXPECT_TRUE(log.journal->written(appended.back().lsn, &token).isOk());
    EXPECT_EQ(log.journal->stats().slotsWritten, blocks);  // and no caller had to write for it
    expectEqual(openLog(killed("log", "killed")).records, appended);
}

TEST_F(RingFileTest, WhatIsNotCompleteEndsTheLog) {
    Opened log = openLog(options("log"));
    const std::vector<Replayed> all = append(*log.journal, {10, 10, 10});
    const uint64_t slot = slotOf(all[1].lsn);
    const uint64_t bytes = all[1].lsn & ((1u << kLsnOffsetBits) - 1);
    const std::vector<Replayed> first(all.begin(), all.begin() + 1);

    const Options damaged = killed("log", "damaged");
    storeAt(ringOf(damaged.directory), layout().bufferOf(slot % damaged.slots) + bytes + 40, 0);
    expectEqual(openLog(damaged).records, first);
    // The joiner had not finished, whatever the bytes look like.
    const Options unmarked = killed("log", "unmarked");
    const uint64_t mark =
        layout().marksOf(slot % unmarked.slots) + bytes / kUnitBytes * sizeof(uint64_t);
    ASSERT_EQ(loadAt(ringOf(unmarked.directory), mark), slot);
    storeAt(ringOf(unmarked.directory), mark, slot - unmarked.slots);
    expectEqual(openLog(unmarked).records, first);
}

/// The state of the file's pages on the disk without a flush: one slot's may be older than the
/// next's.
TEST_F(RingFileTest, NoSlotFollowsOneThatIsNotWhole) {
    Options small = options("log");
    Opened log = openLog(small);
    // Slots are written only for a caller that wants that, so three of them wait in the ring.
    std::vector<Replayed> all;
    std::vector<Replayed> inFirst;
    do {
        const auto one = append(*log.journal, {700});
        all.insert(all.end(), one.begin(), one.end());
        if (slotOf(one[0].lsn) == slotOf(all[0].lsn)) {
            inFirst = all;
        }
    } while (slotOf(all.back().lsn) < slotOf(all[0].lsn) + 2);
    const Options torn = killed("log", "torn");
    const uint64_t end =
        layout().marksOf(slotOf(all[0].lsn) % torn.slots) + kEndMark * sizeof(uint64_t);
    storeAt(ringOf(torn.directory), end, 0);
    Opened again = openLog(torn);
    // The journal's own thread may have written the first slot meanwhile, and then it counts.
    ASSERT_GE(again.records.size(), inFirst.size());
    expectEqual({again.records.begin(), again.records.begin() + inFirst.size()}, inFirst);
}

TEST_F(RingFileTest, TheRingOfAnotherStartIsNotRead) {
    std::vector<Replayed> all;
    {
        Opened log = openLog(options("log"));
        all = append(*log.journal, {10, 10});
        fs::copy(ringOf(root_ / "log"), root_ / "old");
        ASSERT_TRUE(log.journal->close().isOk());
    }
    {
        Opened log = openLog(options("log"));
        expectEqual(log.records, all);
        ASSERT_TRUE(log.journal->close().isOk());
    }
    fs::copy(root_ / "old", ringOf(root_ / "log"), fs::copy_options::overwrite_existing);
    expectEqual(openLog(options("log")).records, all);
}

TEST_F(RingFileTest, AFileThatIsNoRingIsMadeOne) {
    std::vector<Replayed> all;
    for (const std::string& content : {std::string("no ring"), std::string(100'000, 'x')}) {
        std::ofstream(ringOf(fs::path(options("log").directory)), std::ios::binary) << content;
        fs::create_directories(root_ / "log");
        std::ofstream(ringOf(root_ / "log"), std::ios::binary) << content;
        Opened log = openLog(options("log"));
        ASSERT_TRUE(log.status.isOk()) << log.status.toString();
        expectEqual(log.records, all);
        const auto more = append(*log.journal, {10});
        all.insert(all.end(), more.begin(), more.end());
        sync::WaitToken token;
        EXPECT_TRUE(log.journal->written(more[0].lsn, &token).isOk());
        ASSERT_TRUE(log.journal->close().isOk());
    }
}

}  // namespace
}  // namespace freshet::journal
