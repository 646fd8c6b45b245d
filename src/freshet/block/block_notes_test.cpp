// SPDX-License-Identifier: Apache-2.0
/// Owners' notes on pages, and files from before there were notes.
#include "freshet/base/checksum.h"
#include "freshet/block/block_file.h"
#include "freshet/block/root/fixture_test_support.h"
#include "freshet/block/root/map_format.h"
#include "freshet/block/root/superblock.h"
#include "freshet/testing/sim/memory_file_system.h"

#include <gtest/gtest.h>

namespace freshet::block {
namespace {

using testing::MemoryFileSystem;
using Notes = std::map<PageId, uint64_t>;

class BlockNotesTest : public ::testing::Test, protected OneFile<MemoryFileSystem> {
protected:
    PagePlace write(PageId page, uint64_t note) {
        auto place = file_->writePage(imageOf(page, bodyFor(page)), Codec::kNone, note);
        invariant(place.isOk());
        EXPECT_EQ(place->note, note);
        return *place;
    }
    void commit(const std::vector<BlockFile::Change>& changes) {
        ASSERT_TRUE(file_->commit(Root{}, changes).isOk());
        file_->settle();
    }
    Notes notes() {
        Notes found;
        invariant(file_
                      ->forEachPage([&](PageId page, const PagePlace& place) {
                          found[page] = place.note;
                          return Status::ok();
                      })
                      .isOk());
        return found;
    }
    void expectWhole(PageId first, PageId end) {
        auto contents = readContents(*file_);
        ASSERT_TRUE(contents.isOk()) << contents.status().toString();
        ASSERT_EQ(contents->size(), end - first);
        for (PageId page = first; page < end; ++page) {
            EXPECT_EQ((*contents)[page], bodyFor(page));
        }
        auto report = file_->verify();
        ASSERT_TRUE(report.isOk());
        EXPECT_TRUE(report->errors.empty());
    }
    static std::string bodyFor(PageId page) { return std::string(5000 + page, 'b'); }
};

TEST_F(BlockNotesTest, ComeBackFromTheBaseAndFromDeltas) {
    std::vector<BlockFile::Change> changes;
    for (PageId page = 1; page <= 20; ++page) {
        changes.push_back({page, write(page, page * 100)});
    }
    commit(changes);  // a base
    commit({{3, write(3, UINT64_MAX)}, {21, write(21, 0)}});
    for (int round = 0; round < 2; ++round) {
        Notes found = notes();
        EXPECT_EQ(found.size(), 21u);
        EXPECT_EQ(found[3], UINT64_MAX);
        EXPECT_EQ(found[20], 2000u);
        EXPECT_EQ(found[21], 0u);
        EXPECT_EQ(placeOf(*file_, 3).note, UINT64_MAX);
        reopen();
    }
    expectWhole(1, 22);
}

TEST_F(BlockNotesTest, AnotherNoteForTheSameImageFreesNothing) {
    commit({{1, write(1, 0)}, {2, write(2, 7)}});
    PagePlace place = placeOf(*file_, 1);
    place.note = 11;
    commit({{1, place}});
    EXPECT_EQ(placeOf(*file_, 1).note, 11u);
    EXPECT_EQ(placeOf(*file_, 1).extent.firstBlock, place.extent.firstBlock);
    // Fills all free space.
    const uint64_t free = file_->stats().freeBytes / kBlockBytes;
    for (PageId page = 3; page < 3 + free; ++page) {
        commit({{page, write(page, page)}});
    }
    expectWhole(1, 3 + free);
    reopen();
    expectWhole(1, 3 + free);
    EXPECT_EQ(notes()[1], 11u);
}

/// Turns a run into the form it had before there were notes.
void makeBare(std::string* bytes, RunRef* ref) {
    if (ref->blocks == 0) {
        return;
    }
    const uint64_t begin = ref->firstBlock * kBlockBytes;
    auto header = loadLe<RunHeader>(bytes->data() + begin);
    header.version = kRunVersionBare;
    std::string run(reinterpret_cast<const char*>(&header), sizeof(header));
    for (uint64_t i = 0; i < ref->count; ++i) {
        run += bytes->substr(begin + sizeof(header) + i * sizeof(MapEntry), kBareEntryBytes);
    }
    ref->crc = crc32c(run.data(), run.size());
    bytes->replace(begin, run.size(), run);
}

TEST_F(BlockNotesTest, RunsFromBeforeAreReadAndTheirSuccessorsHaveNotes) {
    // Several blocks of entries; entries cross block boundaries.
    constexpr PageId kPages = 600;
    std::vector<BlockFile::Change> changes;
    for (PageId page = 1; page <= kPages; ++page) {
        changes.push_back({page, write(page, page)});
    }
    commit(changes);
    commit({{3, write(3, 3)}});
    file_.reset();
    std::string bytes = readWhole(disk_);
    for (uint64_t copy = 0; copy < kSuperblockCopies; ++copy) {
        auto superblock = loadLe<Superblock>(bytes.data() + copy * kBlockBytes);
        superblock.flags = 0;
        std::string untouched = bytes;
        std::string* const into = superblock.checkpointNo == 2 ? &bytes : &untouched;
        makeBare(into, &superblock.mapBase);
        makeBare(into, &superblock.mapDelta[0]);
        makeBare(into, &superblock.lateImages);
        bytes.replace(copy * kBlockBytes, kBlockBytes, encodeSuperblock(superblock));
    }
    writeWhole(disk_, bytes);
    reopen();
    EXPECT_EQ(file_->root().checkpointNo, 2u);
    expectWhole(1, kPages + 1);
    for (const auto& [page, note] : notes()) {
        EXPECT_EQ(note, 0u) << page;
    }
    // A new delta beside an old base.
    const uint64_t pending = file_->stats().pendingBytes;
    changes.clear();
    for (PageId page = 4; page <= kPages; page += 50) {
        changes.push_back({page, write(page, page * 11)});
    }
    ASSERT_TRUE(file_->commit(Root{}, changes).isOk());
    EXPECT_GE(file_->stats().pendingBytes, pending + changes.size() * 2 * kBlockBytes)
        << "each was found, and is replaced";
    reopen();
    expectWhole(1, kPages + 1);
    EXPECT_EQ(notes()[4], 44u);
    EXPECT_EQ(notes()[554], 554u * 11);
    EXPECT_EQ(notes()[5], 0u);
    EXPECT_EQ(decodeSuperblock(readWhole(disk_).substr(kBlockBytes, kBlockBytes))->flags,
              kSuperblockNotes);
}

}  // namespace
}  // namespace freshet::block
