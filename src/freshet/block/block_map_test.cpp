// SPDX-License-Identifier: Apache-2.0
/// The page map stays on the disk: what of it is kept in memory, what a checkpoint reads of it, and
/// damage that comes after the file was opened.
#include "freshet/block/root/fixture_test_support.h"
#include "freshet/block/root/superblock.h"
#include "freshet/testing/sim/passing_file_system.h"
#include "freshet/testing/sim/seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet::block {
namespace {

using ::testing::HasSubstr;

constexpr size_t kEntriesPerBlock = 128;

/// Counts reads and writes, and fails reads on request.
class WatchedDisk final : public testing::PassingFileSystem {
public:
    WatchedDisk() : PassingFileSystem(memory) {}
    StatusOr<std::unique_ptr<platform::File>> open(const std::string& path,
                                                   platform::OpenMode mode) override {
        FRESHET_ASSIGN_OR_RETURN(auto file, PassingFileSystem::open(path, mode));
        return std::unique_ptr<platform::File>(std::make_unique<Watched>(std::move(file), this));
    }

    testing::MemoryFileSystem memory;
    uint64_t reads = 0;
    uint64_t bytesRead = 0;
    uint64_t writes = 0;
    bool failsReads = false;

private:
    class Watched final : public testing::PassingFile {
    public:
        Watched(std::unique_ptr<platform::File> file, WatchedDisk* disk)
            : PassingFile(std::move(file)), disk_(*disk) {}
        StatusOr<size_t> pread(char* out, size_t bytes, uint64_t offset) override {
            ++disk_.reads;
            disk_.bytesRead += bytes;
            return disk_.failsReads ? StatusOr<size_t>(Status(Code::kIo, "the disk is gone"))
                                    : PassingFile::pread(out, bytes, offset);
        }
        Status pwrite(ByteView data, uint64_t offset) override {
            ++disk_.writes;
            return PassingFile::pwrite(data, offset);
        }

