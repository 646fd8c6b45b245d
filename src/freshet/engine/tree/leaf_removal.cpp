// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/leaf_removal.h"

#include "freshet/base/assert.h"
#include "freshet/engine/node/disk_leaf.h"
#include "freshet/engine/variants/mutant.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace freshet::engine {

using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

namespace {

/// A parent keeps at least this many children, so that there is always a left one from which a
/// descent can move right.
constexpr size_t kChildrenMin = 2;
constexpr size_t kNoSeparator = SIZE_MAX;

LeafNode* leafOf(const PageEntry& entry) {
    Node* node = nodeOf(entry);
    return node->isLeaf() && !node->isGone() ? static_cast<LeafNode*>(node) : nullptr;
}

/// Whether it is certain that the next checkpoint writes the page if it is due: not so for a page
/// whose split may not have been installed.
bool isWritable(const PageEntry& entry) {
    // [page.state] acquire: pairs with [page.live].
    return entry.imaged || entry.state.load(kAcquire) == PageState::kLive;
}

/// Which child an inner node leads to for a key that is its low fence or a separator.
size_t childOf(const InnerNode& node, ByteView low) {
    const KeyArray::Position place = node.separators.lowerBound(node.pageKey(low));
    return place.pos + (place.exact ? 1 : 0);
}

/// The node with other children and, if wanted, without one of its separators.
std::unique_ptr<InnerNode> copyOf(const InnerNode& old,
                                  size_t withoutSeparator,
                                  std::vector<PageEntry*> children) {
    std::vector<ByteView> tails;
    tails.reserve(old.separators.size());
    for (uint32_t i = 0; i < old.separators.size(); ++i) {
        if (i != withoutSeparator) {
            tails.push_back(old.separators.tail(i));
        }
    }
    return std::make_unique<InnerNode>(
        old.level, old.low, old.high, old.right, KeyArray(tails), std::move(children));
}

/// Pages that are gone, until no slice needs them any more.
struct GonePages {
    TreeEnv& env;
    const std::vector<PageEntry*> entries;

    size_t weight() const {
        size_t bytes = sizeof(GonePages);
        for (const PageEntry* entry : entries) {
            bytes += sizeof(PageEntry) + nodeWeight(nodeOf(*entry));
        }
        return bytes;
    }
    static void free(void* object) {
        const std::unique_ptr<GonePages> pages(static_cast<GonePages*>(object));
        for (PageEntry* entry : pages->entries) {
            // [page.free] relaxed: no other thread can reach the page, and through the epochs we
            // see what the last ones did there: a writer that came too late may have left a mark.
            destroyNode(entry->word.load(kRelaxed));
            // [stats.add] relaxed: a statistic.
            pages->env.dirtyPages.fetch_sub(entry->recLsn.load(kRelaxed) != 0 ? 1 : 0, kRelaxed);
            delete entry;
        }
    }
};

}  // namespace

void LeafRemoval::removeIfSparse(PageEntry* entry) {
    // [page.state] acquire: pairs with [page.live]. It must be live already: a later store of kLive
    // would undo kGone.
    if (core_.env().limits.joinedBytesMax == 0 || !entry->imaged ||
        entry->state.load(kAcquire) != PageState::kLive) {
        return;
    }
    LeafNode* leaf = leafOf(*entry);
    // The tree's first leaf has no left neighbour, and its low fence is empty, so isGone() could
    // not be true for it; the last one has no right neighbour to be merged into.
    if (leaf == nullptr || leaf->low.empty() || leaf->right == nullptr ||
        leaf->deltaForRead() != nullptr) {
        return;
    }
    if (leafOf(*leaf->right) != nullptr && isSparse(sizeOf(*entry), sizeOf(*leaf->right))) {
        removeLeaf(entry, leaf);
    }
}

bool LeafRemoval::isSparse(const LeafSize& leaf, const LeafSize& right) const {
    return leaf.entries == 0 ||
           leaf.bytes + right.bytes <= core_.leaves().limitOf(core_.env().limits.joinedBytesMax);
}

