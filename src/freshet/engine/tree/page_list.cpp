// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/page_list.h"

#include "freshet/engine/node/disk_leaf.h"
#include "freshet/engine/node/leaf_merge.h"
#include "freshet/engine/variants/mutant.h"

namespace freshet::engine {

using sync::kRelaxed;
using sync::kRelease;

namespace {

void freeChains(LeafNode* leaf) {
    mergeUp(*leaf, nullptr, [](ByteView, const std::optional<ValueRef>&, auto* chain) {
        // [tree.end] relaxed: no other thread can reach the tree.
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

PageList::~PageList() {
    // [tree.end] relaxed: no other thread can reach the tree.
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

void PageList::begin(LeafNode* leaf) {
    // [entry.first] release: pairs with [entry.read].
    root_.word.store(leaf, kRelease);
    // [page.first] relaxed: published with the tree.
    root_.state.store(PageState::kLive, kRelaxed);
    pages_.store(&root_, kRelaxed);
    residents_.add(&root_);
    // [stats.add] relaxed: a statistic.
    env_.pages.fetch_add(1, kRelaxed);
}

PageEntry* PageList::add(Node* node, PageEntry* origin) {
    // [page.number] relaxed: see TreeEnv::nextPageId.
    auto* entry = new PageEntry(env_.nextPageId.fetch_add(1, kRelaxed), origin);
    // [entry.new] relaxed: published by [page.add] and by [entry.install] of the page that leads to
    // it.
    entry->word.store(node, kRelaxed);
    entry->isInner = node->level != 0;
    // [page.next] relaxed: only fed to the CAS.
    entry->older = pages_.load(kRelaxed);
    // The page is in the list before it can be reached: no write may escape the redo position.
    // [page.add] CAS. ORDER: release pairs with [page.walk]; relaxed on failure: tried again.
    //   LOST     another page was added.  PROGRESS lock-free: our failure is another's success.
    while (!pages_.compare_exchange_weak(entry->older, entry, kRelease, kRelaxed)) {
    }
    // [stats.add] relaxed: a statistic.
    env_.pages.fetch_add(1, kRelaxed);
    return entry;
}

void PageList::setLive(PageEntry* entry) {
    // First, since a page that is live and has an image is looked at as a resident only.
    if (!entry->isInner && !mutated(Mutant::kLiveEarly)) {
        residents_.add(entry);
    }
    // [page.live] release: pairs with [page.state]: a scan of the origin finds the new node.
    entry->state.store(PageState::kLive, kRelease);
    if (!entry->isInner && mutated(Mutant::kLiveEarly)) {
        residents_.add(entry);
    }
}

void PageList::setDead(PageEntry* entry) {
    // [stats.add] relaxed: a statistic.
    env_.pages.fetch_sub(1, kRelaxed);
    // [entry.dead] relaxed: no thread reads the word of a page that is not live.
    entry->word.store(nullptr, kRelaxed);
    // [page.dead] release: pairs with [page.state]; the last access of the thread that made it.
    entry->state.store(PageState::kDead, kRelease);
}

PageEntry* PageList::addLoaded(PageId page) {
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

PageEntry* PageList::loadedRoot() {
    root_.imaged = true;
    return &root_;
}

void PageList::setLoadedNode(PageEntry* entry, Node* node) {
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
