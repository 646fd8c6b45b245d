// SPDX-License-Identifier: Apache-2.0
/// Damaged files: lost, misdirected and corrupted writes are detected, and damage is refused with
/// its place. No read may ever return wrong data.
#include "freshet/block/block_file.h"
#include "freshet/block/root/fixture_test_support.h"
#include "freshet/block/root/superblock.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/testing/sim/misreading_file_system.h"
#include "freshet/testing/sim/seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet::block {
namespace {

using ::testing::HasSubstr;
using testing::MemoryFileSystem;

class BlockDamageTest : public ::testing::Test, protected OneFile<MemoryFileSystem> {
protected:
    PagePlace write(PageId page, const std::string& body) {
        std::string image = imageOf(page, body);
        auto place = file_->writePage(image);
        invariant(place.isOk());
        return *place;
    }
    void commit(const std::vector<BlockFile::Change>& changes) {
        ASSERT_TRUE(file_->commit(Root{}, changes).isOk());
    }
    std::string raw(const PagePlace& place) {
        return readWhole(disk_).substr(place.extent.firstBlock * kBlockBytes,
                                       place.extent.blocks * kBlockBytes);
    }
    void overwrite(uint64_t offset, ByteView bytes) {
        auto file = disk_.open(kTestPath, platform::OpenMode::kWrite);
        invariant(file.isOk() && (*file)->pwrite(bytes, offset).isOk());
        invariant((*file)->sync().isOk());
    }
    uint64_t offsetOf(PageId wanted) const {
        uint64_t offset = 0;
        const Status status = file_->forEachPage([&](PageId page, const PagePlace& place) {
            offset = page == wanted ? place.extent.firstBlock * kBlockBytes : offset;
            return Status::ok();
        });
        invariant(status.isOk() && offset != 0);
        return offset;
    }
    Status read(PageId page, const PagePlace& place) {
        std::string image;
        return file_->readPage(page, place, &image);
    }
    /// The result of opening a file with these bytes.
    static StatusOr<std::unique_ptr<BlockFile>> openBytes(MemoryFileSystem* disk, ByteView bytes) {
        writeWhole(*disk, bytes);
        return openAndStart(testOptions(disk));
    }
};

TEST_F(BlockDamageTest, MisdirectedWriteIsNoticed) {
    const PagePlace a = write(1, "aaaa");
    const PagePlace b = write(2, "bbbb");
    overwrite(b.extent.firstBlock * kBlockBytes, raw(a));
    Status status = read(2, b);
    EXPECT_EQ(status.code(), Code::kCorruption);
    EXPECT_THAT(std::string(status.text()), HasSubstr("page 2"));
    EXPECT_THAT(std::string(status.text()),
                HasSubstr("offset " + std::to_string(b.extent.firstBlock * kBlockBytes)));
    EXPECT_TRUE(read(1, a).isOk());
}

TEST_F(BlockDamageTest, LostWriteIsNoticed) {
    const PagePlace before = write(1, "before");
    const std::string stale = raw(before);
    file_->discard(before);
    const PagePlace after = write(1, "after!");
    ASSERT_EQ(after.extent.firstBlock, before.extent.firstBlock);
    overwrite(after.extent.firstBlock * kBlockBytes, stale);
    // The page is whole, has the right id and is in its place: only the map reveals the loss.
    EXPECT_EQ(read(1, after).code(), Code::kCorruption);
    EXPECT_TRUE(read(1, before).isOk());
}

TEST_F(BlockDamageTest, SameBytesOfAnEarlierImageAreNoticed) {
    const PagePlace place = write(1, "x");
    PagePlace later = place;
    ++later.seqLow;
    EXPECT_EQ(read(1, later).code(), Code::kCorruption);
    EXPECT_EQ(read(2, place).code(), Code::kCorruption);
}

TEST_F(BlockDamageTest, NewerFormatIsRefusedByName) {
    Superblock superblock = *decodeSuperblock(readWhole(disk_).substr(0, kSuperblockBytes));
    superblock.version = 9;
    const std::string bytes = encodeSuperblock(superblock);
    overwrite(0, bytes);
    auto opened = openAndStart(testOptions(&disk_));
    ASSERT_FALSE(opened.isOk());
    EXPECT_EQ(opened.status().code(), Code::kUnsupported);
    EXPECT_THAT(std::string(opened.status().text()), HasSubstr(kTestPath));
    EXPECT_THAT(std::string(opened.status().text()), HasSubstr("format 9"));
    EXPECT_THAT(std::string(opened.status().text()), HasSubstr("format 1"));
}

TEST_F(BlockDamageTest, AnotherDirectorysFileIsRefused) {
    Options options = testOptions(&disk_);
    options.dbUuid[0] = 'z';
    auto opened = openAndStart(options);
    ASSERT_FALSE(opened.isOk());
    EXPECT_EQ(opened.status().code(), Code::kCorruption);
    EXPECT_THAT(std::string(opened.status().text()), HasSubstr("another data directory"));
}

TEST_F(BlockDamageTest, CutFileIsFilledUpForRepair) {
    const PagePlace first = write(1, "a");
    commit({{1, first}, {9, write(9, std::string(20'000, 'x'))}});
    file_->settle();
    commit({{9, PagePlace{}}});  // leaves a gap for the map
    file_->settle();
    const PagePlace last = write(2, std::string(50'000, 'b'));
    ASSERT_TRUE(file_->flush().isOk());
    commit({{2, last}});
    file_.reset();
    const std::string whole = readWhole(disk_);
    const ByteView cut = ByteView(whole).substr(0, (last.extent.firstBlock + 5) * kBlockBytes + 1);
    EXPECT_EQ(openBytes(&disk_, cut).status().code(), Code::kCorruption);
    Options options = testOptions(&disk_);
    options.repair = true;
    auto file = openAndStart(options);
    ASSERT_TRUE(file.isOk()) << file.status().toString();
    file_ = std::move(*file);
    EXPECT_EQ(file_->root().checkpointNo, 3u);
    EXPECT_TRUE(read(1, first).isOk());
    EXPECT_EQ(read(2, last).code(), Code::kCorruption);
}

TEST_F(BlockDamageTest, EmptiedFileIsDamagedNotNew) {
    MemoryFileSystem disk;
    auto opened = openBytes(&disk, "");
    ASSERT_FALSE(opened.isOk());
    EXPECT_EQ(opened.status().code(), Code::kCorruption);
    EXPECT_THAT(std::string(opened.status().text()), HasSubstr("superblock A"));
    EXPECT_THAT(std::string(opened.status().text()), HasSubstr("superblock B"));
}

TEST_F(BlockDamageTest, CheckpointWhoseLateImageIsMissingIsPassedOver) {
    commit({{1, write(1, "old")}});
    const PagePlace early = write(2, "flushed in time");
    ASSERT_TRUE(file_->flush().isOk());
    const PagePlace late = write(1, "new");
    commit({{1, late}, {2, early}});
    // As if the power had failed during the commit's flush, after the superblock reached the disk.
    overwrite(late.extent.firstBlock * kBlockBytes, std::string(kBlockBytes, '\0'));
    reopen();
    EXPECT_EQ(file_->root().checkpointNo, 1u);
    EXPECT_EQ(*readContents(*file_), (Contents{{1, "old"}}));
}

TEST_F(BlockDamageTest, EarlyImageIsNotReadAtOpen) {
    const PagePlace early = write(2, "flushed in time");
    ASSERT_TRUE(file_->flush().isOk());
    commit({{2, early}});
    overwrite(early.extent.firstBlock * kBlockBytes, "damage");
    reopen();
    EXPECT_EQ(file_->root().checkpointNo, 1u) << "a durable checkpoint is not passed over";
    EXPECT_EQ(read(2, early).code(), Code::kCorruption);
}

TEST_F(BlockDamageTest, MapRunDamagedInBothCheckpointsIsRefused) {
    commit({{1, write(1, "a")}});
    reopen();
    std::string bytes = readWhole(disk_);
    const Superblock superblock = *decodeSuperblock(ByteView(bytes).substr(0, kSuperblockBytes));
    bytes[superblock.mapBase.firstBlock * kBlockBytes + 40] ^= 1;
    MemoryFileSystem disk;
    auto opened = openBytes(&disk, bytes);
    ASSERT_FALSE(opened.isOk());
    EXPECT_EQ(opened.status().code(), Code::kCorruption);
    EXPECT_THAT(std::string(opened.status().text()), HasSubstr("run at offset"));
}

/// Two checkpoints, the newest of which is misread: opening alone changes nothing, so a caller that
/// does not accept the result can open again.
TEST_F(BlockDamageTest, OpeningOverwritesNothingUntilItIsStarted) {
    commit({{1, write(1, "older")}});
    commit({{1, write(1, "newest")}});
    const std::string bytes = readWhole(disk_);
    const Superblock newest = *decodeSuperblock(ByteView(bytes).substr(0, kSuperblockBytes));
    ASSERT_EQ(newest.checkpointNo, 2u);
    const RunRef run =
        newest.deltaCount != 0 ? newest.mapDelta[newest.deltaCount - 1] : newest.mapBase;
    for (const uint64_t offset : {uint64_t{40}, run.firstBlock * kBlockBytes + 40}) {
        testing::MisreadingFileSystem files(disk_);
        files.misread(kTestPath, offset, UINT64_MAX);
        auto file = BlockFile::open(testOptions(&files));
        ASSERT_TRUE(file.isOk()) << file.status().toString();
        EXPECT_EQ((*file)->root().checkpointNo, 1u);
        EXPECT_EQ(*readContents(**file), (Contents{{1, "older"}}));
        EXPECT_TRUE((*file)->verify()->errors.empty());
        EXPECT_TRUE(readWhole(disk_) == bytes) << "something was written";
        file->reset();
        files.heal();
        const uint64_t before = files.misreadings();
        files.misread(kTestPath, offset, 1);
        file = BlockFile::open(testOptions(&files));
        ASSERT_TRUE(file.isOk()) << file.status().toString();
        EXPECT_EQ(files.misreadings(), before + 1);
        EXPECT_EQ((*file)->root().checkpointNo, 2u) << "it is read once more";
    }
    reopen();
    EXPECT_EQ(file_->startNo(), newest.startNo + 1) << "others have not counted";
    EXPECT_EQ(*readContents(*file_), (Contents{{1, "newest"}}));
}

TEST_F(BlockDamageTest, WritingBeforeItIsStartedIsAMistakeOfOurs) {
    auto file = BlockFile::open(testOptions(&disk_));
    ASSERT_TRUE(file.isOk());
    BlockFile& early = **file;
    EXPECT_DEATH(std::ignore = early.writePage(imageOf(1, "x")).isOk(), "isStarted");
    EXPECT_DEATH(std::ignore = early.commit(Root{}, {}).isOk(), "isStarted");
    EXPECT_DEATH(std::ignore = early.makeRoom().isOk(), "isStarted");
    EXPECT_DEATH(early.settle(), "isStarted");
}

/// A file with two different checkpoints, and the content of each.
TEST_F(BlockDamageTest, NoBitFlipGivesWrongData) {
    const uint64_t seed = testing::testSeed();
    ModelUser user(seed);
    ASSERT_EQ(user.attach(file_.get()), "");
    std::map<uint64_t, Contents> history;
    while (user.acknowledged() < 5) {
        ASSERT_TRUE(user.step().isOk());
        history[user.acknowledged()] = user.committed();
    }
    // A page that opening does not read: its damage is left for the reader to detect.
    ASSERT_TRUE(user.write(1).isOk() && file_->flush().isOk() && user.commit().isOk());
    history[6] = user.committed();
    const std::string bytes = readWhole(disk_);
    const uint64_t pageAt = offsetOf(1);
    std::mt19937_64 random(seed);
    unsigned refused = 0, older = 0, pageDamage = 0;
    for (int i = 0; i < 3000; ++i) {
        std::string flipped = bytes;
        // Superblocks and a page's header are a small part of the file, but most of what can go
        // wrong.
        const bool inPage = i % 4 == 3;
        const uint64_t bytesAimedAt = i % 2 == 0 ? 2 * kBlockBytes
                                      : inPage   ? sizeof(PageHeader)
                                                 : bytes.size();
        const uint64_t bit = (inPage ? pageAt * 8 : 0) + random() % (bytesAimedAt * 8);
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
        MemoryFileSystem disk;
        auto opened = openBytes(&disk, flipped);
        if (!opened.isOk()) {
            EXPECT_EQ(opened.status().code(), Code::kCorruption) << "bit " << bit;
            ++refused;
            continue;
        }
        const uint64_t no = (*opened)->root().checkpointNo;
        ASSERT_GE(no, 5u) << "bit " << bit;
        older += no == 5;
        auto found = readContents(**opened);
        if (!found.isOk()) {
            EXPECT_EQ(found.status().code(), Code::kCorruption) << "bit " << bit;
            ++pageDamage;
        } else {
            ASSERT_EQ(*found, history[no]) << "bit " << bit;
        }
    }
    EXPECT_GT(older, 100u);
    EXPECT_GT(pageDamage + refused, 100u);
}

}  // namespace
}  // namespace freshet::block
