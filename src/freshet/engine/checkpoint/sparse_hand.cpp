// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/checkpoint/sparse_hand.h"

#include "freshet/engine/node/disk_leaf.h"
#include "freshet/engine/tree/page_node.h"

#include <algorithm>

namespace freshet::engine {
namespace {

/// Whether the leaf can be brought into memory at the cost of its own size: large values would come
/// with it, and a leaf that could not be read does not come back.
bool canComeBack(const Node& leaf) {
    if (!leaf.isOnDisk) {
        return true;
    }
    const auto& away = static_cast<const DiskLeaf&>(leaf);
    return away.largeValues().empty() && away.failure().isOk();
}

/// The conditions of LeafRemoval::removeIfSparse(), as far as they are known here.
bool canGo(const PageEntry* left, const PageEntry& leaf, const PageEntry& mergeTarget) {
    if (left == nullptr) {
        return false;
    }
    const Node& node = *nodeOf(leaf);
    const bool isUnchanged =
        node.isOnDisk || static_cast<const LeafNode&>(node).deltaForRead() == nullptr;
    return isUnchanged && node.right == &mergeTarget && canComeBack(node) &&
           canComeBack(*nodeOf(*left)) && canComeBack(*nodeOf(mergeTarget));
}

}  // namespace

void SparseHand::begin(const Share& share) {
    goesOn_ = isSpent() && tree_ != 0;
    if (!goesOn_) {  // the last pass reached the end
        tree_ = 0;
        broughtAny_ = false;
    }
    left_ = share;
    hasShare_ = !isSpent();
}

void SparseHand::pass(PageTree& tree, CheckpointSink& sink) {
    if (isSpent() || tree.id() < tree_) {
        return;
    }
    if (tree.id() != tree_) {
        tree_ = tree.id();
        key_.clear();
    }
    do {
        std::vector<PageEntry*> leaves;
        sink.inSlice([&] { leaves = search(tree); });
        for (PageEntry* leaf : leaves) {
            // A leaf that cannot be read stays where it is, and its neighbours as they are.
            (void)sink.bringBack(tree, leaf);
        }
        for (PageEntry* leaf : leaves) {
            sink.inSlice([&] { tree.removal().removeIfSparse(leaf); });
        }
    } while (!key_.empty() && !isSpent());
    if (key_.empty()) {
        ++tree_;
    }
}

std::vector<PageEntry*> SparseHand::search(PageTree& tree) {
    const LeafRemoval::Siblings siblings = tree.removal().siblingsAt(key_);
    const std::vector<PageEntry*>& leaves = siblings.leaves;
    key_ = siblings.end;
    std::vector<bool> wanted(leaves.size());
    size_t left = 0;   // left neighbour of the next leaf that can be removed
    size_t going = 0;  // leaves to be removed so far, if no other thread writes meanwhile
    LeafRemoval::LeafSize size;
    for (size_t i = 1; i + 1 < leaves.size(); ++i) {
        if (isSpent()) {
            key_ = nodeOf(*leaves[i])->low.string();
            break;
        }
        --left_.looks;
        const LeafRemoval::LeafSize own = tree.removal().sizeOf(*leaves[i]);
        size = {size.entries + own.entries, size.bytes + own.bytes};
        if (going == siblings.spare ||
            !tree.removal().isSparse(size, tree.removal().sizeOf(*leaves[i + 1])) ||
            !canGo(leaves[left], *leaves[i], *leaves[i + 1])) {
            left = i;
            size = {};
            continue;
        }
        ++going;
        for (const size_t needed : {left, i, i + 1}) {
            if (!wanted[needed]) {
                wanted[needed] = true;
                payFor(tree, *leaves[needed]);
            }
        }
    }
    std::vector<PageEntry*> found;
    for (size_t i = 0; i < leaves.size(); ++i) {
        if (wanted[i]) {
            found.push_back(leaves[i]);
        }
    }
    return found;
}

void SparseHand::payFor(const PageTree& tree, const PageEntry& leaf) {
    if (!nodeOf(leaf)->isOnDisk) {
        return;
    }
    const uint64_t bytes =
        std::max<uint64_t>(tree.removal().sizeOf(leaf).bytes, block::kBlockBytes);
    left_.leaves -= std::min<size_t>(left_.leaves, 1);
    left_.bytes -= std::min(left_.bytes, bytes);
    broughtAny_ = true;
}

}  // namespace freshet::engine
