// SPDX-License-Identifier: Apache-2.0
/// A clock hand that passes over the leaves of all trees, also those on disk, and brings back
/// leaves that can be merged into fewer (decision 0034). It knows without reading how much a leaf
/// on disk holds, or guesses it once. Used by the checkpoint's thread; gets a share of each
/// checkpoint and continues where it stopped.
#pragma once

#include "freshet/engine/checkpoint/tree_writer.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace freshet::engine {

class SparseHand {
public:
    /// What one checkpoint may spend. The last leaves may exceed it by two.
    struct Share {
        size_t looks = 0;    // leaves looked at
        size_t leaves = 0;   // leaves brought back
        uint64_t bytes = 0;  // their memory, approximately
    };
    /// Begins a checkpoint; an empty share: it does nothing. Then pass() is called for each tree,
    /// by rising numbers.
    void begin(const Share& share);
    /// REQUIRES: as TreeWriter::removeSparse().
    void pass(PageTree& tree, CheckpointSink& sink);
    /// Whether another round is expected to find something: in this round the hand has brought
    /// leaves back, and either it stopped in this checkpoint because its share was used up, or it
    /// came to the end but began in the middle, so that what lies before that point is known only
    /// from an earlier checkpoint.
    bool hasMore() const {
        const bool isUsedUp = left_.leaves == 0 || left_.bytes == 0;
        return hasShare_ && broughtAny_ && (isUsedUp || (goesOn_ && !isSpent()));
    }

private:
    bool isSpent() const { return left_.looks == 0 || left_.leaves == 0 || left_.bytes == 0; }
    /// The leaves below the parent of key_ that must be in memory, from left to right. Moves key_
    /// on.
    std::vector<PageEntry*> search(PageTree& tree);
    void payFor(const PageTree& tree, const PageEntry& leaf);

    uint32_t tree_ = 0;  // current tree; all trees before it have been visited
    std::string key_;
    Share left_;
    bool hasShare_ = false;
    bool goesOn_ = false;      // this checkpoint began where another one stopped
    bool broughtAny_ = false;  // in this round, which other checkpoints may have begun
};

}  // namespace freshet::engine
