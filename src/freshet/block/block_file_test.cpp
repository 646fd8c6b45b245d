// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/block_file.h"

#include "freshet/block/root/fixture_test_support.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/testing/sim/passing_file_system.h"
#include "freshet/testing/sim/seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet::block {
namespace {

using ::testing::HasSubstr;
using testing::MemoryFileSystem;

/// A disk in memory on which files may not grow beyond a quota.
class QuotaFileSystem final : public testing::PassingFileSystem {
public:
    QuotaFileSystem() : PassingFileSystem(disk_) {}
    uint64_t quota = UINT64_MAX;

    void crash() { disk_.crash(); }

    StatusOr<std::unique_ptr<platform::File>> open(const std::string& path,
                                                   platform::OpenMode mode) override {
        FRESHET_ASSIGN_OR_RETURN(auto file, PassingFileSystem::open(path, mode));
        return std::unique_ptr<platform::File>(
            std::make_unique<QuotaFile>(std::move(file), &quota));
    }

private:
    class QuotaFile final : public testing::PassingFile {
    public:
        QuotaFile(std::unique_ptr<platform::File> file, const uint64_t* quota)
            : PassingFile(std::move(file)), quota_(quota) {}
        Status pwrite(ByteView data, uint64_t offset) override {
            return offset + data.size() > *quota_ ? Status(Code::kNoSpace, "quota")
                                                  : PassingFile::pwrite(data, offset);
        }

    private:
        const uint64_t* const quota_;
    };

    MemoryFileSystem disk_;
};

class BlockFileTest : public ::testing::Test, protected OneFile<QuotaFileSystem> {
protected:
    PagePlace write(PageId page, const std::string& body) {
        std::string image = imageOf(page, body);
        auto place = file_->writePage(image);
        EXPECT_TRUE(place.isOk()) << place.status().toString();
        return place.isOk() ? *place : PagePlace{};
    }
    void commit(const std::vector<BlockFile::Change>& changes) {
        Status status = file_->commit(Root{}, changes);
        ASSERT_TRUE(status.isOk()) << status.toString();
    }

