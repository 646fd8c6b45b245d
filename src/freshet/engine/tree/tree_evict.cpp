// SPDX-License-Identifier: Apache-2.0
/// PageTree: a leaf leaves memory, and comes back (DESIGN 5). Both are one CAS on the page's word,
/// between the leaf and a DiskLeaf that keeps its place in the tree.
///
/// A leaf may go when it is just what its image says. It is frozen, so that no change can come, and
/// all that it has is committed and seen by every snapshot: its base anyway, its changes as far as
/// a fold would leave none of them. That is in the image: whoever wrote a part of it had marked the
/// page for the second time before he committed; so whoever meets it as committed meets the mark as
/// well, unless a scan took it, which then found the version (PageTree::write). Hence the mark is
/// looked at after the leaf. That the image may be of the time before a split does not matter: what
/// lies beyond the DiskLeaf's fences is left out.
#include "freshet/base/assert.h"
#include "freshet/engine/keys/prefetch.h"
#include "freshet/engine/tree/disk_leaf.h"
#include "freshet/engine/tree/leaf_merge.h"
#include "freshet/engine/tree/page_tree.h"
#include "freshet/engine/tree/tree_plan.h"

#include <algorithm>

namespace freshet::engine {

using sync::kAcqRel;
using sync::kAcquire;
using sync::kRelaxed;

namespace {

bool isMarked(const PageEntry& entry) {
    return !mutated(Mutant::kEvictMarked) && entry.effectiveLsn() != 0;
}

/// Whether it cannot go before the checkpoint has written it.
bool waitsForImage(const PageEntry& entry) {
    return !entry.imaged || isMarked(entry);
}

}  // namespace

bool LeafNode::freezeUnchanged() {
    uintptr_t expected = 0;
    // [leaf.close] CAS. ORDER: acq_rel pairs with [leaf.delta] and [leaf.look]: a writer who comes
    //            later finds the mark. Relaxed on failure: nothing is done.
    //   LOST     the leaf has changes, or is frozen.
    //   PROGRESS one attempt.
    if (!delta.compare_exchange_strong(expected, kMark, kAcqRel, kRelaxed)) {
        return false;
    }
    // [leaf.freeze] relaxed: see [leaf.frozen].
    ctl.store(kFrozen, kRelaxed);
    return true;
}

bool LeafNode::isOnDiskWhole() const {
    bool whole = true;
    image.forEachLarge([&](const ValueBuffer& buffer) { whole &= buffer.page() != 0; });
    return whole;
}

void LeafNode::leaveLargeValues() const {
    image.forEachLarge([](ValueBuffer& buffer) { buffer.leavePage(); });
}

bool PageTree::hasLargeValueAway(const PageEntry& entry, const WantsPlace& wanted) {
    const Node* node = nodeOf(entry);
    if (!node->isOnDisk) {
        return false;
    }
    const auto values = static_cast<const DiskLeaf*>(node)->largeValues();
    return std::any_of(
        values.begin(), values.end(), [&](const auto& value) { return wanted(value.place); });
}

std::vector<ValueBuffer*> PageTree::holdLargeValues(const PageEntry& entry,
                                                    const WantsPlace& wanted) {
    const Node* node = nodeOf(entry);
    std::vector<ValueBuffer*> held;
    if (node->isLeaf()) {
        static_cast<const LeafNode*>(node)->image.forEachLarge([&](ValueBuffer& buffer) {
            if (buffer.page() != 0 && wanted(buffer.place())) {
                buffer.hold();
                held.push_back(&buffer);
            }
        });
    }
    return held;
}

bool PageTree::hasLeavesOnDisk() {
    bool found = false;
    forEachPage([&](const PageEntry& entry) {
        const Node* node = nodeOf(entry);
        found |= node != nullptr && node->isOnDisk;
    });
    return found;
}

bool PageTree::foldsWhole(const LeafNode& leaf) {
    const uint64_t minReadTs = env_.minReadTs();
    return mergeUp(leaf, nullptr, [&](ByteView, const std::optional<ValueRef>&, auto* chain) {
        // [version.read] acquire: pairs with [version.push].
        const auto [newest, outcome] =
            newestOf(chain == nullptr ? nullptr : pointerOf<Version>(chain->load(kAcquire)));
        return newest == nullptr || (outcome.fate == Fate::kCommitted && outcome.ts <= minReadTs);
    });
}

size_t PageTree::residents() {
    residents_.takeBack([](const PageEntry* entry) { return waitsForImage(*entry); });
    return residents_.takeIn([this](PageEntry* entry) {
        if (entry->origin() != nullptr) {
            // Split off a page, and in that one's image only: due for eviction's sake, if for no
            // other. So is then the other. Before either is looked at: if that one went, the next
            // checkpoint would have to bring it back, to be written.
            lowerMark(entry, env_.commitLow());
            lowerMarkAway(standIn(entry->origin()), env_.commitLow());
        }
    });
}

void PageTree::endWaitForImages() {
    residents_.takeAllBack();
}

size_t PageTree::evictNext() {
    PageEntry* entry = residents_.takeFirst();
    if (entry == nullptr) {
        return 0;
    }
    if (const PageEntry* next = residents_.first(); next != nullptr) {
        // [entry.ask] relaxed: only an address.
        askFor(next->word.load(kRelaxed), kNodeBytes);
    }
    // [page.state] acquire: pairs with [page.gone].
    if (entry->state.load(kAcquire) == PageState::kGone) {
        return 0;  // and is not looked at again
    }
    Node* node = nodeOf(*entry);
    size_t bytes = 0;
    if (node->isLeaf()) {
        auto* leaf = static_cast<LeafNode*>(node);
        // [leaf.touch] relaxed: a hint.
        if (const uint32_t touched = leaf->touched.load(kRelaxed); touched != 0) {
            leaf->touched.store(touched - 1, kRelaxed);
        } else {
            bytes = evict(entry);
        }
    }
    if (bytes != 0 && entry != &root_) {
        return bytes;  // from now on it is added by who brings it back
    }
    if (waitsForImage(*entry)) {
        residents_.setAside(entry);
    } else {
        residents_.putLast(entry);
    }
    return bytes;
}

size_t PageTree::evict(PageEntry* entry) {
    Node* node = nodeOf(*entry);  // with the base come its writers' marks
    if (!node->isLeaf()) {
        return 0;
    }
    auto* leaf = static_cast<LeafNode*>(node);
    if (waitsForImage(*entry)) {
        return 0;
    }
    // The mark of a late writer may stand for a right half without an image, to which his version
    // has gone (newPage()): the next checkpoint has to find it. Looked at last, since it is memory
    // that has nothing to do with what most leaves stay for.
    if (leaf->right != nullptr && !leaf->right->imaged && !mutated(Mutant::kEvictOrigin)) {
        return 0;
    }
    if (leaf->deltaForRead() != nullptr) {
        return foldsWhole(*leaf) ? evictChanged(entry, leaf) : 0;
    }
    if (!leaf->isOnDiskWhole() || (!mutated(Mutant::kEvictUnfrozen) && !leaf->freezeUnchanged())) {
        return 0;
    }
    const size_t bytes = nodeWeight(leaf) + leaf->image.sharedBytes();
    auto* away = new DiskLeaf(*leaf, leaf->image.keys().size(), leaf->image.pageBytes());
    if (!install(entry, leaf, away)) {
        destroyNode(away);  // a writer has thawed it
        return 0;
    }
    // It is there until our slice ends, and holds its values.
    leaf->leaveLargeValues();
    return bytes;
}

size_t PageTree::evictChanged(PageEntry* entry, LeafNode* leaf) {
    if (!mutated(Mutant::kEvictUnfrozen)) {
        freeze(leaf);
    }
    const Plan plan = fold(leaf);
    // What a writer linked before the freeze is carried or, had he committed by then, has left its
    // mark. A full leaf is to split, and large values, also those written over, need a leaf that
    // owns them: it may go the next time.
    const bool marked = isMarked(*entry);
    const bool stays =
        leaf->image.hasLargeValues() ||
        std::any_of(plan.entries.begin(), plan.entries.end(), [](const Plan::Entry& kept) {
            return kept.chain != nullptr || kept.base->bytes.size() >= kLargeValueBytesMin;
        });
    if (marked || stays || cutOf(plan) != 0) {
        rebuild(entry, leaf);
        return 0;
    }
    const size_t bytes = nodeWeight(leaf);
    auto* away = new DiskLeaf(*leaf, plan.entries.size(), plan.bytes);
    if (!install(entry, leaf, away)) {
        destroyNode(away);  // a writer has thawed it
        return 0;
    }
    retireFolded(plan);
    return bytes;
}

std::vector<Fault> PageTree::faultsBehind(const Fault& fault, size_t most) {
    holdAllPages();
    std::vector<Fault> found;
    PageEntry* entry = fault.leaf->right;
    for (size_t i = 0; entry != nullptr && i < most; ++i) {
        Node* node = nodeOf(*entry);
        if (node->isOnDisk) {
            found.push_back({entry, static_cast<DiskLeaf*>(node)});
        }
        entry = node->right;
    }
    return found;
}

void PageTree::bringBack(const Fault& fault, LeafNode* leaf) {
    holdAllPages();  // the caller goes on with fault.leaf
    leaf->right = fault.leaf->right;
    // First, since nobody's write may escape the redo position (INV-engine-17).
    if (fault.entry != &root_ && !mutated(Mutant::kResidentLate)) {
        residents_.add(fault.entry);
    }
    // Nobody else replaces a DiskLeaf: it has one reader.
    const bool installed = install(fault.entry, fault.leaf, leaf);
    invariant(installed);
    if (fault.entry != &root_ && mutated(Mutant::kResidentLate)) {
        residents_.add(fault.entry);
    }
}

}  // namespace freshet::engine
