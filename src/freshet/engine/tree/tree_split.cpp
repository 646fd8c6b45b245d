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

/// The shortest key above `left` that is not above `right`.
ByteView shortestBetween(ByteView left, ByteView right) {
    return right.substr(0, commonPrefix(left, right) + 1);
}

size_t innerBytes(std::span<const std::string> keys) {
    size_t bytes = 0;
    for (const std::string& key : keys) {
        bytes += key.size() + sizeof(uint64_t) + sizeof(uint32_t) + sizeof(PageEntry*);
    }
    return bytes;
}

}  // namespace

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
    env_.retire(old, destroyNodeErased, nodeWeight(old));
    return true;
}

bool PageTree::growRoot(Node* old, Node* left, Node* right) {
    PageEntry* leftPage = newPage(left, &root_);
    PageEntry* rightPage = newPage(right, &root_);
    left->right = rightPage;
    auto* top = new InnerNode(static_cast<uint8_t>(old->level + 1),
                              "",
                              "",
                              nullptr,
                              std::span<const std::string>(&left->high, 1),
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
    right->right = old->right;
    const std::string separator = left->high;
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

bool PageTree::splitLeaf(PageEntry* entry, LeafNode* leaf, const Plan& plan) {
    const size_t wanted = plan.bytes * (leaf->high.empty() ? kRightEdgeParts : kHalf) / 8;
    size_t cut = 0;
    for (size_t bytes = 0; cut < plan.entries.size() && bytes < wanted; ++cut) {
        bytes += plan.entries[cut].bytes;
    }
    cut = std::min(std::max<size_t>(cut, 1), plan.entries.size() - 1);
    const std::string separator =
        std::string(leaf->prefix())
            .append(shortestBetween(plan.entries[cut - 1].tail, plan.entries[cut].tail));
    LeafNode* left = build(plan, 0, cut, leaf->low, separator);
    LeafNode* right = build(plan, cut, plan.entries.size(), separator, leaf->high);
    return installHalves(entry, leaf, left, right);
}

bool PageTree::splitInner(PageEntry* entry,
                          InnerNode* old,
                          std::span<const std::string> keys,
                          const std::vector<PageEntry*>& children) {
    const size_t wanted = keys.size() * (old->high.empty() ? kRightEdgeParts : kHalf) / 8;
    const size_t cut = std::min(std::max<size_t>(wanted, 1), keys.size() - 2);
    const auto middle = children.begin() + static_cast<std::ptrdiff_t>(cut) + 1;
    auto* left = new InnerNode(old->level,
                               old->low,
                               keys[cut],
                               nullptr,
                               keys.first(cut),
                               std::vector<PageEntry*>(children.begin(), middle));
    auto* right = new InnerNode(old->level,
                                keys[cut],
                                old->high,
                                nullptr,
                                keys.subspan(cut + 1),
                                std::vector<PageEntry*>(middle, children.end()));
    return installHalves(entry, old, left, right);
}

void PageTree::postSeparator(uint8_t level, const std::string& separator, PageEntry* right) {
    for (;;) {
        const Descent descent = descend({.key = separator}, level);
        auto* old = static_cast<InnerNode*>(descent.node);
        const KeyArray::Place place = old->separators.lowerBound(old->pageKey(separator));
        if (place.exact || old->low == separator) {
            return;  // somebody has posted it; as a fence it leads to child[0]
        }
        std::vector<std::string> keys;
        keys.reserve(old->separators.size() + 1);
        for (uint32_t i = 0; i < old->separators.size(); ++i) {
            keys.push_back(old->separator(i));
        }
        keys.insert(keys.begin() + place.pos, separator);
        std::vector<PageEntry*> children = old->child;
        children.insert(children.begin() + place.pos + 1, right);
        if (keys.size() > 2 && innerBytes(keys) > env_.limits.innerBytesMax) {
            if (splitInner(descent.entry, old, keys, children)) {
                return;
            }
            continue;
        }
        auto* fresh =
            new InnerNode(level, old->low, old->high, old->right, keys, std::move(children));
        if (install(descent.entry, old, fresh)) {
            // Nothing would be lost without: the page's image leads to `right` all the same, if by
            // a detour.
            setDirty(descent.entry);
            return;
        }
        destroyNode(fresh);
    }
}

}  // namespace freshet::engine
