// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/page/page_image.h"

#include "freshet/engine/store.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <random>

namespace freshet::engine {
namespace {

constexpr PageId kPage = kFirstPageId + 7;

std::string leafImage() {
    PageHead head;
    head.page = kPage;
    head.tree = 9;
    head.low = "prefix/a";
    head.high = "prefix/n";
    head.prefix = "prefix/";
    head.right = kPage + 1;
    PageImageWriter writer(head);
    const std::string longValue(300, 'x');
    writer.addValue("a", "");
    writer.addValue(ByteView("b\0", 2), "value");
    writer.addLargeValue("ccccccccccccccc", kPage + 5, 16'000'000);
    writer.addValue("m", longValue);
    return writer.take();
}

std::string innerImage() {
    PageHead head;
    head.kind = block::PageKind::kInner;
    head.page = 9;
    head.tree = 9;
    head.level = 2;
    head.firstChild = kPage;
    PageImageWriter writer(head);
    writer.addChild("b", kPage + 1);
    writer.addChild("bb", kPage + 2);
    return writer.take();
}

TEST(PageImage, ALeafComesBack) {
    const std::string bytes = leafImage();
    auto image = readPageImage(bytes);
    ASSERT_TRUE(image.isOk()) << image.status().toString();
    EXPECT_EQ(image->head.kind, block::PageKind::kLeafBytes);
    EXPECT_EQ(image->head.page, kPage);
    EXPECT_EQ(image->head.tree, 9u);
    EXPECT_EQ(image->head.low, "prefix/a");
    EXPECT_EQ(image->head.high, "prefix/n");
    EXPECT_EQ(image->head.prefix, "prefix/");
    EXPECT_EQ(image->head.right, kPage + 1);
    ASSERT_EQ(image->cells.size(), 4u);
    EXPECT_EQ(image->cells[0].value, "");
    EXPECT_EQ(image->cells[1].tail, ByteView("b\0", 2));
    EXPECT_EQ(image->cells[1].value, "value");
    EXPECT_EQ(image->cells[2].page, kPage + 5);
    EXPECT_EQ(image->cells[2].valueBytes, 16'000'000u);
    EXPECT_EQ(image->cells[3].value, std::string(300, 'x'));
}

TEST(PageImage, AnInnerPageComesBack) {
    const std::string bytes = innerImage();
    auto image = readPageImage(bytes);
    ASSERT_TRUE(image.isOk()) << image.status().toString();
    EXPECT_EQ(image->head.level, 2);
    EXPECT_EQ(image->head.firstChild, kPage);
    ASSERT_EQ(image->cells.size(), 2u);
    EXPECT_EQ(image->cells[1].tail, "bb");
    EXPECT_EQ(image->cells[1].page, kPage + 2);
}

TEST(PageImage, ALargeValueComesBack) {
    const std::string value(size_t{20'000}, 'v');
    const std::string image = writeLargeValue(kPage, 9, value);
    auto back = readLargeValue(image);
    ASSERT_TRUE(back.isOk());
    EXPECT_EQ(*back, value);
    EXPECT_EQ(readLargeValue(leafImage()).status().code(), Code::kCorruption);
    EXPECT_EQ(readPageImage(image).status().code(), Code::kCorruption);
}

TEST(PageImage, ANewerOneIsNotTaken) {
    std::string bytes = leafImage();
    auto header = loadLe<block::PageHeader>(bytes.data());
    header.flags += 0x100;
    storeLe(bytes.data(), header);
    EXPECT_EQ(readPageImage(bytes).status().code(), Code::kUnsupported);
    header.flags -= 0x100;
    header.codec = 1;
    storeLe(bytes.data(), header);
    EXPECT_EQ(readPageImage(bytes).status().code(), Code::kUnsupported);
}

/// Whatever is changed, reading ends with a valid image or an error and touches no other memory
/// (ASan).
TEST(PageImage, DamageDoesNoHarm) {
    std::mt19937_64 random(testing::testSeed());
    size_t refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string bytes = i % 2 == 0 ? leafImage() : innerImage();
        for (uint64_t n = random() % 4; n < 4; ++n) {
            bytes[random() % bytes.size()] = static_cast<char>(random());
        }
        if (random() % 4 == 0) {
            bytes.resize(random() % bytes.size());
        }
        auto image = readPageImage(bytes);
        if (!image.isOk()) {
            ++refused;
            continue;
        }
        for (const PageCell& cell : image->cells) {
            EXPECT_LE(cell.tail.size() + cell.value.size(), bytes.size());
        }
    }
    EXPECT_GT(refused, 10'000u);
}

TEST(PageImage, KeysOutOfOrderAreRefused) {
    PageHead head;
    head.page = kPage;
    PageImageWriter writer(head);
    writer.addValue("b", "1");
    writer.addValue("a", "2");
    EXPECT_EQ(readPageImage(writer.take()).status().code(), Code::kCorruption);
}

}  // namespace
}  // namespace freshet::engine
