// SPDX-License-Identifier: Apache-2.0
/// TreeCore: the way down to a page, and reading a key.
#include "freshet/base/assert.h"
#include "freshet/engine/node/disk_leaf.h"
#include "freshet/engine/node/leaf_merge.h"
#include "freshet/engine/tree/tree_core.h"
#include "freshet/engine/variants/mutant.h"

namespace freshet::engine {

using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

PageEntry* standInOf(PageEntry* page) {
    while (page != nullptr) {
        const PageGlance node(*page);
        if (!node->isGone()) {
            break;
        }
        page = node->right;
    }
    return page;
}

TreeCore::TreeCore(TreeEnv* env, uint32_t rootPage, ResidentPages* residents)
    : env_(*env), pages_(env, rootPage, residents), leaves_(env) {
    pages_.begin(leaves_.newLeaf("", "", {}, {}));
}

Descent TreeCore::descend(const Target& target, uint8_t level) {
    const uint64_t head = keyHeadOf(target.key);
    Descent descent;
    descent.entry = &root();
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
        const KeyArray::Position place = inner->separators.lowerBound(node->pageKey(target.key));
        descent.entry = inner->child[place.pos + (place.exact && !target.before ? 1 : 0)];
        descent.hold.off(node);
    }
}

void TreeCore::repair(const Descent& descent) {
    if (const Node* left = descent.unposted) {
        postSeparator(static_cast<uint8_t>(left->level + 1), left->high, left->right);
    }
}

Fault TreeCore::faultOf(const Descent& descent) {
    dcheck(descent.node->isOnDisk);
    return {descent.entry, static_cast<DiskLeaf*>(descent.node)};
}

bool TreeCore::isGood(const LeafHint& hint) const {
    // [hint.look] relaxed: the epochs order it, as they do any word that leads to what is retired
    // next. A slice that the retirer does not wait for begins after some thread has seen the
    // retirer leave its own slice, so it sees the [hint.end] before that; any other slice is waited
    // for, whatever it sees.
    return hint.generation == hintGeneration_.load(sync::kRelaxed) || mutated(Mutant::kHintOfFreed);
}

Descent TreeCore::descendFrom(const LeafHint& hint, ByteView key) {
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

void TreeCore::endHints() {
    // [hint.end] relaxed load: our own store. Release: pairs with [hint.begin], and before the
    // pages are retired.
    hintGeneration_.store(hintGeneration_.load(kRelaxed) + 1, kRelease);
}

std::optional<ValueRef> TreeCore::get(ByteView key, const View& view, Fault* fault, LeafHint hint) {
    const Descent descent = hint.entry == nullptr ? descend({.key = key}) : descendFrom(hint, key);
    if (descent.node->isOnDisk) {
        *fault = faultOf(descent);
        return std::nullopt;
    }
    auto* leaf = static_cast<LeafNode*>(descent.node);
    leaf->touch();
    const PageKey place = leaf->pageKey(key);
    const KeyArray& keys = leaf->image.keys();
    KeyArray::Position at{hint.pos, true};
    if (descent.entry != hint.entry || !keys.isAt(hint.pos, place)) {
        leaf->prefetch();
        at = keys.lowerBound(place);
    }
    std::optional<ValueRef> value = baseAt(*leaf, at.exact ? at.pos : DeltaKey::kNoBase);
    LeafDelta* delta = at.exact && !leaf->mayHaveChain(at.pos) ? nullptr : leaf->deltaForRead();
    if (delta != nullptr) {
        if (const DeltaKey::Link* chain = delta->chainOf(at.pos, place)) {
            // [version.read] acquire: pairs with [version.push].
            value = visible(env_.txns, pointerOf<Version>(chain->load(kAcquire)), view, value);
        }
    }
    descent.hold.end();
    repair(descent);
    return value;
}

}  // namespace freshet::engine