LeafRemoval::LeafSize LeafRemoval::sizeOf(const PageEntry& leaf) const {
    const Node* node = nodeOf(leaf);
    if (node->isOnDisk) {
        const auto& away = *static_cast<const DiskLeaf*>(node);
        const bool isKnown = away.bytes != 0 || away.entries == 0;
        return {away.entries,
                isKnown ? away.bytes
                        : core_.leaves().limitOf(leaf.place.extent.blocks * block::kBlockBytes)};
    }
    const auto& here = *static_cast<const LeafNode*>(node);
    // [leaf.count] relaxed: a guess.
    return {here.image.keys().size(), here.image.pageBytes() + here.deltaBytes.load(kRelaxed)};
}

LeafRemoval::Siblings LeafRemoval::siblingsAt(ByteView key) {
    holdAllPages();
    Siblings found;
    if (core_.env().limits.joinedBytesMax == 0 || nodeOf(core_.root())->level == 0) {
        return found;
    }
    const Descent descent = core_.descend({.key = key}, 1);
    descent.hold.end();
    const auto& parent = *static_cast<const InnerNode*>(descent.node);
    const size_t first = childOf(parent, key);
    found.end = parent.high.string();
    found.spare = parent.child.size() - std::min(parent.child.size(), kChildrenMin);
    if (first != 0) {
        found.leaves.push_back(parent.child[first - 1]);
    } else if (parent.low.empty()) {
        found.leaves.push_back(nullptr);
    } else {
        found.leaves.push_back(core_.descend({.key = parent.low, .before = true}).entry);
    }
    found.leaves.insert(found.leaves.end(),
                        parent.child.begin() + static_cast<std::ptrdiff_t>(first),
                        parent.child.end());
    return found;
}

void LeafRemoval::removeLeaf(PageEntry* entry, LeafNode* leaf) {
    PageEntry* target = leaf->right;
    const Descent before = core_.descend({.key = leaf->low, .before = true});
    before.hold.end();
    if (!before.node->isLeaf() || before.node->right != entry || !isWritable(*target) ||
        !isWritable(*before.entry) || !unpostTarget(*leaf, entry, target)) {
        return;
    }
    core_.setDirty(before.entry);
    if (!mutated(Mutant::kTargetNotDue)) {
        core_.setDirty(target);
    }
    // Our slice keeps its node, and so its fences.
    LeafNode* leaving = freezeForGood(entry, leaf);
    if (leaving == nullptr) {
        repostTarget(leaf->high, target);
        return;
    }
    core_.finishMerge(entry, leaving);
    replaceChild(leaf->low, entry, target);
    if (!mutated(Mutant::kLeftNotRebuilt)) {
        passOver(leaf->low, entry);
    }
    // [merge.end] release: pairs with [merge.look]: a thread that posts it late finds its low fence
    // changed.
    target->isMergeTarget.store(false, kRelease);
    // [stats.add] relaxed: a statistic.
    core_.env().pages.fetch_sub(1, kRelaxed);
    // [page.gone] release: as [page.live]; only the checkpoint's thread looks for it.
    entry->state.store(PageState::kGone, kRelease);
    gone_.push_back(entry);
}

