// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/leaf_eviction.h"

#include "freshet/base/assert.h"
#include "freshet/engine/keys/prefetch.h"
#include "freshet/engine/node/disk_leaf.h"
#include "freshet/engine/variants/mutant.h"

#include <algorithm>

namespace freshet::engine {

using sync::kAcquire;
using sync::kRelaxed;

namespace {

bool isMarked(const PageEntry& entry) {
    return !mutated(Mutant::kEvictMarked) && entry.effectiveLsn() != 0;
}

/// Whether it cannot be evicted before the checkpoint has written it.
bool waitsForImage(const PageEntry& entry) {
    return !entry.imaged || isMarked(entry);
}

}  // namespace

bool LeafEviction::hasLargeValueAway(const PageEntry& entry, const WantsPlace& wanted) {
    const Node* node = nodeOf(entry);
    if (!node->isOnDisk) {
        return false;
    }
    const auto values = static_cast<const DiskLeaf*>(node)->largeValues();
    return std::any_of(
        values.begin(), values.end(), [&](const auto& value) { return wanted(value.place); });
}

std::vector<ValueBuffer*> LeafEviction::holdLargeValues(const PageEntry& entry,
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

bool LeafEviction::hasLeavesOnDisk() const {
    bool found = false;
    core_.pages().forEach([&](const PageEntry& entry) {
        const Node* node = nodeOf(entry);
        found |= node != nullptr && node->isOnDisk;
    });
    return found;
}

size_t LeafEviction::residents() {
    residents_.takeBack([](const PageEntry* entry) { return waitsForImage(*entry); });
    return residents_.takeIn([this](PageEntry* entry) {
        if (entry->origin() != nullptr) {
            // The page was split off another one and is only in that one's image. It must be due,
            // if only to become evictable, and then so must the other page, before either is looked
            // at: if the other page were evicted, the next checkpoint would have to bring it back
            // to write it.
            images_.lowerMark(entry, core_.env().commitLow());
            images_.lowerMarkAway(standInOf(entry->origin()), core_.env().commitLow());
        }
    });
}

size_t LeafEviction::evictNext() {
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
    if (bytes != 0 && entry != &core_.root()) {
        return bytes;  // the thread that brings the leaf back adds the page again
    }
    if (waitsForImage(*entry)) {
        residents_.setAside(entry);
    } else {
        residents_.putLast(entry);
    }
    return bytes;
}

size_t LeafEviction::evict(PageEntry* entry) {
    Node* node = nodeOf(*entry);  // the marks of the base's writers are visible with it
    if (!node->isLeaf()) {
        return 0;
    }
    auto* leaf = static_cast<LeafNode*>(node);
    if (waitsForImage(*entry)) {
        return 0;
    }
    // The mark of a late writer may stand for a right half without an image, to which its version
    // has moved (PageList::add()): the next checkpoint has to find it. This is looked at last,
    // because it is memory that the other reasons for which most leaves stay do not touch.
    if (leaf->right != nullptr && !leaf->right->imaged && !mutated(Mutant::kEvictOrigin)) {
        return 0;
    }
    if (leaf->deltaForRead() != nullptr) {
        return core_.leaves().foldsWhole(*leaf) ? evictChanged(entry, leaf) : 0;
    }
    if (!leaf->isOnDiskWhole() || (!mutated(Mutant::kEvictUnfrozen) && !leaf->freezeUnchanged())) {
        return 0;
    }
    const size_t bytes = nodeWeight(leaf) + leaf->image.sharedBytes();
    auto* away = new DiskLeaf(*leaf, leaf->image.keys().size(), leaf->image.pageBytes());
    if (!core_.install(entry, leaf, away)) {
        destroyNode(away);  // a writer has replaced the frozen leaf
        return 0;
    }
    // The leaf exists until our slice ends, and holds its values.
    leaf->leaveLargeValues();
    return bytes;
}

size_t LeafEviction::evictChanged(PageEntry* entry, LeafNode* leaf) {
    if (!mutated(Mutant::kEvictUnfrozen)) {
        leaf->freeze();
    }
    const FoldPlan plan = core_.leaves().fold(*leaf);
    // What a writer linked before the freeze is carried or, if the writer had committed by then,
    // has left its mark. A full leaf has to be split, and large values, also those that were
    // overwritten, need a leaf that owns them: such a leaf may be evicted the next time.
    const bool marked = isMarked(*entry);
    const bool stays =
        leaf->image.hasLargeValues() ||
        std::any_of(plan.entries.begin(), plan.entries.end(), [](const FoldPlan::Entry& kept) {
            return kept.chain != nullptr || kept.base->bytes.size() >= kLargeValueBytesMin;
        });
    if (marked || stays || core_.leaves().cutOf(plan) != 0) {
        core_.rebuild(entry, leaf);
        return 0;
    }
    const size_t bytes = nodeWeight(leaf);
    auto* away = new DiskLeaf(*leaf, plan.entries.size(), plan.bytes);
    if (!core_.install(entry, leaf, away)) {
        destroyNode(away);  // a writer has replaced the frozen leaf
        return 0;
    }
    core_.leaves().retireFolded(plan);
    return bytes;
}

Fault LeafEviction::faultAt(PageEntry* entry) {
    Node* node = nodeOf(*entry);
    return node->isOnDisk ? Fault{entry, static_cast<DiskLeaf*>(node)} : Fault{};
}

std::vector<Fault> LeafEviction::faultsBehind(const Fault& fault, size_t most) {
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

void LeafEviction::bringBack(const Fault& fault, LeafNode* leaf) {
    holdAllPages();  // the caller goes on with fault.leaf
    leaf->right = fault.leaf->right;
    // First, since no write may escape the redo position (INV-engine-17).
    if (fault.entry != &core_.root() && !mutated(Mutant::kResidentLate)) {
        residents_.add(fault.entry);
    }
    // No other thread replaces a DiskLeaf: only one thread reads it.
    const bool installed = core_.install(fault.entry, fault.leaf, leaf);
    invariant(installed);
    if (fault.entry != &core_.root() && mutated(Mutant::kResidentLate)) {
        residents_.add(fault.entry);
    }
}

}  // namespace freshet::engine
