// SPDX-License-Identifier: Apache-2.0
/// PageTree: installing nodes. A split is one CAS too: the left half replaces the page, and its
/// `right` leads to the new page. The parent learns of it afterwards, from whoever notices.
#include "freshet/base/assert.h"
#include "freshet/engine/tree/page_tree.h"
#include "freshet/engine/tree/tree_plan.h"

namespace freshet::engine {

using sync::kRelaxed;
using sync::kRelease;

namespace {

/// Parts out of eight that stay on the left when the rightmost page of a level splits: keys that
/// rise will not fill the left half again.
constexpr size_t kRightEdgeParts = 7;
constexpr size_t kHalf = 4;
/// So much of a full page is enough for a leaf of its own when keys were appended: what is in it
/// has then been copied once, and is not again.
constexpr size_t kAppendedParts = 3;

/// The shortest key above `left` that is not above `right`.
ByteView shortestBetween(ByteView left, ByteView right) {
    return right.substr(0, commonPrefix(left, right) + 1);
}

/// What an inner node counts for in the limit of its size.
size_t innerBytes(const InnerNode& node) {
    return node.separators.memoryBytes() + node.child.size() * sizeof(PageEntry*);
}

std::vector<std::string> separatorsOf(const InnerNode& node) {
    std::vector<std::string> keys;
    keys.reserve(node.separators.size());
    for (uint32_t i = 0; i < node.separators.size(); ++i) {
        keys.push_back(node.separator(i));
    }
    return keys;
}

}  // namespace

bool PageTree::isAppended(const Plan& plan) {
    const KeyArray& base = plan.leaf->image.keys();
    const auto& entries = plan.entries;
    // What is carried is the youngest.
    if (entries.back().chain == nullptr || entries.size() <= base.size()) {
        return false;
    }
    const uint32_t count = base.size();
    return count == 0 || entries[count - 1].tail == base.tail(count - 1);
}

bool PageTree::install(PageEntry* entry, Node* old, Node* fresh) {
    Node* expected = old;
    // [entry.install] CAS; LINEARIZES a rebuild, a split, a new separator.
    //   ORDER    release pairs with [entry.read]: the node is complete. Relaxed on failure: what is
    //            there is read again.
    //   LOST     another thread installed an equivalent, or (inner nodes) a different change: the
    //            caller drops its own, and looks again.
    //   PROGRESS lock-free: our failure is another thread's success.
    if (!entry->word.compare_exchange_strong(
            expected, fresh, mutated(Mutant::kRelaxedInstall) ? kRelaxed : kRelease, kRelaxed)) {
        return false;
    }
    retireNode(env_, old);
    return true;
}

bool PageTree::growRoot(Node* old, Node* left, Node* right) {
    PageEntry* leftPage = newPage(left, &root_);
    PageEntry* rightPage = newPage(right, &root_);
    left->right = rightPage;
    const std::string separator = left->high.string();
    auto* top = new InnerNode(static_cast<uint8_t>(old->level + 1),
                              "",
                              "",
                              nullptr,
                              std::span<const std::string>(&separator, 1),
                              {leftPage, rightPage});
    if (install(&root_, old, top)) {
        setLive(leftPage);
        setLive(rightPage);
        return true;
    }
    destroyNode(top);
    setDead(leftPage);
    setDead(rightPage);
    return false;
}

bool PageTree::installHalves(PageEntry* entry, Node* old, Node* left, Node* right) {
    right->right = standIn(old->right);
    const std::string separator = left->high.string();
    bool installed = false;
    PageEntry* rightPage = nullptr;
    if (entry == &root_) {
        installed = growRoot(old, left, right);
    } else {
        rightPage = newPage(right, entry);
        left->right = rightPage;
        installed = install(entry, old, left);
        installed ? setLive(rightPage) : setDead(rightPage);
    }
    if (!installed) {
        destroyNode(left);
        destroyNode(right);
        return false;
    }
    // [stats.add] relaxed: a statistic.
    env_.splits.fetch_add(1, kRelaxed);
    if (rightPage != nullptr) {
        postSeparator(static_cast<uint8_t>(old->level + 1), separator, rightPage);
    }
    return true;
}

uint32_t PageTree::ofLeaves(uint32_t limit) const {
    // [tree.codecRead] relaxed: see there.
    if (codec.load(kRelaxed) == block::Codec::kNone) {
        return limit;
    }
    const uint64_t packed = uint64_t{limit} * env_.limits.packedLeafBytesMax;
    return static_cast<uint32_t>(packed / env_.limits.leafBytesMax);
}

size_t PageTree::cutOf(const Plan& plan) const {
    const auto& entries = plan.entries;
    if (entries.size() < 2) {
        return 0;
    }
    const bool isRightEdge = plan.leaf->high.empty();
    if (isRightEdge && isAppended(plan)) {
        size_t end = entries.size() - 1;
        size_t bytes = plan.bytes - entries[end].bytes;
        for (; end > 1 && entries[end - 1].chain != nullptr; --end) {
            bytes -= entries[end - 1].bytes;
        }
        if (bytes >= ofLeaves(env_.limits.leafBytesMax) * kAppendedParts / 8) {
            return end;
        }
    }
    if (plan.bytes <= ofLeaves(env_.limits.leafBytesMax)) {
        return 0;
    }
    const size_t wanted = plan.bytes * (isRightEdge ? kRightEdgeParts : kHalf) / 8;
    size_t cut = 0;
    for (size_t bytes = 0; cut < entries.size() && bytes < wanted; ++cut) {
        bytes += entries[cut].bytes;
    }
    return std::min(std::max<size_t>(cut, 1), entries.size() - 1);
}

bool PageTree::splitLeaf(PageEntry* entry, LeafNode* leaf, const Plan& plan, size_t cut) {
    const std::string separator =
        std::string(leaf->prefix())
            .append(shortestBetween(plan.entries[cut - 1].tail, plan.entries[cut].tail));
    LeafNode* left = build(plan, 0, cut, leaf->low, separator);
    LeafNode* right = build(plan, cut, plan.entries.size(), separator, leaf->high);
    return installHalves(entry, leaf, left, right);
}

bool PageTree::splitInner(PageEntry* entry, InnerNode* old, const InnerNode& whole) {
    const std::vector<std::string> all = separatorsOf(whole);
    const std::span<const std::string> keys = all;
    const size_t wanted = keys.size() * (old->high.empty() ? kRightEdgeParts : kHalf) / 8;
    const size_t cut = std::min(std::max<size_t>(wanted, 1), keys.size() - 2);
    const auto middle = whole.child.begin() + static_cast<std::ptrdiff_t>(cut) + 1;
    auto* left = new InnerNode(old->level,
                               old->low,
                               keys[cut],
                               nullptr,
                               keys.first(cut),
                               std::vector<PageEntry*>(whole.child.begin(), middle));
    auto* right = new InnerNode(old->level,
                                keys[cut],
                                old->high,
                                nullptr,
                                keys.subspan(cut + 1),
                                std::vector<PageEntry*>(middle, whole.child.end()));
    return installHalves(entry, old, left, right);
}

bool PageTree::isToBePosted(const PageEntry& page, ByteView low) {
    // [heir.look] acquire: pairs with [heir.end]. Who has found a parent without the heir finds it
    // marked as one, by that parent's [entry.read], or no longer, and then with another low fence.
    // With an older parent the CAS on it fails.
    if (page.isHeir.load(sync::kAcquire) && !mutated(Mutant::kHeirPosted)) {
        return false;
    }
    // A page that is gone was posted before; that its separator may be gone as well is no reason to
    // lead there again.
    const PageGlance node(page);
    return node->low == low && (!node->isGone() || mutated(Mutant::kGonePosted));
}

void PageTree::postSeparator(uint8_t level, ByteView separator, PageEntry* right) {
    for (;;) {
        const Descent descent = descend(toChange(separator), level);
        auto* old = static_cast<InnerNode*>(descent.node);
        // What follows is read after the parent: see [heir.begin], and tree_remove.cpp.
        if (!isToBePosted(*right, separator)) {
            return;
        }
        const PageKey key = old->pageKey(separator);
        const KeyArray::Place place = old->separators.lowerBound(key);
        if (place.exact || old->low == separator) {
            return;  // somebody has posted it; as a fence it leads to child[0]
        }
        std::vector<PageEntry*> children;
        children.reserve(old->child.size() + 1);
        const auto middle = old->child.begin() + place.pos + 1;
        children.assign(old->child.begin(), middle);
        children.push_back(right);
        children.insert(children.end(), middle, old->child.end());
        auto fresh = std::make_unique<InnerNode>(level,
                                                 old->low,
                                                 old->high,
                                                 old->right,
                                                 old->separators.with(place.pos, key.tail),
                                                 std::move(children));
        if (fresh->separators.size() > 2 && innerBytes(*fresh) > env_.limits.innerBytesMax) {
            if (splitInner(descent.entry, old, *fresh)) {
                return;
            }
            continue;
        }
        if (install(descent.entry, old, fresh.get())) {
            fresh.release();
            // Nothing would be lost without: the page's image leads to `right` all the same, if by
            // a detour.
            setDirty(descent.entry);
            return;
        }
    }
}

}  // namespace freshet::engine
