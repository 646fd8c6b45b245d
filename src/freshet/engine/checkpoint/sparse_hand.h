// SPDX-License-Identifier: Apache-2.0
/// A hand that goes over the leaves of all trees, those on disk as well, and brings back what could
/// be fewer leaves, so that they are (decision 0034). It knows without reading what a leaf on disk
/// holds, or guesses it once. The checkpoint's thread; it is given a share of each checkpoint and
/// goes on where it stopped.
#pragma once

#include "freshet/engine/checkpoint/tree_writer.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace freshet::engine {

class SparseHand {
public:
    /// What one checkpoint may spend. The last leaves that it pays for may be two more.
    struct Share {
        size_t looks = 0;    // leaves looked at
        size_t leaves = 0;   // of those, brought back
        uint64_t bytes = 0;  // which take so much memory, about
    };
    /// A checkpoint begins; no share is none. Then pass() is to be called for each tree, by rising
    /// numbers.
    void begin(const Share& share);
    /// REQUIRES: as TreeWriter::removeSparse().
    void pass(PageTree& tree, CheckpointSink& sink);
    /// Another round would not be in vain, as far as it knows: in this one it has brought leaves
    /// back, and it stopped in this checkpoint since that was as much as it might, or it came to
    /// the end, but of what lies in front of where it went on it knows only what was there then.
    bool hasMore() const {
        const bool isUsedUp = left_.leaves == 0 || left_.bytes == 0;
        return hasShare_ && broughtAny_ && (isUsedUp || (goesOn_ && !isSpent()));
    }

private:
    bool isSpent() const { return left_.looks == 0 || left_.leaves == 0 || left_.bytes == 0; }
    /// Of the parent of key_: the leaves that are to be in memory, from left to right. Moves key_
    /// on.
    std::vector<PageEntry*> search(PageTree& tree);
    void payFor(const PageTree& tree, const PageEntry& leaf);

    uint32_t tree_ = 0;  // where it is; of trees before this one it has seen all
    std::string key_;
    Share left_;
    bool hasShare_ = false;
    bool goesOn_ = false;      // this checkpoint began where another one stopped
    bool broughtAny_ = false;  // in this round, which other checkpoints may have begun
};

}  // namespace freshet::engine