    private:
        WatchedDisk& disk_;
    };
};

class BlockMap : public ::testing::Test, protected OneFile<WatchedDisk> {
protected:
    BlockFile::Change change(PageId page) {
        auto place = file_->writePage(imageOf(page, std::to_string(page)), Codec::kNone, page);
        invariant(place.isOk());
        return {page, *place};
    }
    std::vector<BlockFile::Change> changes(PageId first, PageId end, PageId step = 1) {
        std::vector<BlockFile::Change> all;
        for (PageId page = first; page < end; page += step) {
            all.push_back(change(page));
        }
        return all;
    }
    void commit(const std::vector<BlockFile::Change>& changes) {
        const Status status = file_->commit(Root{}, changes);
        ASSERT_TRUE(status.isOk()) << status.toString();
        file_->settle();
    }
    Superblock newest() {
        std::string bytes(2 * kBlockBytes, '\0');
        auto file = disk_.memory.open(kTestPath, platform::OpenMode::kRead);
        invariant(file.isOk() && (*file)->pread(bytes.data(), bytes.size(), 0).isOk());
        const Superblock a = *decodeSuperblock(ByteView(bytes).substr(0, kBlockBytes));
        const Superblock b = *decodeSuperblock(ByteView(bytes).substr(kBlockBytes));
        return a.checkpointNo > b.checkpointNo ? a : b;
    }
    /// Changes a byte in a block of the base run. Returns the block's offset.
    uint64_t rot(uint64_t block) {
        const uint64_t offset = (newest().mapBase.firstBlock + block) * kBlockBytes;
        disk_.memory.damage(kTestPath, offset + 100);
        return offset;
    }
    void expectDamage(const Status& status, uint64_t offset) {
        EXPECT_EQ(status.code(), Code::kCorruption) << status.toString();
        const std::string text(status.text());
        EXPECT_THAT(text, HasSubstr(kTestPath));
        EXPECT_THAT(text, HasSubstr("offset " + std::to_string(offset) + " "));
    }
};

TEST_F(BlockMap, MemoryDoesNotGrowWithPages) {
    constexpr PageId kPages = 20'000;
    const uint64_t empty = file_->stats().memoryBytes;
    const std::vector<BlockFile::Change> all = changes(1, kPages + 1);
    EXPECT_GE(file_->stats().memoryBytes, empty + kPages * 40) << "images that nothing names";
    commit(all);
    EXPECT_EQ(file_->stats().mappedPages, kPages);
    EXPECT_LT(file_->stats().memoryBytes, empty + kPages / 4);
    EXPECT_GE(file_->stats().memoryBytes, kPages / kEntriesPerBlock * 12) << "of each block";
    commit(changes(5, 400));
    EXPECT_LT(file_->stats().memoryBytes, empty + kPages / 2);
    reopen();
    EXPECT_EQ(file_->stats().mappedPages, kPages);
    EXPECT_LT(file_->stats().memoryBytes, empty + kPages / 2);
    std::vector<BlockFile::Change> gone = all;
    for (BlockFile::Change& one : gone) {
        one.place = {};
    }
    commit(gone);
    EXPECT_EQ(file_->stats().mappedPages, 0u);
    EXPECT_LT(file_->stats().memoryBytes, empty + 1000);
}

TEST_F(BlockMap, ACommitReadsOnlyBlocksThatCanHaveItsPages) {
    constexpr PageId kPages = 20'000;
    constexpr uint64_t kMapBlocks = kPages / kEntriesPerBlock + 1;
    commit(changes(1, kPages + 1));
    auto few = changes(7'000, 7'001);
    few.push_back(change(12'000));
    few.push_back(change(kPages + 1));  // new: no block can have it
    disk_.reads = disk_.bytesRead = 0;
    commit(few);
    EXPECT_EQ(disk_.bytesRead, 2 * kBlockBytes);
    EXPECT_EQ(disk_.reads, 2u);

    // A page of every block: the base in a few large reads, and the delta.
    const std::vector<BlockFile::Change> many = changes(1, kPages, 100);
    disk_.reads = disk_.bytesRead = 0;
    commit(many);
    EXPECT_GE(disk_.bytesRead, kMapBlocks * kBlockBytes);
    EXPECT_LE(disk_.bytesRead, (kMapBlocks + 1) * kBlockBytes);
    EXPECT_LE(disk_.reads, kMapBlocks / 64 + 2);

    // More than one consecutive block, but not all.
    const std::vector<BlockFile::Change> some = changes(3'000, 4'000);
    disk_.reads = disk_.bytesRead = 0;
    commit(some);
    EXPECT_LE(disk_.bytesRead, (1'000 / kEntriesPerBlock + 2 + 3) * kBlockBytes);
    EXPECT_LE(disk_.reads, 3u);
}

TEST_F(BlockMap, ABlockThatRotsAfterOpeningIsNotBelieved) {
    constexpr PageId kPages = 3'000;
    commit(changes(1, kPages + 1));
    reopen();
    const uint64_t offset = rot(10);  // pages 1,280 to 1,407
    // These changes do not need it.
    commit({change(5), change(2'900)});
    std::vector<PageId> seen;
    expectDamage(file_->forEachPage([&](PageId page, const PagePlace&) {
        seen.push_back(page);
        return Status::ok();
    }),
                 offset);
    EXPECT_LT(seen.size(), 1'280u);
    auto report = file_->verify();
    ASSERT_TRUE(report.isOk());
    ASSERT_EQ(report->errors.size(), 1u);
    expectDamage(Status(Code::kCorruption, report->errors[0]), offset);

    const BlockFile::Change asked = change(1'300);
    const uint64_t writes = disk_.writes;
    expectDamage(file_->commit(Root{}, {asked}), offset);
    EXPECT_EQ(disk_.writes, writes) << "nothing is written";
    EXPECT_EQ(file_->root().checkpointNo, 2u);
    // Nor is anything tried again.
    expectDamage(file_->commit(Root{}, {}), offset);
    expectDamage(file_->flush(), offset);
    expectDamage(file_->makeRoom(), offset);
    expectDamage(file_->writePage(imageOf(1, "x")).status(), offset);
}

TEST_F(BlockMap, ABlockThatRotsAfterItWasWrittenIsNotBelieved) {
    commit(changes(1, 1'000));
    const uint64_t offset = rot(3);
    expectDamage(file_->commit(Root{}, {change(400)}), offset);
}

TEST_F(BlockMap, ANewBaseIsNotMadeOfADamagedOne) {
    constexpr PageId kPages = 3'000;
    commit(changes(1, kPages + 1));
    const std::vector<BlockFile::Change> quarter = changes(1, 900);
    const uint64_t offset = rot(20);
    expectDamage(file_->commit(Root{}, quarter), offset);
    EXPECT_EQ(newest().checkpointNo, 1u);
    // The current checkpoint can be opened if the damage was in the reading, not on the disk.
    disk_.memory.damage(kTestPath, offset + 100);
    reopen();
}

TEST_F(BlockMap, AReadThatFailsEndsAllWritingAndLosesNothing) {
    commit(changes(1, 1'000));
    const BlockFile::Change next = change(400);
    disk_.failsReads = true;
    EXPECT_EQ(file_->commit(Root{}, {next}).code(), Code::kIo);
    disk_.failsReads = false;
    EXPECT_EQ(file_->commit(Root{}, {next}).code(), Code::kIo) << "it is not tried again";
    reopen();
    EXPECT_EQ(file_->root().checkpointNo, 1u);
    EXPECT_EQ(readContents(*file_)->size(), 999u);
    commit({change(400)});
}

/// The expected pages of a file, through random checkpoints of a map of many blocks.
class MapModel {
public:
    explicit MapModel(uint64_t seed) : random_(seed) {}

    /// Makes `count` changes of all kinds: new images, other notes, removed pages, and removals of
    /// pages that do not exist.
    void change(BlockFile* file, unsigned count) {
        std::map<PageId, PagePlace> changed;
        std::map<PageId, uint64_t> replaced;
        while (changed.size() < count) {
            const PageId page = 1 + pick(kPagesMax);
            if (changed.contains(page)) {
                continue;
            }
            const auto known = places_.find(page);
            const unsigned dice = pick(10);
            PagePlace place;
            if (dice == 0 && known != places_.end()) {
                place = known->second;
                place.note = pick(3);
            } else if (dice < 8) {
                auto written = file->writePage(imageOf(page, "x"), Codec::kNone, pick(1000));
                ASSERT_TRUE(written.isOk());
                place = *written;
            }
            changed[page] = place;
            const bool isOther = known != places_.end() &&
                                 known->second.extent.firstBlock != place.extent.firstBlock;
            if (isOther) {
                replaced[page] = known->second.extent.firstBlock;
            }
        }
        commit(file, changed, replaced);
    }
    void expectSame(const BlockFile& file) const {
        auto expected = places_.begin();
        ASSERT_TRUE(file.forEachPage([&](PageId page, const PagePlace& place) {
                            const bool same =
                                expected != places_.end() && expected->first == page &&
                                expected->second.extent.firstBlock == place.extent.firstBlock &&
                                expected->second.crc == place.crc &&
                                expected->second.note == place.note;
                            ++expected;
                            return same ? Status::ok() : Status(Code::kInvalid, "another place");
                        })
                        .isOk());
        EXPECT_TRUE(expected == places_.end());
        EXPECT_EQ(file.stats().mappedPages, places_.size());
    }
    unsigned pick(unsigned below) { return static_cast<unsigned>(random_() % below); }

private:
    static constexpr unsigned kPagesMax = 4'000;

    void commit(BlockFile* file,
                const std::map<PageId, PagePlace>& changed,
                const std::map<PageId, uint64_t>& replaced) {
        std::vector<BlockFile::Change> changes;
        for (const auto& [page, place] : changed) {
            changes.push_back({page, place});
            places_[page] = place;
            if (place.extent.blocks == 0) {
                places_.erase(page);
            }
        }
        std::shuffle(changes.begin(), changes.end(), random_);
        std::map<PageId, uint64_t> reported;
        ASSERT_TRUE(file->commit(Root{},
                                 changes,
                                 [&](PageId page, const Extent& before) {
                                     reported[page] = before.firstBlock;
                                 })
                        .isOk());
        EXPECT_EQ(reported, replaced);
    }

    std::mt19937_64 random_;
    std::map<PageId, PagePlace> places_;
};

TEST_F(BlockMap, ManyDeltasAgreeWithAMap) {
    const uint64_t seed = testing::testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    MapModel model(seed);
    ASSERT_NO_FATAL_FAILURE(model.change(file_.get(), 3'000));
    uint32_t deltasMost = 0;
    uint64_t bases = 0;
    for (int round = 0; round < 200; ++round) {
        const bool isLarge = model.pick(20) == 0;
        const uint64_t base = newest().mapBase.firstBlock;
        ASSERT_NO_FATAL_FAILURE(
            model.change(file_.get(), isLarge ? 300 + model.pick(300) : model.pick(12)));
        deltasMost = std::max(deltasMost, newest().deltaCount);
        bases += newest().mapBase.firstBlock != base;
        if (model.pick(3) != 0) {
            file_->settle();
        }
        if (model.pick(15) == 0) {
            reopen();
        }
        ASSERT_NO_FATAL_FAILURE(model.expectSame(*file_));
    }
    EXPECT_GT(deltasMost, 5u);
    EXPECT_GT(bases, 3u);
    file_->settle();
    ASSERT_TRUE(file_->verify()->errors.empty());
    // No space was lost: an opening finds the same free space as was known before.
    const Stats stats = file_->stats();
    reopen();
    EXPECT_EQ(file_->stats().fileBytes, stats.fileBytes);
    EXPECT_EQ(file_->stats().freeBytes, stats.freeBytes);
}

TEST_F(BlockMap, SixtyFourDeltasAreReadNewestFirst) {
    constexpr PageId kPages = 2'000;
    commit(changes(1, kPages + 1));
    PagePlace last;
    for (PageId round = 1; round <= 70; ++round) {
        last = change(77).place;
        commit({{77, last}, change(100 + round)});
        if (round <= kDeltaRunsMax) {
            EXPECT_EQ(newest().deltaCount, round);
        } else {
            EXPECT_LT(newest().deltaCount, 6u) << "there is a new base";
        }
        EXPECT_EQ(placeOf(*file_, 77).extent.firstBlock, last.extent.firstBlock);
        if (round == kDeltaRunsMax) {
            reopen();
        }
    }
    uint64_t replaced = 0;
    ASSERT_TRUE(file_
                    ->commit(Root{},
                             {{77, {}}},
                             [&](PageId, const Extent& before) { replaced = before.firstBlock; })
                    .isOk());
    EXPECT_EQ(replaced, last.extent.firstBlock);
    EXPECT_EQ(placeOf(*file_, 77).extent.blocks, 0u);
    EXPECT_TRUE(file_->verify()->errors.empty());
}

}  // namespace
}  // namespace freshet::block
