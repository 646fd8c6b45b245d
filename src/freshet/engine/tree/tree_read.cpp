// SPDX-License-Identifier: Apache-2.0
/// PageTree: the way down to a page, and what a snapshot sees of a key.
#include "freshet/base/assert.h"
#include "freshet/engine/tree/disk_leaf.h"
#include "freshet/engine/tree/leaf_merge.h"
#include "freshet/engine/tree/page_tree.h"

namespace freshet::engine {

using sync::kAcquire;

PageTree::Descent PageTree::descend(const Target& target, uint8_t level) {
    const uint64_t head = keyHeadOf(target.key);
    Descent descent;
    descent.entry = &root_;
    for (;;) {
        Node* node = descent.hold.on(*descent.entry, target.use, level);
        sync::notePlainRead(node);
        const bool beyond = target.last     ? node->right != nullptr
                            : target.before ? !node->high.empty() && node->high < target.key
                                            : node->isLeftOf(head, target.key);
        if (beyond && !mutated(Mutant::kNoMoveRight)) {
            Node* const first = descent.unposted;
            descent.unposted = first == nullptr ? node : first;
            descent.entry = node->right;
            if (first != nullptr) {
                descent.hold.off(node);
            }
            continue;
        }
        if (node->level == level) {
            descent.node = node;
            return descent;
        }
        invariant(node->level > level);
        auto* inner = static_cast<InnerNode*>(node);
        if (target.last) {
            descent.entry = inner->child.back();
            descent.hold.off(node);
            continue;
        }
        const KeyArray::Place place = inner->separators.lowerBound(node->pageKey(target.key));
        descent.entry = inner->child[place.pos + (place.exact && !target.before ? 1 : 0)];
        descent.hold.off(node);
    }
}

void PageTree::repair(const Descent& descent) {
    if (const Node* left = descent.unposted) {
        postSeparator(static_cast<uint8_t>(left->level + 1), left->high, left->right);
    }
}

PageTree::Newest PageTree::newestOf(Version* chain) {
    // [older.read] acquire: pairs with [version.push].
    for (Version* v = chain; v != nullptr; v = v->older.load(kAcquire)) {
        const Outcome outcome = env_.txns.resolve(v->stamp);
        if (outcome.fate != Fate::kAborted) {
            return {v, outcome};
        }
    }
    return {nullptr, {}};
}

std::optional<ValueRef> PageTree::visible(const Version* chain,
                                          const View& view,
                                          const std::optional<ValueRef>& base) {
    // [older.read] acquire: pairs with [version.push]. A link that trim() took lies below a version
    // at which every snapshot stops, or above it below an aborted one that keeps its link.
    for (const Version* v = chain; v != nullptr; v = v->older.load(kAcquire)) {
        const Outcome outcome = env_.txns.resolve(v->stamp);
        const bool mine = outcome.fate == Fate::kInFlight && outcome.stamp == view.ownStamp;
        if (mine || (outcome.fate == Fate::kCommitted && outcome.ts <= view.readTs)) {
            if (v->isDelete()) {
                return std::nullopt;
            }
            return v->value();
        }
    }
    // Anything newer than minReadTs keeps its chain, so the base is visible to every snapshot.
    return base;
}

Fault PageTree::faultOf(const Descent& descent) {
    dcheck(descent.node->isOnDisk);
    return {descent.entry, static_cast<DiskLeaf*>(descent.node)};
}

Fault PageTree::faultAt(ByteView key) {
    const Descent descent = descend({.key = key});
    return descent.node->isOnDisk ? faultOf(descent) : Fault{};
}

Fault PageTree::faultAt(PageEntry* entry) {
    Node* node = nodeOf(*entry);
    return node->isOnDisk ? Fault{entry, static_cast<DiskLeaf*>(node)} : Fault{};
}

bool PageTree::isGood(const LeafHint& hint) const {
    // [hint.look] relaxed: the epochs stand between, as they do for any word that leads to what is
    // retired next. A slice that is not waited for begins after somebody has seen the retirer's
    // leave, and knows of the [hint.end] before it; any other is waited for, whatever it sees.
    return hint.generation == hintGeneration_.load(sync::kRelaxed) || mutated(Mutant::kHintOfFreed);
}

PageTree::Descent PageTree::descendFrom(const LeafHint& hint, ByteView key) {
    if (isGood(hint)) {
        Descent at{hint.entry, nullptr, nullptr};
        Node* node = at.hold.on(*hint.entry, kToRead, 0);
        const uint64_t head = keyHeadOf(key);
        if (node->isLeaf() && node->beginsAtOrBefore(head, key) && !node->isLeftOf(head, key)) {
            sync::notePlainRead(node);
            at.node = node;
            return at;
        }
        at.hold.off(node);
    }
    return descend({.key = key});
}

std::optional<ValueRef> PageTree::get(ByteView key, const View& view, Fault* fault, LeafHint hint) {
    const Descent descent = hint.entry == nullptr ? descend({.key = key}) : descendFrom(hint, key);
    if (descent.node->isOnDisk) {
        *fault = faultOf(descent);
        return std::nullopt;
    }
    auto* leaf = static_cast<LeafNode*>(descent.node);
    leaf->touch();
    const PageKey place = leaf->pageKey(key);
    const KeyArray& keys = leaf->image.keys();
    KeyArray::Place at{hint.pos, true};
    if (descent.entry != hint.entry || !keys.isAt(hint.pos, place)) {
        leaf->prefetch();
        at = keys.lowerBound(place);
    }
    std::optional<ValueRef> value = baseAt(*leaf, at.exact ? at.pos : DeltaKey::kNoBase);
    LeafDelta* delta = at.exact && !leaf->mayHaveChain(at.pos) ? nullptr : leaf->deltaForRead();
    if (delta != nullptr) {
        if (const DeltaKey::Link* chain = delta->chainOf(at.pos, place)) {
            // [version.read] acquire: pairs with [version.push].
            value = visible(pointerOf<Version>(chain->load(kAcquire)), view, value);
        }
    }
    descent.hold.end();
    repair(descent);
    return value;
}

}  // namespace freshet::engine
