// SPDX-License-Identifier: Apache-2.0
/// Values of a page: each is read back as it was, whatever layout the page chose for all of them.
#include "freshet/engine/page/leaf_image.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace freshet::engine {
namespace {

/// Builds an image of these values; a value that begins with "shared" lives in a buffer of its own.
void expectKept(const std::vector<std::string>& wanted) {
    constexpr std::string_view kShared = "shared";
    std::vector<std::string> keys;
    std::vector<ValueRef> values;
    std::vector<ValueBuffer*> buffers;
    for (const std::string& value : wanted) {
        keys.push_back("k" + std::to_string(100 + keys.size()));
        if (ByteView(value).substr(0, kShared.size()) == kShared) {
            buffers.push_back(ValueBuffer::create(value, nullptr));
            values.push_back({buffers.back()->bytes(), buffers.back()});
        } else {
            values.push_back({value, nullptr});
        }
    }
    const std::vector<ByteView> tails(keys.begin(), keys.end());
    {
        const LeafImage image(tails, values);
        for (ValueBuffer* buffer : buffers) {
            buffer->drop();  // the image holds them
        }
        ASSERT_EQ(image.keys().size(), wanted.size());
        for (uint32_t i = 0; i < wanted.size(); ++i) {
            EXPECT_EQ(image.value(i).bytes, wanted[i]);
            EXPECT_EQ(image.value(i).shared != nullptr, wanted[i].find(kShared) == 0);
            EXPECT_EQ(image.keys().tail(i), keys[i]);
        }
    }
}

TEST(LeafImage, ValuesComeBackAsTheyWere) {
    expectKept({});
    expectKept({""});
    expectKept({"", "", ""});
    expectKept({"12345678", "abcdefgh", "ABCDEFGH"});
    expectKept({"one", "three", "two"});
    expectKept({"same", "size", "shared with others"});
    expectKept({"shared1", "shared2"});
}

/// Values of a page that lie behind so many other bytes each stay in that page.
void expectLeftInPlace(const std::vector<std::string>& wanted, const std::vector<size_t>& gaps) {
    constexpr size_t kPageBytes = 8192;
    block::PageBuffer page;
    char* memory = page.reset(kPageBytes);
    std::vector<std::string> keys;
    std::vector<ValueRef> values;
    size_t at = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
        at += gaps[i % gaps.size()];
        wanted[i].copy(memory + at, wanted[i].size());
        values.push_back({{memory + at, wanted[i].size()}, nullptr});
        keys.push_back("k" + std::to_string(100 + i));
        at += wanted[i].size();
    }
    const std::vector<ByteView> tails(keys.begin(), keys.end());
    const LeafImage image(tails, values, std::move(page));
    EXPECT_EQ(page.room(), 0u);
    EXPECT_GE(image.memoryBytes(), kPageBytes + image.keys().memoryBytes());
    for (uint32_t i = 0; i < wanted.size(); ++i) {
        EXPECT_EQ(image.value(i).bytes, wanted[i]);
        EXPECT_EQ(image.value(i).bytes.data(), values[i].bytes.data());
    }
}

TEST(LeafImage, ValuesStayInTheirPage) {
    expectLeftInPlace({"one"}, {100});
    expectLeftInPlace({"12345678", "abcdefgh", "ABCDEFGH", "87654321"}, {11});
    expectLeftInPlace({"12345678", "abcdefgh", "ABCDEFGH", "87654321"}, {11, 12});
    expectLeftInPlace({"one", "three", "", "two"}, {3, 7});
    expectLeftInPlace({"", "", ""}, {5});
}

TEST(LeafImage, ValuesOfOneLengthNeedNoCells) {
    const std::vector<std::string> keys = {"a", "b", "c", "d"};
    const std::vector<ByteView> tails(keys.begin(), keys.end());
    const std::vector<ValueRef> even(4, {"12345678", nullptr});
    std::vector<ValueRef> uneven = even;
    uneven[3].bytes = "1234567";
    EXPECT_LT(LeafImage(tails, even).memoryBytes(), LeafImage(tails, uneven).memoryBytes());
}

}  // namespace
}  // namespace freshet::engine
