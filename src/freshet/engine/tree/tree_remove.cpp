// SPDX-License-Identifier: Apache-2.0
/// PageTree: a sparse leaf goes, and its right neighbour, the heir, takes over its keys (decision
/// 0016). One thread removes, the checkpoint's, which also evicts, one leaf at a time; everybody
/// else may write, read, split and rebuild meanwhile, and finishes what holds him up. The leaf, its
/// left neighbour and the heir are in memory, and stay there: nobody else evicts. Each step is one
/// CAS:
///
///   1  The parent forgets the heir, which is then reached over the leaf's `right`, as after any
///      split. PageEntry::isHeir keeps everybody from posting it again. Inner pages may split: what
///      leads to the leaf is the separator that is its low fence, and that stays.
///   2  leaf -> leaving leaf: the same keys, frozen for good. It has no changes, as when it is
///      evicted, and none can come: all it has is seen by every snapshot. If a writer was quicker,
///      the heir is posted again, and nothing has happened.
///   3  heir -> joined: its own keys and chains, and the leaving leaf's keys, from that one's low
///      fence on; nobody else changes where a page begins. The heir may have been rebuilt or split
///      until then; what is joined is what it is at its CAS. Who gets there with a key of the
///      leaving leaf, walking downward or by a LeafHint, reads what that one says, since no one can
///      change it; he cannot write, for writers come from the root.
///   4  leaving leaf -> gone: a leaf without room (low == high), so that every descent moves on to
///      the heir, and no hint is good. From here on its keys are written in the heir. Whoever
///      sees such a write in his snapshot began after it, so that he finds the leaf gone as well.
///      3 and 4 are done by whoever wants to write to the leaving leaf, too; 4 only after 3.
///   5  The parent's child becomes the heir, and the left neighbour is rebuilt with the heir as its
///      `right`. A rebuild or split of that one that was begun before fails, and later ones ask
///      standIn(). So no node leads to the page any more. Its id is used for nothing else.
///
/// A post of the heir's old separator that comes late finds the flag, or another low fence
/// (isToBePosted); one of a page that is gone finds that. Both are looked at after the parent was
/// read, whose CAS fails if it has changed since.
///
///   INV-engine-16  when a checkpoint begins to write, no node names a page that is gone, and the
///                  left neighbour, the heir and the parent of each page that has gone since the
///                  last one was named are due or have images that only the next one will name. So
///                  one checkpoint names the three without the page, and frees it.
///
/// Before that, the last checkpoint's images stand, all four, with its redo position; the leaf's
/// own mark is needed no more, since no position is taken before all that is due is written. A
/// checkpoint that is given up on a full disk keeps what it has written, the rest is due, and both
/// are named by the same one. The three must be known to be reachable (isWritable): a page whose
/// split may not have been installed is passed over. If one of them splits before it is written,
/// its image names the right half, which then has an image as well (INV-engine-13), and so have all
/// pages that were split from the leaf: they lie to the right of the heir, each named by the one
/// before it or by a parent. Of those the leaf was the origin; standIn() is, from then on.
///
/// The entry is freed, with its last node, after the next images are written (decision 0031):
///
///   INV-engine-19  an entry that is retired is named by no node, by no list of the checkpoint's
///                  and by no page without an image as its origin, and hintGeneration_ has moved
///                  on since it was. So whoever comes to it is in a slice that was open by then.
///
/// Nobody makes such a name anew. Of a node that names the page, or of its own, another thread may
/// still make one that does, but it cannot be installed: the node has been replaced, and the page
/// stays gone. A right half made so, with the page as its origin, is dead; nobody asks for that
/// one's origin. What outlives slices is keys, hints, and the entries of leaves on disk that
/// somebody reads: they are not removed before he has brought them back (cache/page_loads.h).
#include "freshet/base/assert.h"
#include "freshet/engine/tree/disk_leaf.h"
#include "freshet/engine/tree/leaf_merge.h"
#include "freshet/engine/tree/page_tree.h"
#include "freshet/engine/tree/tree_plan.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace freshet::engine {

using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

