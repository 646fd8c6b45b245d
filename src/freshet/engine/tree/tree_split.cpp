// SPDX-License-Identifier: Apache-2.0
/// TreeCore: installing nodes. A split is one CAS too: the left half replaces the page, and its
/// `right` leads to the new page. The parent gets its separator afterwards, from any thread that
/// finds it missing.
#include "freshet/base/assert.h"
#include "freshet/engine/tree/tree_core.h"
#include "freshet/engine/variants/mutant.h"

namespace freshet::engine {

using sync::kRelaxed;
using sync::kRelease;

namespace {

/// Parts out of eight that stay on the left when the rightmost inner page of a level splits: keys
/// that rise will not fill the left half again.
constexpr size_t kRightEdgeInnerParts = 7;
constexpr size_t kHalfInner = 4;

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

bool TreeCore::install(PageEntry* entry, Node* old, Node* fresh) {
    Node* expected = old;
    // [entry.install] CAS; LINEARIZES a rebuild, a split, a new separator.
    //   ORDER    release pairs with [entry.read]: the node is complete. Relaxed on failure: the
    //            word is read again.
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

bool TreeCore::growRoot(Node* old, Node* left, Node* right) {
    PageEntry* leftPage = pages_.add(left, &root());
    PageEntry* rightPage = pages_.add(right, &root());
    left->right = rightPage;
    const std::string separator = left->high.string();
    auto* top = new InnerNode(static_cast<uint8_t>(old->level + 1),
                              "",
                              "",
                              nullptr,
                              std::span<const std::string>(&separator, 1),
                              {leftPage, rightPage});
    if (install(&root(), old, top)) {
        pages_.setLive(leftPage);
        pages_.setLive(rightPage);
        return true;
    }
    destroyNode(top);
    pages_.setDead(leftPage);
    pages_.setDead(rightPage);
    return false;
}

bool TreeCore::installHalves(PageEntry* entry, Node* old, Node* left, Node* right) {
    right->right = standInOf(old->right);
    const std::string separator = left->high.string();
    bool installed = false;
    PageEntry* rightPage = nullptr;
    if (entry == &root()) {
        installed = growRoot(old, left, right);
    } else {
        rightPage = pages_.add(right, entry);
        left->right = rightPage;
        installed = install(entry, old, left);
        installed ? pages_.setLive(rightPage) : pages_.setDead(rightPage);
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

bool TreeCore::splitLeaf(PageEntry* entry, LeafNode* leaf, const FoldPlan& plan, size_t cut) {
    const std::string separator =
        std::string(leaf->prefix())
            .append(shortestBetween(plan.entries[cut - 1].tail, plan.entries[cut].tail));
    LeafNode* left = leaves_.build(plan, 0, cut, leaf->low, separator);
    LeafNode* right = leaves_.build(plan, cut, plan.entries.size(), separator, leaf->high);
    return installHalves(entry, leaf, left, right);
}

bool TreeCore::splitInner(PageEntry* entry, InnerNode* old, const InnerNode& whole) {
    const std::vector<std::string> all = separatorsOf(whole);
    const std::span<const std::string> keys = all;
    const size_t wanted = keys.size() * (old->high.empty() ? kRightEdgeInnerParts : kHalfInner) / 8;
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

bool TreeCore::isToBePosted(const PageEntry& page, ByteView low) {
    // [merge.look] acquire: pairs with [merge.end]. A thread that has found a parent without the
    // merge target finds the flag set, by that parent's [entry.read], or set no longer, and then
    // the page has another low fence. With an older parent the CAS on it fails.
    if (page.isMergeTarget.load(sync::kAcquire) && !mutated(Mutant::kTargetPosted)) {
        return false;
    }
    // A page that is gone was posted before. Its separator may be missing because the page is gone,
    // so it must not be posted again.
    const PageGlance node(page);
    return node->low == low && (!node->isGone() || mutated(Mutant::kGonePosted));
}

void TreeCore::postSeparator(uint8_t level, ByteView separator, PageEntry* right) {
    for (;;) {
        const Descent descent = descend(toChange(separator), level);
        auto* old = static_cast<InnerNode*>(descent.node);
        // What follows is read after the parent: see [merge.begin], and leaf_removal.h.
        if (!isToBePosted(*right, separator)) {
            return;
        }
        const PageKey key = old->pageKey(separator);
        const KeyArray::Position place = old->separators.lowerBound(key);
        if (place.exact || old->low == separator) {
            return;  // it is posted already; as a low fence it leads to child[0]
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
            // Nothing would be lost without this: the page's old image also leads to `right`, by a
            // detour.
            setDirty(descent.entry);
            return;
        }
    }
}

}  // namespace freshet::engine
