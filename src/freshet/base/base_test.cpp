// SPDX-License-Identifier: Apache-2.0
#include "freshet/base/bytes.h"
#include "freshet/base/checksum.h"
#include "freshet/base/cut_text.h"
#include "freshet/base/free_memory.h"
#include "freshet/base/spare_strings.h"
#include "freshet/base/status.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace freshet {
namespace {

TEST(Checksum, MatchesThePublishedCheckValue) {
    EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
}

TEST(Checksum, GoesOnFromAnEarlierResult) {
    EXPECT_EQ(crc32c("56789", 5, crc32c("1234", 4)), crc32c("123456789", 9));
}

TEST(Checksum, IsTheSameInPiecesOfAnyLength) {
    std::string bytes;
    for (int i = 0; i < 300; ++i) {
        bytes.push_back(static_cast<char>(i * 37 + i / 11));
    }
    const uint32_t whole = crc32c(bytes.data(), bytes.size());
    for (size_t piece = 1; piece <= bytes.size(); ++piece) {
        uint32_t crc = 0;
        for (size_t at = 0; at < bytes.size(); at += piece) {
            crc = crc32c(bytes.data() + at, std::min(piece, bytes.size() - at), crc);
        }
        EXPECT_EQ(crc, whole) << piece;
    }
    EXPECT_EQ(crc32c(nullptr, 0), 0u);
}

TEST(Bytes, BigEndianOrderIsNumericOrder) {
    std::string small;
    std::string large;
    appendBe64(small, 255);
    appendBe64(large, 256);
    EXPECT_LT(small, large);
    EXPECT_EQ(loadBe64(large.data()), 256u);
}

TEST(Status, CarriesCodeReasonAndText) {
    Status status = badValue("no").withContext("find");
    EXPECT_EQ(status.code(), Code::kInvalid);
    EXPECT_EQ(status.reason(), Reason::kBadValue);
    EXPECT_EQ(status.text(), "find: no");
    EXPECT_TRUE(Status::ok().isOk());
}

StatusOr<int> half(int x) {
    if (x % 2 != 0) {
        return badValue("odd");
    }
    return x / 2;
}

Status quarter(int x, int* out) {
    FRESHET_ASSIGN_OR_RETURN(int h, half(x));
    FRESHET_ASSIGN_OR_RETURN(*out, half(h));
    return Status::ok();
}

TEST(StatusOr, MacrosPassTheErrorOn) {
    int out = 0;
    EXPECT_TRUE(quarter(12, &out).isOk());
    EXPECT_EQ(out, 3);
    EXPECT_EQ(quarter(6, &out).text(), "odd");
}

TEST(SpareStrings, ComeBackEmptyAndNeverTwice) {
    std::vector<std::string> taken;
    for (int i = 0; i < 40; ++i) {  // more than are kept
        taken.emplace_back(static_cast<size_t>(i) * 700, 'x');
    }
    for (std::string& string : taken) {
        giveSpareString(std::move(string));
    }
    taken.clear();
    std::set<const char*> places;
    for (int i = 0; i < 40; ++i) {
        taken.push_back(takeSpareString());
        EXPECT_TRUE(taken.back().empty());
        EXPECT_LE(taken.back().capacity(), 16u * 1024u);  // large ones are not kept
        taken.back().assign(100, static_cast<char>('a' + i % 26));
        EXPECT_TRUE(places.insert(taken.back().data()).second);
    }
}

TEST(CutText, LeavesCharactersWhole) {
    EXPECT_EQ("", cutText("", 3));
    EXPECT_EQ("abcdef", cutText("abcdef", 6));
    EXPECT_EQ("ab...", cutText("abcdef", 5));
    const std::string text = "a\u00e9\u20ac\U0001f600z";  // of 1, 2, 3, 4 bytes and 1
    const std::vector<std::string> expected{"...",
                                            "a...",
                                            "a...",
                                            "a\u00e9...",
                                            "a\u00e9...",
                                            "a\u00e9...",
                                            "a\u00e9\u20ac...",
                                            "a\u00e9\u20ac..."};
    for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(expected[i], cutText(text, 3 + i)) << i;
    }
    EXPECT_EQ(8u, cutText(std::string(100, '\x80'), 11).size());  // no UTF-8
}

TEST(Status, CutsItsText) {
    const Status status = badValue(std::string(10'000, 'x'));
    EXPECT_EQ(4096u, status.text().size());
    EXPECT_TRUE(status.text().ends_with("x..."));
    EXPECT_EQ(4096u, status.withContext("while reading").text().size());
    EXPECT_EQ(4096u, badValue(std::string(4096, 'x')).text().size());
}

TEST(FreeMemory, LeavesAnEmptyStringWithoutMemory) {
    std::string text(1000, 'x');
    freeMemory(&text);
    EXPECT_TRUE(text.empty());
    EXPECT_EQ(text.capacity(), std::string().capacity());
}

}  // namespace
}  // namespace freshet