namespace {

/// A parent keeps so many children: there is always a left one to go over.
constexpr size_t kChildrenMin = 2;
constexpr size_t kNoSeparator = SIZE_MAX;

LeafNode* leafOf(const PageEntry& entry) {
    Node* node = nodeOf(entry);
    return node->isLeaf() && !node->isGone() ? static_cast<LeafNode*>(node) : nullptr;
}

/// The next checkpoint writes the page if it is due. Of a page whose split may not have been
/// installed that is not known.
bool isWritable(const PageEntry& entry) {
    // [page.state] acquire: pairs with [page.live].
    return entry.imaged || entry.state.load(kAcquire) == PageState::kLive;
}

/// Where an inner node leads to for a key that is its low fence or a separator.
size_t childOf(const InnerNode& node, ByteView low) {
    const KeyArray::Place place = node.separators.lowerBound(node.pageKey(low));
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

/// Pages that are gone, on their way through the epochs.
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
            // [page.free] relaxed: nobody else can reach the page, and the epochs have told us what
            // the last ones did there: a writer who came too late may have left a mark.
            destroyNode(entry->word.load(kRelaxed));
            // [stats.add] relaxed: a statistic.
            pages->env.dirtyPages.fetch_sub(entry->recLsn.load(kRelaxed) != 0 ? 1 : 0, kRelaxed);
            delete entry;
        }
    }
};

}  // namespace

PageEntry* PageTree::standIn(PageEntry* page) {
    while (page != nullptr) {
        const PageGlance node(*page);
        if (!node->isGone()) {
            break;
        }
        page = node->right;
    }
    return page;
}

void PageTree::removeIfSparse(PageEntry* entry) {
    // [page.state] acquire: pairs with [page.live]. Live already, so that nobody says so later.
    if (env_.limits.joinedBytesMax == 0 || !entry->imaged ||
        entry->state.load(kAcquire) != PageState::kLive) {
        return;
    }
    LeafNode* leaf = leafOf(*entry);
    // The tree's first leaf has no left neighbour, and a fence that could not say that it is gone;
    // the last one has nobody to leave its keys to.
    if (leaf == nullptr || leaf->low.empty() || leaf->right == nullptr ||
        leaf->deltaForRead() != nullptr) {
        return;
    }
    if (leafOf(*leaf->right) != nullptr && isSparse(sizeOf(*entry), sizeOf(*leaf->right))) {
        removeLeaf(entry, leaf);
    }
}

bool PageTree::isSparse(const LeafSize& leaf, const LeafSize& heir) const {
    return leaf.entries == 0 || leaf.bytes + heir.bytes <= ofLeaves(env_.limits.joinedBytesMax);
}

PageTree::LeafSize PageTree::sizeOf(const PageEntry& leaf) const {
    const Node* node = nodeOf(leaf);
    if (node->isOnDisk) {
        const auto& away = *static_cast<const DiskLeaf*>(node);
        const bool isKnown = away.bytes != 0 || away.entries == 0;
        return {away.entries,
                isKnown ? away.bytes : ofLeaves(leaf.place.extent.blocks * block::kBlockBytes)};
    }
    const auto& here = *static_cast<const LeafNode*>(node);
    // [leaf.count] relaxed: a guess.
    return {here.image.keys().size(), here.image.pageBytes() + here.deltaBytes.load(kRelaxed)};
}

PageTree::Siblings PageTree::siblingsAt(ByteView key) {
    holdAllPages();
    Siblings found;
    if (env_.limits.joinedBytesMax == 0 || nodeOf(root_)->level == 0) {
        return found;
    }
    const Descent descent = descend({.key = key}, 1);
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
        found.leaves.push_back(descend({.key = parent.low, .before = true}).entry);
    }
    found.leaves.insert(found.leaves.end(),
                        parent.child.begin() + static_cast<std::ptrdiff_t>(first),
                        parent.child.end());
    return found;
}

