// SPDX-License-Identifier: Apache-2.0
/// Compressed images: smaller on disk, unchanged for the reader. Any damage gives kCorruption or
/// kUnsupported with the place, never wrong data.
#include "freshet/base/checksum.h"
#include "freshet/block/block_file.h"
#include "freshet/block/root/fixture_test_support.h"
#include "freshet/block/root/superblock.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/testing/sim/seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace freshet::block {
namespace {

using ::testing::HasSubstr;
using testing::MemoryFileSystem;

std::string textOf(size_t bytes) {
    std::string text;
    for (int i = 0; text.size() < bytes; ++i) {
        text += "{name: \"package " + std::to_string(i) + "\", section: \"libs\", size: 4096}";
    }
    return text.substr(0, bytes);
}

std::string noiseOf(size_t bytes, std::mt19937_64* random) {
    std::string noise(bytes, '\0');
    for (char& c : noise) {
        c = static_cast<char>((*random)());
    }
    return noise;
}

class BlockCompressTest : public ::testing::TestWithParam<Codec>,
                          protected OneFile<MemoryFileSystem> {
protected:
    PagePlace write(PageId page, const std::string& body) {
        std::string image = imageOf(page, body);
        auto place = file_->writePage(image, GetParam());
        invariant(place.isOk());
        return *place;
    }
    StatusOr<std::string> read(PageId page, const PagePlace& place) {
        std::string image;
        FRESHET_RETURN_IF_ERROR(file_->readPage(page, place, &image));
        return image;
    }
    std::string stored(const PagePlace& place) {
        return readWhole(disk_).substr(place.extent.firstBlock * kBlockBytes,
                                       place.extent.blocks * kBlockBytes);
    }
    void overwrite(const PagePlace& place, ByteView bytes) {
        auto file = disk_.open(kTestPath, platform::OpenMode::kWrite);
        invariant(file.isOk() &&
                  (*file)->pwrite(bytes, place.extent.firstBlock * kBlockBytes).isOk());
    }
    /// Changes the header of the image at `place`, and makes all checksums right again.
    PagePlace forge(PagePlace place, const std::function<void(PageHeader*)>& change) {
        std::string bytes = stored(place);
        auto header = loadLe<PageHeader>(bytes.data());
        change(&header);
        storeLe(bytes.data(), header);
        const size_t from = offsetof(PageHeader, pageId);
        header.crc = crc32c(bytes.data() + from, header.storedLen - from);
        storeLe(bytes.data(), header);
        overwrite(place, bytes);
        place.crc = header.crc;
        return place;
    }
};

TEST_P(BlockCompressTest, TakesLessRoomAndComesBackAsItWas) {
    for (const size_t bytes : {8'000, 32'768, 65'536, 900'000}) {
        const std::string body = textOf(bytes);
        const PagePlace place = write(7, body);
        EXPECT_LE(place.extent.blocks, bytes / kBlockBytes);
        auto image = read(7, place);
        ASSERT_TRUE(image.isOk()) << image.status().toString();
        EXPECT_EQ(bodyOf(*image), body);
        const auto header = loadLe<PageHeader>(image->data());
        EXPECT_EQ(header.codec, 0);
        EXPECT_EQ(header.storedLen, image->size());
        EXPECT_EQ(header.rawLen, image->size());
        EXPECT_EQ(loadLe<PageHeader>(stored(place).data()).codec, static_cast<uint8_t>(GetParam()));
    }
    EXPECT_EQ(file_->stats().pagesCompressed, 4u);
    EXPECT_GT(file_->stats().bytesSaved, 500'000u);
}

TEST_P(BlockCompressTest, StaysRawWhenNoBlockIsSaved) {
    std::mt19937_64 random(testing::testSeed());
    for (const std::string& body : {noiseOf(30'000, &random), textOf(4'000), textOf(1u << 20)}) {
        const PagePlace place = write(3, body);
        EXPECT_EQ(loadLe<PageHeader>(stored(place).data()).codec, 0);
        EXPECT_EQ(bodyOf(*read(3, place)), body);
    }
    EXPECT_EQ(file_->stats().pagesCompressed, 0u);
    ASSERT_TRUE(file_->commit(Root{}, {{3, write(3, "x")}}).isOk());
    EXPECT_EQ(decodeSuperblock(readWhole(disk_).substr(kBlockBytes, kBlockBytes))->flags &
                  kSuperblockCompressed,
              0u);
}

TEST_P(BlockCompressTest, IsThereAfterReopeningAndTheFileSaysSo) {
    const std::string body = textOf(40'000);
    const PagePlace place = write(5, body);
    ASSERT_TRUE(file_->commit(Root{}, {{5, place}}).isOk());  // without a flush: a late image
    EXPECT_EQ(placeOf(*file_, 5).extent.firstBlock, place.extent.firstBlock);
    EXPECT_EQ(placeOf(*file_, 6).extent.blocks, 0u);
    for (int round = 0; round < 2; ++round) {
        reopen();
        EXPECT_EQ(*readContents(*file_), (Contents{{5, body}}));
        auto report = file_->verify();
        ASSERT_TRUE(report.isOk());
        EXPECT_TRUE(report->errors.empty());
        EXPECT_EQ(report->bytes, place.extent.blocks * kBlockBytes);
    }
    for (uint64_t copy = 0; copy < kSuperblockCopies; ++copy) {
        EXPECT_EQ(decodeSuperblock(readWhole(disk_).substr(copy * kBlockBytes, kBlockBytes))->flags,
                  kSuperblockCompressed | kSuperblockNotes);
    }
}

TEST_P(BlockCompressTest, EveryBitFlipAndEveryCutIsNoticed) {
    std::mt19937_64 random(testing::testSeed());
    const std::string body = textOf(20'000);
    const PagePlace place = write(5, body);
    const std::string whole = stored(place);
    const size_t bytes = loadLe<PageHeader>(whole.data()).storedLen;
    for (int round = 0; round < 500; ++round) {
        std::string damaged = whole;
        const size_t at = random() % bytes;
        if (round % 2 == 0) {
            damaged[at] ^= static_cast<char>(1u << random() % 8);
        } else {
            damaged.replace(at, std::string::npos, whole.substr(0, damaged.size() - at));
            damaged[at] = static_cast<char>(~whole[at]);
        }
        overwrite(place, damaged);
        const auto image = read(5, place);
        EXPECT_EQ(image.status().code(), Code::kCorruption) << at;
        EXPECT_THAT(std::string(image.status().text()), HasSubstr("page 5 at offset"));
    }
    overwrite(place, whole);
    EXPECT_EQ(bodyOf(*read(5, place)), body);
}

TEST_P(BlockCompressTest, LyingLengthsAreFoundBeforeMemoryIsSetAside) {
    const std::string body = textOf(20'000);
    const auto rawLen = static_cast<uint32_t>(body.size() + sizeof(PageHeader));
    for (const uint32_t lie :
         {0u, 1u, 96u, rawLen - 1, rawLen + 1, 1u << 20, (1u << 20) + 1, 1u << 31, 0xffffffffu}) {
        const PagePlace place =
            this->forge(write(5, body), [&](PageHeader* header) { header->rawLen = lie; });
        const auto image = read(5, place);
        EXPECT_EQ(image.status().code(), Code::kCorruption) << lie;
        EXPECT_THAT(std::string(image.status().text()), HasSubstr("page 5 at offset"));
    }
    const PagePlace raw = forge(write(5, body), [](PageHeader* header) { header->codec = 0; });
    EXPECT_EQ(read(5, raw).status().code(), Code::kCorruption);
}

TEST_P(BlockCompressTest, ABodyThatIsNotOfItsCodecIsDamage) {
    std::mt19937_64 random(testing::testSeed());
    for (int round = 0; round < 300; ++round) {
        const PagePlace place = write(5, textOf(20'000));
        std::string bytes = stored(place);
        const size_t length = loadLe<PageHeader>(bytes.data()).storedLen;
        const size_t at = sizeof(PageHeader) + random() % (length - sizeof(PageHeader));
        bytes.replace(at, length - at, noiseOf(length - at, &random));
        overwrite(place, bytes);
        const auto image = read(5, forge(place, [](PageHeader*) {}));
        if (image.isOk()) {
            EXPECT_EQ(image->size(), 20'000 + sizeof(PageHeader));
        } else {
            EXPECT_EQ(image.status().code(), Code::kCorruption);
        }
    }
}

TEST_P(BlockCompressTest, AnUnknownCodecIsOfANewerVersion) {
    const PagePlace place =
        forge(write(5, textOf(20'000)), [](PageHeader* header) { header->codec = 3; });
    EXPECT_EQ(read(5, place).status().code(), Code::kUnsupported);
}

INSTANTIATE_TEST_SUITE_P(Codecs,
                         BlockCompressTest,
                         ::testing::Values(Codec::kZstd, Codec::kSnappy));

}  // namespace
}  // namespace freshet::block
