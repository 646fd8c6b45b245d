// SPDX-License-Identifier: Apache-2.0
/// TreeCore: the part of a merge that any thread may have to finish: steps 3 and 4 of
/// leaf_removal.h. A writer that needs a key of the leaf meets a leaf that is frozen for good.
#include "freshet/base/assert.h"
#include "freshet/engine/node/leaf_merge.h"
#include "freshet/engine/tree/tree_core.h"
#include "freshet/engine/variants/mutant.h"

namespace freshet::engine {

namespace {

/// The entries of the leaving leaf, which has no changes, and then those of its right neighbour.
FoldPlan mergedPlan(const LeafNode& leaving, const FoldPlan& own) {
    const LeafNode& old = *own.leaf;
    FoldPlan plan;
    plan.prefixLen = fencePrefix(leaving.low, old.high);
    // The fences lie further apart, so the keys have less in common.
    auto longer = [&](const LeafNode& leaf, ByteView tail) {
        return ByteView(plan.tails.emplace_back(leaf.prefix().substr(plan.prefixLen)).append(tail));
    };
    const KeyArray& keys = leaving.image.keys();
    for (uint32_t i = 0; i < keys.size(); ++i) {
        plan.add(longer(leaving, keys.tail(i)), leaving.image.value(i), nullptr);
    }
    for (const FoldPlan::Entry& entry : own.entries) {
        plan.add(longer(old, entry.tail), entry.base, entry.chain);
    }
    return plan;
}

}  // namespace

void TreeCore::finishMerge(PageEntry* entry, LeafNode* leaving) {
    PageEntry* target = leaving->right;
    if (mutated(Mutant::kGoneBeforeMerged)) {
        markGone(entry, leaving);
    }
    for (;;) {
        // The target keeps its low fence until it has the leaving leaf's keys, and never has that
        // fence again. It is not evicted before that either.
        Node* node = nodeOf(*target);
        if (node->low != leaving->high) {
            break;
        }
        invariant(node->isLeaf());
        if (mergeInto(target, static_cast<LeafNode*>(node), *leaving)) {
            break;
        }
    }
    markGone(entry, leaving);
}

void TreeCore::markGone(PageEntry* entry, LeafNode* leaving) {
    LeafNode* gone = leaves_.newLeaf(leaving->low, leaving->low, {}, {});
    gone->right = leaving->right;
    if (!install(entry, leaving, gone)) {
        destroyNode(gone);
    }
}

bool TreeCore::mergeInto(PageEntry* target, LeafNode* old, const LeafNode& leaving) {
    old->freeze();
    const FoldPlan own = leaves_.fold(*old);
    const FoldPlan plan = mergedPlan(leaving, own);
    LeafNode* merged = leaves_.build(plan, 0, plan.entries.size(), leaving.low, old->high);
    merged->right = standInOf(old->right);
    if (!install(target, old, merged)) {
        destroyNode(merged);
        return false;
    }
    leaves_.retireFolded(own);
    return true;
}

}  // namespace freshet::engine
