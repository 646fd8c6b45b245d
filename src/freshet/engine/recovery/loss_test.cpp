// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/loss.h"

#include <gtest/gtest.h>

namespace freshet::engine {
namespace {

TEST(Loss, IsReadAsItIsWritten) {
    const std::string line = "data.freshet: page 7 at offset 4096: its checksum is wrong; ";
    const auto range = treeLossIn(line + textOf(TreeLoss{6, std::string("\0\x1f", 2), "\xab"}));
    ASSERT_TRUE(range.has_value());
    EXPECT_EQ(range->tree, 6u);
    EXPECT_EQ(range->low, std::string("\0\x1f", 2));
    EXPECT_EQ(range->high, "\xab");
    EXPECT_FALSE(range->isOneKey || range->isCut);
    const auto one = treeLossIn(line + textOf(TreeLoss{2, std::string(100, 'k'), "", true}));
    ASSERT_TRUE(one.has_value());
    EXPECT_TRUE(one->isOneKey && one->isCut);
    EXPECT_FALSE(treeLossIn(line + "tree 6 had an inner page there, which was made anew"));
    for (const char* other : {"", "; tree ", "; tree 6 had the keys from x'0", "; tree x"}) {
        EXPECT_FALSE(treeLossIn(other).has_value()) << other;
    }
}

}  // namespace
}  // namespace freshet::engine
