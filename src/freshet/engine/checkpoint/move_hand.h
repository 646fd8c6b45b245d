// SPDX-License-Identifier: Apache-2.0
/// What one checkpoint may spend on moving images so that the file can be cut: the number of pages
/// it looks at, over all trees in turn, and of blocks it writes only for that. The next checkpoint
/// continues where it stopped. Used by the checkpoint's thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace freshet::engine {

class MoveHand {
public:
    /// Begins a checkpoint, which visits its trees by rising numbers. If either is 0, this
    /// checkpoint moves nothing.
    void begin(uint64_t blocks, size_t looks) {
        if (!isSpent()) {
            tree_ = 0;  // the last pass reached the end
        }
        blocks_ = blocks;
        looks_ = looks;
    }
    /// Pays for a look at one more page of the tree. False: it is not this tree's turn, or
    /// everything is spent.
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

    uint32_t tree_ = 0;  // current tree; all trees before it have been visited
    uint64_t blocks_ = 0;
    size_t looks_ = 0;
};

}  // namespace freshet::engine