bool LeafRemoval::unpostTarget(const LeafNode& leaf, const PageEntry* entry, PageEntry* target) {
    // [merge.begin] relaxed: published by [entry.install] of the parent without the target.
    target->isMergeTarget.store(true, kRelaxed);
    for (;;) {
        const Descent descent = core_.descend({.key = leaf.low}, 1);
        auto* old = static_cast<InnerNode*>(descent.node);
        const size_t at = childOf(*old, leaf.low);
        const bool isParent = isWritable(*descent.entry) && old->child.size() > kChildrenMin &&
                              old->child[at] == entry && at + 1 < old->child.size() &&
                              old->child[at + 1] == target && old->separator(at) == leaf.high;
        if (!isParent) {
            target->isMergeTarget.store(false, kRelease);  // [merge.end]
            return false;
        }
        std::vector<PageEntry*> children = old->child;
        children.erase(children.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        auto fresh = copyOf(*old, at, std::move(children));
        if (core_.install(descent.entry, old, fresh.get())) {
            fresh.release();
            core_.setDirty(descent.entry);
            return true;
        }
    }
}

void LeafRemoval::repostTarget(ByteView low, PageEntry* target) {
    target->isMergeTarget.store(false, kRelease);  // [merge.end]
    core_.postSeparator(1, low, target);
}

LeafNode* LeafRemoval::freezeForGood(PageEntry* entry, LeafNode* leaf) {
    if (!mutated(Mutant::kLeavingUnfrozen) && !leaf->freezeUnchanged()) {
        return nullptr;
    }
    const FoldPlan plan = core_.leaves().fold(*leaf);
    LeafNode* leaving = core_.leaves().build(plan, 0, plan.entries.size(), leaf->low, leaf->high);
    leaving->right = leaf->right;
    leaving->isLeaving = true;
    const bool isFrozen = leaving->freezeUnchanged();
    invariant(isFrozen);
    if (!core_.install(entry, leaf, leaving)) {
        destroyNode(leaving);  // a writer has replaced the frozen leaf
        return nullptr;
    }
    return leaving;
}

void LeafRemoval::replaceChild(ByteView low, PageEntry* gone, PageEntry* target) {
    for (;;) {
        const Descent descent = core_.descend({.key = low}, 1);
        auto* old = static_cast<InnerNode*>(descent.node);
        std::vector<PageEntry*> children = old->child;
        const size_t at = childOf(*old, low);
        // No other thread takes a child out, and its separator leads to it however inner pages
        // split.
        invariant(children[at] == gone);
        children[at] = target;
        auto fresh = copyOf(*old, kNoSeparator, std::move(children));
        if (core_.install(descent.entry, old, fresh.get())) {
            fresh.release();
            core_.setDirty(descent.entry);
            return;
        }
    }
}

void LeafRemoval::passOver(ByteView low, const PageEntry* gone) {
    for (;;) {
        const Descent before = core_.descend({.key = low, .before = true});
        if (before.node->right != gone) {
            return;
        }
        // It was in memory, and no other thread evicts.
        invariant(before.node->isLeaf());
        core_.rebuild(before.entry, static_cast<LeafNode*>(before.node));
    }
}

std::vector<PageId> LeafRemoval::takeGone() {
    // A writer that came too late may have left a mark, which would be counted but never taken.
    auto clear = [this](PageEntry* entry) {
        images_.takeMark(entry);
        entry->settleMark();
    };
    std::for_each(goneBefore_.begin(), goneBefore_.end(), clear);
    std::for_each(gone_.begin(), gone_.end(), clear);
    std::vector<PageId> ids;
    for (const PageEntry* entry : gone_) {
        ids.push_back(entry->id);
    }
    goneBefore_.insert(goneBefore_.end(), gone_.begin(), gone_.end());
    gone_.clear();
    return ids;
}

void LeafRemoval::freeGone() {
    if (goneBefore_.empty()) {
        return;
    }
    const auto origins = images_.originsOfNewPages();
    // standInOf() of a page that is an origin goes on to those that went after it.
    const auto end = std::find_if(goneBefore_.begin(), goneBefore_.end(), [&](auto* entry) {
        return origins.contains(entry);
    });
    const auto begin = std::stable_partition(
        goneBefore_.begin(), end, [](const PageEntry* entry) { return entry->newer() == nullptr; });
    if (begin == end) {
        return;
    }
    auto pages = std::make_unique<GonePages>(GonePages{core_.env(), {begin, end}});
    goneBefore_.erase(begin, end);
    images_.takeOut(pages->entries);
    core_.endHints();
    if (mutated(Mutant::kGoneFreedAtOnce)) {
        GonePages::free(pages.release());
        return;
    }
    const size_t bytes = pages->weight();
    core_.env().retire(pages.release(), GonePages::free, bytes);
}

}  // namespace freshet::engine
