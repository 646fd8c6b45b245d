// SPDX-License-Identifier: Apache-2.0
/// PageTree: the list of its pages, from its beginning or its loading to its end.
#include "freshet/base/assert.h"
#include "freshet/engine/tree/disk_leaf.h"
#include "freshet/engine/tree/leaf_merge.h"
#include "freshet/engine/tree/page_tree.h"

#include <utility>
#include <vector>

namespace freshet::engine {

using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

namespace {

void freeChains(LeafNode* leaf) {
    mergeUp(*leaf, nullptr, [](ByteView, const std::optional<ValueRef>&, auto* chain) {
        // [tree.end] relaxed: nobody else can reach the tree.
        auto* version = chain == nullptr ? nullptr : pointerOf<Version>(chain->load(kRelaxed));
        while (version != nullptr) {
            Version* older = version->older.load(kRelaxed);
            Version::destroy(version);
            version = older;
        }
        return true;
    });
}

}  // namespace

PageTree::PageTree(TreeEnv* env, uint32_t id) : env_(*env), root_(id) {
    // [entry.first] release: pairs with [entry.read].
    root_.word.store(newLeaf("", "", {}, {}), kRelease);
    // [page.first] relaxed: published with the tree.
    root_.state.store(PageState::kLive, kRelaxed);
    pages_.store(&root_, kRelaxed);
    residents_.add(&root_);
    // [stats.add] relaxed: a statistic.
    env_.pages.fetch_add(1, kRelaxed);
}

PageTree::~PageTree() {
    // [tree.end] relaxed: nobody else can reach the tree.
    for (PageEntry* entry = pages_.load(kRelaxed); entry != nullptr;) {
        if (Node* node = entry->word.load(kRelaxed)) {
            if (node->isLeaf()) {
                freeChains(static_cast<LeafNode*>(node));
            } else if (node->isOnDisk) {
                for (const auto& value : static_cast<DiskLeaf*>(node)->largeValues()) {
                    env_.freedValues.add(value.page);
                }
            }
            destroyNode(node);
            // [stats.add] relaxed: a statistic.
            env_.pages.fetch_sub(entry->state.load(kRelaxed) == PageState::kGone ? 0 : 1, kRelaxed);
            env_.dirtyPages.fetch_sub(entry->recLsn.load(kRelaxed) != 0 ? 1 : 0, kRelaxed);
        }
        PageEntry* older = entry->older;
        if (entry != &root_) {
            delete entry;
        }
        entry = older;
    }
}

LeafNode* PageTree::newLeaf(ByteView low,
                            ByteView high,
                            std::span<const ByteView> tails,
                            std::span<const ValueRef> values,
                            block::PageBuffer page) {
    auto* leaf = new LeafNode(low, high, nullptr, tails, values, std::move(page));
    leaf->rebuildAtBytes = env_.limits.deltaBytesMax;
    leaf->rebuildAtCount = env_.limits.deltaKeysMax;
    return leaf;
}

PageEntry* PageTree::newPage(Node* node, PageEntry* origin) {
    // [page.number] relaxed: see TreeEnv::nextPageId.
    auto* entry = new PageEntry(env_.nextPageId.fetch_add(1, kRelaxed), origin);
    // [entry.new] relaxed: published by [page.add] and by [entry.install] of the page that leads to
    // it.
    entry->word.store(node, kRelaxed);
    entry->isInner = node->level != 0;
    // [page.next] relaxed: only fed to the CAS.
    entry->older = pages_.load(kRelaxed);
    // In the list before it can be reached: nobody's write may escape the redo position.
    // [page.add] CAS. ORDER: release pairs with [page.walk]; relaxed on failure: tried again.
    //   LOST     another page was added.  PROGRESS lock-free: our failure is another's success.
    while (!pages_.compare_exchange_weak(entry->older, entry, kRelease, kRelaxed)) {
    }
    // [stats.add] relaxed: a statistic.
    env_.pages.fetch_add(1, kRelaxed);
    return entry;
}

void PageTree::setLive(PageEntry* entry) {
    // First, since a page that is live and has an image is looked at as a resident only.
    if (!entry->isInner && !mutated(Mutant::kLiveEarly)) {
        residents_.add(entry);
    }
    // [page.live] release: pairs with [page.state]: a scan of the origin meets the new node.
    entry->state.store(PageState::kLive, kRelease);
    if (!entry->isInner && mutated(Mutant::kLiveEarly)) {
        residents_.add(entry);
    }
}

void PageTree::setDead(PageEntry* entry) {
    // [stats.add] relaxed: a statistic.
    env_.pages.fetch_sub(1, kRelaxed);
    // [entry.dead] relaxed: nobody looks at the word of a page that is not live.
    entry->word.store(nullptr, kRelaxed);
    // [page.dead] release: pairs with [page.state]; the last access of whoever made the entry.
    entry->state.store(PageState::kDead, kRelease);
}

void PageTree::sortNewPages() {
    PageEntry* decided = nullptr;
    PageEntry* newer = nullptr;
    // [page.walk] acquire: as in forEachPage().
    for (PageEntry* entry = pages_.load(kAcquire); entry != decided_;) {
        PageEntry* older = entry->older;
        // [page.state] acquire: pairs with [page.dead] and [page.live].
        const PageState state = entry->state.load(kAcquire);
        if (state == PageState::kDead && newer != nullptr) {
            newer->older = older;
            delete entry;
        } else {
            const bool isOld =
                entry->imaged && (state == PageState::kLive || state == PageState::kGone);
            decided = !isOld ? nullptr : decided == nullptr ? entry : decided;
            newer = entry;
        }
        entry = older;
    }
    if (decided != nullptr) {
        PageEntry* front = nullptr;
        for (PageEntry* entry = decided; entry != decided_; entry = entry->older) {
            entry->setDecided(std::exchange(front, entry));
            if (entry->isInner) {
                inner_.push_back(entry);
            }
        }
        if (decided_ != nullptr) {
            decided_->setDecided(front);
        }
        decided_ = decided;
    }
    std::erase_if(lowered_, [](PageEntry* entry) {
        entry->isLowered = entry->effectiveLsn() != 0;
        return !entry->isLowered;
    });
}

std::vector<PageId> PageTree::takeGone() {
    // A writer who came too late may have left a mark: that would be counted, and never be taken.
    auto clear = [this](PageEntry* entry) {
        takeMark(entry);
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

void PageTree::lowerMark(PageEntry* entry, uint64_t lsn) {
    if (entry->lowerMark(lsn)) {
        // [stats.add] relaxed: a statistic.
        env_.dirtyPages.fetch_add(1, kRelaxed);
    }
}

void PageTree::lowerMarkAway(PageEntry* entry, uint64_t lsn) {
    if (!std::exchange(entry->isLowered, true)) {
        lowered_.push_back(entry);
    }
    lowerMark(entry, lsn);
}

void PageTree::takeMark(PageEntry* entry) {
    if (entry->takeMark()) {
        // [stats.add] relaxed: a statistic.
        env_.dirtyPages.fetch_sub(1, kRelaxed);
    }
}

PageEntry* PageTree::addLoadedPage(PageId page) {
    auto* entry = new PageEntry(page);
    entry->imaged = true;
    // [page.loaded] relaxed: published with the tree.
    entry->state.store(PageState::kLive, kRelaxed);
    entry->older = pages_.load(kRelaxed);
    pages_.store(entry, kRelaxed);
    // [stats.add] relaxed: a statistic.
    env_.pages.fetch_add(1, kRelaxed);
    return entry;
}

PageEntry* PageTree::loadedRoot() {
    root_.imaged = true;
    return &root_;
}

void PageTree::setLoadedNode(PageEntry* entry, Node* node) {
    // [page.loaded] relaxed: published with the tree.
    if (Node* first = entry->word.load(kRelaxed)) {
        destroyNode(first);
    }
    entry->word.store(node, kRelaxed);
    entry->isInner = node->level != 0 && entry != &root_;
    if (node->isLeaf() && entry != &root_) {
        residents_.add(entry);
    }
}

}  // namespace freshet::engine
