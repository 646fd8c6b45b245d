// SPDX-License-Identifier: Apache-2.0
/// Folds frozen leaves and builds their replacements: what every snapshot agrees on goes into a new
/// base, the rest is carried over. Knows nothing of the tree around a leaf. All calls REQUIRE an
/// open slice.
#pragma once

#include "freshet/block/block_file.h"
#include "freshet/engine/tree/fold_plan.h"
#include "freshet/engine/tree/tree_env.h"
#include "freshet/sync/atomic.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace freshet::engine {

class LeafFolder {
public:
    explicit LeafFolder(TreeEnv* env) : env_(*env) {}
    LeafFolder(const LeafFolder&) = delete;
    LeafFolder& operator=(const LeafFolder&) = delete;

    /// REQUIRES: the leaf is frozen.
    FoldPlan fold(const LeafNode& leaf) const;
    /// Whether a fold would leave no changes.
    bool foldsWhole(const LeafNode& leaf) const;
    /// Whether a fold would move any change into the base.
    bool hasFoldable(const LeafNode& leaf) const;
    /// A leaf without its right neighbour. `page`: as LeafImage's.
    LeafNode* newLeaf(ByteView low,
                      ByteView high,
                      std::span<const ByteView> tails,
                      std::span<const ValueRef> values,
                      block::PageBuffer page = {}) const;
    /// The same of the plan's entries from `begin` to `end`.
    LeafNode* build(
        const FoldPlan& plan, size_t begin, size_t end, ByteView low, ByteView high) const;
    /// REQUIRES: the caller has installed what replaces the plan's leaf.
    void retireFolded(const FoldPlan& plan) const;
    /// How many of the plan's entries stay in the left half of a split; 0: no split is due.
    size_t cutOf(const FoldPlan& plan) const;
    /// A limit of TreeLimits for leaves, as it holds for the leaves of this tree.
    uint32_t limitOf(uint32_t limit) const;

    /// How the leaves are stored. Written by: the store's owner, at any time [tree.codec]. Read by:
    /// the checkpoint, in each of its rounds, and threads that split leaves [tree.codecRead].
    /// Relaxed: it publishes no other data.
    sync::Atomic<block::Codec> codec{block::Codec::kNone};

private:
    void foldKey(ByteView tail,
                 const std::optional<ValueRef>& base,
                 const DeltaKey::Link& chain,
                 uint64_t minReadTs,
                 FoldPlan* plan) const;
    /// Which record ids get cells in the part of a plan that begins there and ends with the plan.
    CellRange cellsFor(const FoldPlan& plan, size_t begin) const;

    TreeEnv& env_;
};

}  // namespace freshet::engine