void PageTree::removeLeaf(PageEntry* entry, LeafNode* leaf) {
    PageEntry* heir = leaf->right;
    const Descent before = descend({.key = leaf->low, .before = true});
    before.hold.end();
    if (!before.node->isLeaf() || before.node->right != entry || !isWritable(*heir) ||
        !isWritable(*before.entry) || !forgetHeir(*leaf, entry, heir)) {
        return;
    }
    setDirty(before.entry);
    if (!mutated(Mutant::kHeirNotDue)) {
        setDirty(heir);
    }
    // Our slice keeps its node, and so its fences.
    LeafNode* leaving = freezeForGood(entry, leaf);
    if (leaving == nullptr) {
        postAgain(leaf->high, heir);
        return;
    }
    handOver(entry, leaving);
    replaceChild(leaf->low, entry, heir);
    if (!mutated(Mutant::kLeftNotRebuilt)) {
        passOver(leaf->low, entry);
    }
    // [heir.end] release: pairs with [heir.look]: who posts it late finds its low fence changed.
    heir->isHeir.store(false, kRelease);
    // [stats.add] relaxed: a statistic.
    env_.pages.fetch_sub(1, kRelaxed);
    // [page.gone] release: as [page.live]; only the checkpoint's thread looks for it.
    entry->state.store(PageState::kGone, kRelease);
    gone_.push_back(entry);
}

