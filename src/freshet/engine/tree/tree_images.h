// SPDX-License-Identifier: Apache-2.0
/// What the checkpoint has to know of a tree's pages: which of them may be due for a new image,
/// which have one, and their marks. Only the checkpoint's thread uses it, except that
/// lowerMarkAway() is also called while the tree is loaded.
#pragma once

#include "freshet/engine/tree/page_list.h"
#include "freshet/engine/tree/resident_pages.h"

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace freshet::engine {

class TreeImages {
public:
    TreeImages(TreeEnv* env, PageList* pages, ResidentPages* residents)
        : env_(*env), pages_(*pages), residents_(*residents) {}
    TreeImages(const TreeImages&) = delete;
    TreeImages& operator=(const TreeImages&) = delete;

    /// Calls visit(PageEntry&) for all pages that may be due (INV-engine-17): those whose nodes are
    /// in memory, and again those that lowerMarkAway() was called for. Pages without an image come
    /// first, the newest first; pages for which `visit` itself calls lowerMarkAway() come last.
    template <typename Visit>
    void forEachInMemory(const Visit& visit) {
        auto look = [&](PageEntry* entry) {
            if (PageList::isInTree(*entry)) {
                visit(*entry);
            }
        };
        for (PageEntry* e = pages_.newest(); e != decided_; e = e->older) {
            look(e);
        }
        std::for_each(inner_.begin(), inner_.end(), look);
        residents_.forEach([&](PageEntry* entry) {
            if (entry->isDecided) {
                look(entry);
            }
        });
        for (size_t i = 0; i < lowered_.size(); ++i) {
            look(lowered_[i]);
        }
    }
    /// Calls visit(PageEntry&) for one page after the other that had an image at the last call of
    /// sortNewPages(), until it returns false: the next call begins with that page, or with the
    /// newest one if this call came to the end. REQUIRES: called before LeafRemoval::freeGone() if
    /// any page has gone since the last call, whatever `visit` returns.
    template <typename Visit>
    void goOnOverImages(const Visit& visit) {
        PageEntry* entry = resumeAt_ != nullptr ? resumeAt_ : decided_;
        for (; entry != nullptr; entry = entry->older) {
            // [page.state] acquire: pairs with [page.live].
            if (entry->state.load(sync::kAcquire) != PageState::kGone && !visit(*entry)) {
                break;
            }
        }
        // If the first page has stopped it, nothing was visited: pages to come are in front of it.
        resumeAt_ = entry == decided_ ? nullptr : entry;
    }
    /// Of the pages that were made since the last call: frees the entries of splits that were not
    /// installed, and records where forEachInMemory() finds the others.
    void sortNewPages();

    /// The page's mark is at most `lsn` afterwards. REQUIRES: the page's node is in memory.
    void lowerMark(PageEntry* entry, uint64_t lsn);
    /// The same, wherever the page's leaf is.
    void lowerMarkAway(PageEntry* entry, uint64_t lsn);
    /// A scan of the page begins: its mark becomes pending.
    void takeMark(PageEntry* entry);

    // For LeafRemoval.
    /// The pages from which pages without an image were split off.
    std::unordered_set<const PageEntry*> originsOfNewPages() const;
    /// Takes pages that are gone out of every list. REQUIRES: newer() of none of them is null.
    void takeOut(const std::vector<PageEntry*>& gone);

private:
    TreeEnv& env_;
    PageList& pages_;
    ResidentPages& residents_;
    /// This page and all older ones are live, or gone, and have images.
    PageEntry* decided_ = nullptr;
    PageEntry* resumeAt_ = nullptr;    // where goOnOverImages() goes on; null: at decided_
    std::vector<PageEntry*> inner_;    // the inner ones among the decided pages, without the root
    std::vector<PageEntry*> lowered_;  // by lowerMarkAway(), and not settled
};

}  // namespace freshet::engine
