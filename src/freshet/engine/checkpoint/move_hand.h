// SPDX-License-Identifier: Apache-2.0
/// What one checkpoint may spend on moving images so that the file can be cut: pages looked at, of
/// all trees in turn, and blocks written for that alone. The next one goes on where it stopped. The
/// checkpoint's thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace freshet::engine {

class MoveHand {
public:
    /// A checkpoint begins, which asks for its trees by rising numbers. 0 of either: it has no
    /// share.
    void begin(uint64_t blocks, size_t looks) {
        if (!isSpent()) {
            tree_ = 0;  // it came to the end the last time
        }
        blocks_ = blocks;
        looks_ = looks;
    }
    /// Pays for a look at one more page of the tree. False: it is not the tree's turn, or all is
    /// spent.
    bool takeLook(uint32_t tree) {
        if (isSpent() || tree < tree_) {
            return false;
        }
        tree_ = tree;
        --looks_;
        return true;
    }
    bool affords(uint64_t blocks) const { return blocks <= blocks_; }
    void pay(uint64_t blocks) { blocks_ -= std::min(blocks, blocks_); }

private:
    bool isSpent() const { return blocks_ == 0 || looks_ == 0; }

    uint32_t tree_ = 0;  // where it is; of trees before this one it has seen all
    uint64_t blocks_ = 0;
    size_t looks_ = 0;
};

}  // namespace freshet::engine