    std::vector<BlockFile::Change> fill(PageId pages);
    void giveBack();
};

TEST_F(BlockFileTest, NewFileHasNoCheckpoint) {
    EXPECT_EQ(file_->root().checkpointNo, 0u);
    EXPECT_EQ(file_->startNo(), 1u);
    EXPECT_TRUE(readContents(*file_)->empty());
    reopen();
    EXPECT_EQ(file_->startNo(), 2u);
}

TEST_F(BlockFileTest, CheckpointComesBackWithItsRoot) {
    const Root root{.checkpointNo = 0,
                    .redoLsn = 7,
                    .clockTs = 8,
                    .timeBase = 9,
                    .nextPageId = 10,
                    .nextTreeId = 11};
    ASSERT_TRUE(file_->commit(root, {{5, write(5, "five")}, {3, write(3, "three")}}).isOk());
    EXPECT_EQ(file_->root().checkpointNo, 1u);
    reopen();
    EXPECT_EQ(file_->root().checkpointNo, 1u);
    EXPECT_EQ(file_->root().redoLsn, 7u);
    EXPECT_EQ(file_->root().clockTs, 8u);
    EXPECT_EQ(file_->root().timeBase, 9u);
    EXPECT_EQ(file_->root().nextPageId, 10u);
    EXPECT_EQ(file_->root().nextTreeId, 11u);
    EXPECT_EQ(*readContents(*file_), (Contents{{3, "three"}, {5, "five"}}));
}

TEST_F(BlockFileTest, HeaderIsCompletedAndTheCallersFieldsStay) {
    PageHeader header;
    header.pageId = 4;
    header.treeId = 77;
    header.entries = 3;
    header.rightId = 9;
    header.flags = static_cast<uint16_t>(PageKind::kInner);
    std::string image(reinterpret_cast<const char*>(&header), sizeof(header));
    image += "body";
    auto place = file_->writePage(image);
    ASSERT_TRUE(place.isOk());
    std::string read;
    ASSERT_TRUE(file_->readPage(4, *place, &read).isOk());
    EXPECT_EQ(bodyOf(read), "body");
    const auto found = loadLe<PageHeader>(read.data());
    EXPECT_EQ(found.treeId, 77u);
    EXPECT_EQ(found.entries, 3u);
    EXPECT_EQ(found.rightId, 9u);
    EXPECT_EQ(found.flags, static_cast<uint16_t>(PageKind::kInner));
    EXPECT_EQ(found.imageSeq >> 40, file_->startNo());
    EXPECT_EQ(found.storedLen, sizeof(PageHeader) + 4);
}

TEST_F(BlockFileTest, PagesThatNoCommitNamedAreGoneAfterReopening) {
    commit({{1, write(1, "kept")}});
    write(1, "never named");
    write(2, "never named");
    reopen();
    EXPECT_EQ(*readContents(*file_), (Contents{{1, "kept"}}));
    EXPECT_EQ(file_->verify()->errors.size(), 0u);
}

TEST_F(BlockFileTest, TombstoneRemovesAPage) {
    commit({{1, write(1, "a")}, {2, write(2, "b")}});
    commit({{1, PagePlace{}}, {99, PagePlace{}}});
    EXPECT_EQ(*readContents(*file_), (Contents{{2, "b"}}));
    reopen();
    EXPECT_EQ(*readContents(*file_), (Contents{{2, "b"}}));
    commit({{2, PagePlace{}}});
    reopen();
    EXPECT_TRUE(readContents(*file_)->empty());
}

TEST_F(BlockFileTest, ReplacedExtentsAreFreedBySettleOnly) {
    const PagePlace first = write(1, std::string(50000, 'a'));
    commit({{1, first}});
    file_->settle();
    const PagePlace second = write(1, std::string(50000, 'b'));
    commit({{1, second}});
    EXPECT_GE(file_->stats().pendingBytes, first.extent.blocks * kBlockBytes);
    for (PageId page = 10; page < 30; ++page) {
        const PagePlace place = write(page, std::string(20000, 'c'));
        EXPECT_TRUE(place.extent.firstBlock >= first.extent.firstBlock + first.extent.blocks ||
                    place.extent.firstBlock + place.extent.blocks <= first.extent.firstBlock);
    }
    const uint64_t freeBefore = file_->stats().freeBytes;
    file_->settle();
    EXPECT_EQ(file_->stats().pendingBytes, 0u);
    EXPECT_GE(file_->stats().freeBytes, freeBefore + first.extent.blocks * kBlockBytes);
}

TEST_F(BlockFileTest, DiscardedExtentIsUsedAgain) {
    const PagePlace first = write(1, std::string(9000, 'a'));
    file_->discard(first);
    EXPECT_EQ(write(1, std::string(9000, 'b')).extent.firstBlock, first.extent.firstBlock);
}

TEST_F(BlockFileTest, SpaceIsReusedForEver) {
    for (int i = 0; i < 300; ++i) {
        commit({{1, write(1, std::string(60000, 'a'))}, {2, write(2, "b")}});
        file_->settle();
    }
    EXPECT_LT(file_->stats().fileBytes, 1u << 20);
    reopen();
    EXPECT_LT(file_->stats().fileBytes, 1u << 20);
    EXPECT_EQ(file_->verify()->errors.size(), 0u);
}

/// Pages 1 to `pages`, in a checkpoint that is settled.
std::vector<BlockFile::Change> BlockFileTest::fill(PageId pages) {
    std::vector<BlockFile::Change> all;
    for (PageId page = 1; page <= pages; ++page) {
        all.push_back({page, write(page, std::string(60'000, static_cast<char>(page)))});
    }
    commit(all);
    file_->settle();
    return all;
}

/// As an idle engine does: moves images that keep the file long, as long as that helps.
void BlockFileTest::giveBack() {
    for (int round = 0; round < 20; ++round) {
        std::vector<BlockFile::Change> moved;
        const Contents contents = *readContents(*file_);
        for (const auto& [page, body] : contents) {
            const Extent extent = placeOf(*file_, page).extent;
            if (file_->wantsMoved(extent)) {
                moved.push_back({page, write(page, body)});
            }
        }
        if (moved.empty() && !file_->wantsCommit()) {
            return;
        }
        commit(moved);
        file_->settle();
        ASSERT_TRUE(file_->verify()->errors.empty());
    }
    FAIL() << "no end of it";
}

TEST_F(BlockFileTest, TheEndOfTheFileIsGivenBack) {
    for (const bool lastStays : {false, true}) {
        std::vector<BlockFile::Change> all = fill(60);
        const uint64_t whole = file_->stats().fileBytes;
        EXPECT_GT(whole, 3'600'000u);
        for (BlockFile::Change& change : all) {
            const bool stays = lastStays ? change.page >= 50 : change.page <= 10;
            change.place = stays ? change.place : PagePlace{};
        }
        commit(all);
        file_->settle();
        giveBack();
        const Stats stats = file_->stats();
        EXPECT_LT(stats.fileBytes, 1'200'000u) << "ten pages and the room ahead";
        EXPECT_GE(stats.freeBytes, 64u << 10);
        EXPECT_GE(stats.bytesGivenBack, whole - stats.fileBytes);
        const Contents before = *readContents(*file_);
        reopen();
        EXPECT_EQ(file_->stats().fileBytes, stats.fileBytes);
        EXPECT_EQ(*readContents(*file_), before);
    }
}

/// Of many small pages every third stays, so the holes at the front are of two blocks; the page map
/// and a large page fit into none of them.
TEST_F(BlockFileTest, WhatFitsNowhereInTheFrontIsNoReasonToKeepTheEnd) {
    constexpr PageId kPages = 1'500;
    constexpr PageId kLarge = kPages + 1;
    std::vector<BlockFile::Change> all;
    for (PageId page = 1; page <= kPages; ++page) {
        all.push_back({page, write(page, "x")});
    }
    all.push_back({kLarge, write(kLarge, std::string(60'000, 'l'))});
    commit(all);
    file_->settle();
    std::vector<BlockFile::Change> gone;
    for (PageId page = 1; page <= kPages; ++page) {
        if (page % 3 != 0) {
            gone.push_back({page, PagePlace{}});
        }
    }
    commit(gone);
    file_->settle();
    const Contents before = *readContents(*file_);
    giveBack();
    const Stats stats = file_->stats();
    EXPECT_LT(stats.fileBytes, (kPages / 3 + 200) * kBlockBytes);
    EXPECT_EQ(*readContents(*file_), before);
    reopen();
    EXPECT_EQ(*readContents(*file_), before);
}

/// Checkpoints that take as much as the ones before find that space free again.
TEST_F(BlockFileTest, WhatIsTakenAgainAndAgainIsNotGivenBack) {
    uint64_t givenBack = 0;
    for (int i = 0; i < 20; ++i) {
        fill(30);
        if (i == 10) {
            givenBack = file_->stats().bytesGivenBack;
        }
    }
    EXPECT_EQ(file_->stats().bytesGivenBack, givenBack);
    giveBack();
    EXPECT_LT(file_->stats().fileBytes, 2'500'000u);
}

TEST_F(BlockFileTest, SpaceFreedOnAFullDiskGoesToTheRefusedWrite) {
    std::vector<BlockFile::Change> all = fill(60);
    giveBack();
    disk_.quota = file_->stats().fileBytes;
    std::vector<PagePlace> given;
    for (;;) {
        std::string image = imageOf(100, std::string(60'000, 'b'));
        const auto place = file_->writePage(image);
        if (!place.isOk()) {
            EXPECT_EQ(place.status().code(), Code::kNoSpace);
            break;
        }
        given.push_back(*place);
    }
    for (const PagePlace& place : given) {
        file_->discard(place);
    }
    const uint64_t before = file_->stats().bytesGivenBack;
    for (BlockFile::Change& change : all) {
        change.place = {};
    }
    commit(all);
    file_->settle();
    // None of the next checkpoints finds the file cut so short that everything is refused again,
    // although others have taken the space that was given back.
    for (int i = 0; i < 10; ++i) {
        disk_.quota = file_->stats().fileBytes;
        commit({{1, write(1, std::string(5'000, 'c'))}});
        file_->settle();
        ASSERT_FALSE(file_->stats().spaceShort) << i;
    }
    EXPECT_GT(file_->stats().bytesGivenBack, before) << "the disk is full for others as well";
    EXPECT_GE(file_->stats().freeBytes, 2 * testOptions(&disk_).growBytesMin)
        << "twice what is kept ahead";
}

/// A power cut after the file has become shorter leaves no checkpoint that needs a longer file.
TEST_F(BlockFileTest, ACheckpointSaysHowLongTheFileMustBe) {
    std::vector<BlockFile::Change> all = fill(60);
    const uint64_t whole = file_->stats().fileBytes;
    for (BlockFile::Change& change : all) {
        change.place = {};
    }
    commit(all);
    EXPECT_GE(file_->stats().fileBytes, whole) << "the one before may still be chosen";
    file_->settle();
    giveBack();
    EXPECT_LT(file_->stats().fileBytes, 1u << 20);
    disk_.crash();
    reopen();
    EXPECT_EQ(readContents(*file_)->size(), 0u);
}

TEST_F(BlockFileTest, DeltasAreMergedIntoABase) {
    // A large base, then small changes: far more commits than there is room for runs.
    std::vector<BlockFile::Change> all;
    for (PageId page = 1; page <= 2000; ++page) {
        all.push_back({page, write(page, "x")});
    }
    commit(all);
    file_->settle();
    Contents expected = *readContents(*file_);
    for (int i = 0; i < 150; ++i) {
        const PageId page = 1 + i * 13 % 2000;
        const std::string body = "y" + std::to_string(i);
        commit({{page, write(page, body)}});
        file_->settle();
        expected[page] = body;
        if (i % 40 == 0) {
            reopen();
        }
    }
    reopen();
    EXPECT_EQ(*readContents(*file_), expected);
    auto report = file_->verify();
    ASSERT_TRUE(report.isOk());
    EXPECT_EQ(report->pages, 2000u);
    EXPECT_TRUE(report->errors.empty());
}

TEST_F(BlockFileTest, FullDiskRefusesPagesButNotTheCheckpoint) {
    commit({{1, write(1, std::string(200000, 'a'))}});
    file_->settle();
    disk_.quota = file_->stats().fileBytes + (64u << 10);
    std::vector<BlockFile::Change> changes;
    Status refused;
    for (PageId page = 2; refused.isOk(); ++page) {
        ASSERT_LT(page, 1000u);
        std::string image = imageOf(page, std::string(5000, 'b'));
        auto place = file_->writePage(image);
        if (place.isOk()) {
            changes.push_back({page, *place});
        }
        refused = place.status();
    }
    EXPECT_EQ(refused.code(), Code::kNoSpace);
    EXPECT_TRUE(file_->stats().spaceShort);
    EXPECT_GT(changes.size(), 5u);
    changes.push_back({1, PagePlace{}});
    commit(changes);
    file_->settle();
    EXPECT_EQ(file_->verify()->errors.size(), 0u);
    write(1, std::string(5000, 'c'));  // page 1's old extent is free now
    EXPECT_FALSE(file_->stats().spaceShort);
    reopen();
    EXPECT_EQ(readContents(*file_)->size(), changes.size() - 1);
}

/// Images of many sizes.
std::vector<std::string> images(PageId pages) {
    std::vector<std::string> images;
    for (PageId page = 1; page <= pages; ++page) {
        images.push_back(imageOf(page, std::string(page * 1000, 'a')));
    }
    return images;
}

TEST_F(BlockFileTest, ManyImagesAtOnceAreAllThere) {
    constexpr PageId kPages = 100;
    const std::vector<std::string> all = images(kPages);
    std::vector<BlockFile::NewImage> wanted;
    for (PageId page = 1; page <= kPages; ++page) {
        wanted.push_back({all[page - 1], page % 2 == 0 ? Codec::kNone : Codec::kZstd, page});
    }
    const auto places = file_->writePages(wanted);
    ASSERT_TRUE(places.isOk()) << places.status().toString();
    ASSERT_EQ(places->size(), kPages);
    std::vector<BlockFile::Change> changes;
    for (PageId page = 1; page <= kPages; ++page) {
        EXPECT_EQ((*places)[page - 1].note, page);
        changes.push_back({page, (*places)[page - 1]});
    }
    commit(changes);
    EXPECT_EQ(file_->stats().pagesWritten, kPages);
    EXPECT_TRUE(file_->verify()->errors.empty());
    reopen();
    const Contents contents = *readContents(*file_);
    ASSERT_EQ(contents.size(), kPages);
    for (const auto& [page, body] : contents) {
        EXPECT_EQ(body, std::string(page * 1000, 'a')) << page;
    }
    EXPECT_TRUE(file_->writePages({}).isOk());
}

TEST_F(BlockFileTest, OfImagesAtOnceOfWhichOneIsRefusedNoneIsThere) {
    const std::vector<std::string> all = images(50);
    const uint64_t free = file_->stats().freeBytes;
    const uint64_t size = file_->stats().fileBytes;
    // Refused when the second one is written; and earlier, since the file cannot grow.
    for (const auto& [count, quota] :
         {std::pair(size_t{5}, size - free + kBlockBytes), std::pair(all.size(), size)}) {
        disk_.quota = quota;
        const std::vector<BlockFile::NewImage> wanted(all.begin(), all.begin() + count);
        EXPECT_EQ(file_->writePages(wanted).status().code(), Code::kNoSpace) << count;
        EXPECT_EQ(file_->stats().freeBytes, free) << count;
        EXPECT_EQ(file_->stats().pagesWritten, 0u);
    }
    disk_.quota = UINT64_MAX;
    EXPECT_TRUE(file_->makeRoom().isOk());
    commit({{1, write(1, "here")}});
    reopen();
    EXPECT_EQ(readContents(*file_)->at(1), "here");
}

TEST_F(BlockFileTest, RoomIsMadeWhenTheDiskHasSome) {
    disk_.quota = file_->stats().fileBytes + (32u << 10);
    std::string image;
    do {
        image = imageOf(1, std::string(5000, 'b'));
    } while (file_->writePage(image).isOk());
    EXPECT_EQ(file_->makeRoom().code(), Code::kNoSpace);
    EXPECT_TRUE(file_->stats().spaceShort);
    EXPECT_FALSE(file_->writePage(image).isOk());
    disk_.quota = UINT64_MAX;
    EXPECT_TRUE(file_->makeRoom().isOk());
    EXPECT_FALSE(file_->stats().spaceShort);
    commit({{1, write(1, std::string(5000, 'b'))}});
    reopen();
    EXPECT_EQ(readContents(*file_)->size(), 1u);
}

TEST_F(BlockFileTest, RefusedCommitChangesNothing) {
    commit({{1, write(1, "a")}});
    std::vector<BlockFile::Change> changes;
    for (PageId page = 2; page < 40; ++page) {
        changes.push_back({page, write(page, "b")});
    }
    const uint64_t before = file_->root().checkpointNo;
    disk_.quota = 0;
    EXPECT_EQ(file_->commit(Root{}, changes).code(), Code::kNoSpace);
    EXPECT_EQ(file_->root().checkpointNo, before);
    disk_.quota = UINT64_MAX;
    commit(changes);
    reopen();
    EXPECT_EQ(readContents(*file_)->size(), 39u);
}

TEST_F(BlockFileTest, ImagesBeyondTheMapEntryAreRefused) {
    std::string image = imageOf(1, "");
    image.resize(kBlockBytes << 16);
    EXPECT_EQ(file_->writePage(image).status().code(), Code::kLimit);
    // The largest value a page can hold fits easily.
    image = imageOf(1, std::string(17u << 20, 'x'));
    auto place = file_->writePage(image);
    ASSERT_TRUE(place.isOk());
    commit({{1, *place}});
    reopen();
    EXPECT_EQ(readContents(*file_)->at(1).size(), 17u << 20);
}

TEST_F(BlockFileTest, VerifyNamesTheDamagedPage) {
    const PagePlace place = write(12, "twelve");
    commit({{12, place}, {13, write(13, "thirteen")}});
    EXPECT_EQ(file_->verify()->pages, 2u);
    auto raw = disk_.open(kTestPath, platform::OpenMode::kWrite);
    ASSERT_TRUE((*raw)->pwrite("!", place.extent.firstBlock * kBlockBytes + 100).isOk());
    auto report = file_->verify();
    ASSERT_TRUE(report.isOk());
    ASSERT_EQ(report->errors.size(), 1u);
    EXPECT_THAT(report->errors[0], HasSubstr("page 12"));
    EXPECT_THAT(report->errors[0], HasSubstr(kTestPath));
}

TEST_F(BlockFileTest, FailedFlushIsFinalWhateverItsCode) {
    for (const Code code : {Code::kIo, Code::kNoSpace}) {
        for (const bool isCommits : {false, true}) {
            MemoryFileSystem disk;
            ASSERT_TRUE(disk.makeDirectory(kTestDirectory).isOk());
            auto file = openAndStart(testOptions(&disk));
            ASSERT_TRUE(file.isOk());
            disk.faults().fail(testing::DiskFaults::Op::kSync, 1, Status(code, "broken"));
            EXPECT_EQ((isCommits ? (*file)->commit(Root{}, {}) : (*file)->flush()).code(), code);
            EXPECT_EQ((*file)->flush().code(), code);
            EXPECT_EQ((*file)->makeRoom().code(), code);
            EXPECT_EQ((*file)->writePage(imageOf(1, "x")).status().code(), code);
            EXPECT_EQ((*file)->commit(Root{}, {}).code(), code);
        }
    }
}

TEST_F(BlockFileTest, AgreesWithAMapThroughManyReopenings) {
    const uint64_t seed = testing::testSeed();
    MemoryFileSystem disk;
    ASSERT_TRUE(disk.makeDirectory(kTestDirectory).isOk());
    ModelUser user(seed);
    uint64_t givenBack = 0;
    for (int round = 0; round < 60; ++round) {
        auto file = openAndStart(testOptions(&disk));
        ASSERT_TRUE(file.isOk()) << file.status().toString();
        ASSERT_EQ(user.attach(file->get()), "");
        for (int i = 0; i < 60; ++i) {
            ASSERT_TRUE(user.step().isOk());
        }
        ASSERT_EQ(*readContents(**file), user.committed());
        ASSERT_TRUE((*file)->verify()->errors.empty());
        givenBack += (*file)->stats().bytesGivenBack;
    }
    EXPECT_GT(user.acknowledged(), 200u);
    EXPECT_GT(givenBack, 0u);
}

}  // namespace
}  // namespace freshet::block