bool PageTree::forgetHeir(const LeafNode& leaf, const PageEntry* entry, PageEntry* heir) {
    // [heir.begin] relaxed: published by [entry.install] of the parent that does not have it.
    heir->isHeir.store(true, kRelaxed);
    for (;;) {
        const Descent descent = descend({.key = leaf.low}, 1);
        auto* old = static_cast<InnerNode*>(descent.node);
        const size_t at = childOf(*old, leaf.low);
        const bool isParent = isWritable(*descent.entry) && old->child.size() > kChildrenMin &&
                              old->child[at] == entry && at + 1 < old->child.size() &&
                              old->child[at + 1] == heir && old->separator(at) == leaf.high;
        if (!isParent) {
            heir->isHeir.store(false, kRelease);  // [heir.end]
            return false;
        }
        std::vector<PageEntry*> children = old->child;
        children.erase(children.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        auto fresh = copyOf(*old, at, std::move(children));
        if (install(descent.entry, old, fresh.get())) {
            fresh.release();
            setDirty(descent.entry);
            return true;
        }
    }
}

void PageTree::postAgain(ByteView low, PageEntry* heir) {
    heir->isHeir.store(false, kRelease);  // [heir.end]
    postSeparator(1, low, heir);
}

LeafNode* PageTree::freezeForGood(PageEntry* entry, LeafNode* leaf) {
    if (!mutated(Mutant::kLeavingUnfrozen) && !leaf->freezeUnchanged()) {
        return nullptr;
    }
    const Plan plan = fold(leaf);
    LeafNode* leaving = build(plan, 0, plan.entries.size(), leaf->low, leaf->high);
    leaving->right = leaf->right;
    leaving->isLeaving = true;
    const bool isFrozen = leaving->freezeUnchanged();
    invariant(isFrozen);
    if (!install(entry, leaf, leaving)) {
        destroyNode(leaving);  // a writer has thawed it
        return nullptr;
    }
    return leaving;
}

void PageTree::handOver(PageEntry* entry, LeafNode* leaving) {
    PageEntry* heir = leaving->right;
    if (mutated(Mutant::kGoneBeforeJoined)) {
        leave(entry, leaving);
    }
    for (;;) {
        // The page keeps its low fence until it has taken over, and never has it again; nor is it
        // evicted before that.
        Node* node = nodeOf(*heir);
        if (node->low != leaving->high) {
            break;
        }
        invariant(node->isLeaf());
        if (join(*leaving, heir, static_cast<LeafNode*>(node))) {
            break;
        }
    }
    leave(entry, leaving);
}

void PageTree::leave(PageEntry* entry, LeafNode* leaving) {
    LeafNode* gone = newLeaf(leaving->low, leaving->low, {}, {});
    gone->right = leaving->right;
    if (!install(entry, leaving, gone)) {
        destroyNode(gone);
    }
}

bool PageTree::join(const LeafNode& leaving, PageEntry* heir, LeafNode* old) {
    freeze(old);
    const Plan own = fold(old);
    const Plan plan = joinedPlan(leaving, own);
    LeafNode* joined = build(plan, 0, plan.entries.size(), leaving.low, old->high);
    joined->right = standIn(old->right);
    if (!install(heir, old, joined)) {
        destroyNode(joined);
        return false;
    }
    retireFolded(own);
    return true;
}

PageTree::Plan PageTree::joinedPlan(const LeafNode& leaving, const Plan& own) {
    const LeafNode& old = *own.leaf;
    Plan plan;
    plan.prefixLen = fencePrefix(leaving.low, old.high);
    // The fences lie further apart, so that less is common to the keys.
    auto longer = [&](const LeafNode& leaf, ByteView tail) {
        return ByteView(plan.tails.emplace_back(leaf.prefix().substr(plan.prefixLen)).append(tail));
    };
    const KeyArray& keys = leaving.image.keys();
    for (uint32_t i = 0; i < keys.size(); ++i) {
        plan.add(longer(leaving, keys.tail(i)), leaving.image.value(i), nullptr);
    }
    for (const Plan::Entry& entry : own.entries) {
        plan.add(longer(old, entry.tail), entry.base, entry.chain);
    }
    return plan;
}

void PageTree::replaceChild(ByteView low, PageEntry* gone, PageEntry* heir) {
    for (;;) {
        const Descent descent = descend({.key = low}, 1);
        auto* old = static_cast<InnerNode*>(descent.node);
        std::vector<PageEntry*> children = old->child;
        const size_t at = childOf(*old, low);
        // Nobody else takes a child out, and its separator leads to it wherever inner pages split.
        invariant(children[at] == gone);
        children[at] = heir;
        auto fresh = copyOf(*old, kNoSeparator, std::move(children));
        if (install(descent.entry, old, fresh.get())) {
            fresh.release();
            setDirty(descent.entry);
            return;
        }
    }
}

void PageTree::passOver(ByteView low, const PageEntry* gone) {
    for (;;) {
        const Descent before = descend({.key = low, .before = true});
        if (before.node->right != gone) {
            return;
        }
        // It was in memory, and nobody else evicts.
        invariant(before.node->isLeaf());
        rebuild(before.entry, static_cast<LeafNode*>(before.node));
    }
}

void PageTree::freeGone() {
    if (goneBefore_.empty()) {
        return;
    }
    const auto origins = originsOfNewPages();
    // One that is asked for its heir leads to those that went after it.
    const auto end = std::find_if(goneBefore_.begin(), goneBefore_.end(), [&](auto* entry) {
        return origins.contains(entry);
    });
    const auto begin = std::stable_partition(
        goneBefore_.begin(), end, [](const PageEntry* entry) { return entry->newer() == nullptr; });
    if (begin == end) {
        return;
    }
    auto pages = std::make_unique<GonePages>(GonePages{env_, {begin, end}});
    goneBefore_.erase(begin, end);
    takeOutOfLists(pages->entries);
    // [hint.end] relaxed load: our own store. Release: pairs with [hint.begin], and before the
    // pages are retired.
    hintGeneration_.store(hintGeneration_.load(kRelaxed) + 1, kRelease);
    if (mutated(Mutant::kGoneFreedAtOnce)) {
        GonePages::free(pages.release());
        return;
    }
    const size_t bytes = pages->weight();
    env_.retire(pages.release(), GonePages::free, bytes);
}

std::unordered_set<const PageEntry*> PageTree::originsOfNewPages() {
    std::unordered_set<const PageEntry*> origins;
    // [page.walk] acquire: as in forEachPage().
    for (PageEntry* entry = pages_.load(kAcquire); entry != decided_; entry = entry->older) {
        origins.insert(entry->origin());
    }
    return origins;
}

void PageTree::takeOutOfLists(const std::vector<PageEntry*>& pages) {
    auto isGone = [](const PageEntry* entry) {
        // [page.state] relaxed: that it is gone was our own store.
        return entry->state.load(kRelaxed) == PageState::kGone;
    };
    residents_.removeIf(isGone);
    std::erase_if(lowered_, isGone);
    for (PageEntry* entry : pages) {
        dcheck(entry != hand_);  // goOnOverImages() has passed over what is gone
        PageEntry* newer = entry->newer();
        newer->older = entry->older;
        entry->older->setDecided(newer);
    }
}

}  // namespace freshet::engine
