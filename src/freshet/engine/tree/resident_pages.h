// SPDX-License-Identifier: Apache-2.0
/// A list of the pages of a tree whose leaves are in memory, for the eviction and the checkpoint.
/// These never look at other pages, which are the majority when the data is larger than memory.
#pragma once

#include "freshet/engine/node/page_entry.h"
#include "freshet/sync/atomic.h"

#include <cstddef>
#include <functional>

namespace freshet::engine {

/// A queue of pages, linked through PageEntry::nextResident.
class PageQueue {
public:
    const PageEntry* first() const { return first_; }
    size_t count() const { return count_; }
    /// Null: the queue is empty. Prefetches what the next call needs.
    PageEntry* takeFirst();
    void putLast(PageEntry* page);
    /// Puts all of `others` in front.
    void putFirst(PageQueue others);
    template <typename Visit>
    void forEach(const Visit& visit) const {
        for (PageEntry* page = first_; page != nullptr; page = page->nextResident) {
            visit(page);
        }
    }

private:
    PageEntry* first_ = nullptr;
    PageEntry* last_ = nullptr;
    size_t count_ = 0;
};

/// The link is in the pages, so the list takes no memory of its own. It has pages of its tree only,
/// and none that is kDead: they exist as long as the tree, or until removeIf().
///
/// While more is written than memory holds, most leaves wait for their images. Such pages are set
/// aside: the eviction would otherwise look at all of them, time and again, to find the few that
/// can be evicted.
class ResidentPages {
public:
    ResidentPages() = default;
    ResidentPages(const ResidentPages&) = delete;
    ResidentPages& operator=(const ResidentPages&) = delete;

    /// Any thread. REQUIRES: the page is not in the list, because its leaf is only now coming into
    /// memory.
    void add(PageEntry* page);

    // For the eviction, which is the checkpoint's thread.
    /// Calls visit(PageEntry*) for each page, first for those that are set aside, in their order.
    template <typename Visit>
    void forEach(const Visit& visit) const {
        aside_.forEach(visit);
        queue_.forEach(visit);
        for (PageEntry* page = arrived_; page != nullptr; page = page->nextResident) {
            visit(page);
        }
        // [resident.take] acquire, as in takeIn().
        PageEntry* page = added_.load(sync::kAcquire);
        while (page != nullptr) {
            sync::notePlainRead(&page->nextResident);
            visit(page);
            page = page->nextResident;
        }
    }
    /// Takes the pages for which `isOut` is true out of the list for good. REQUIRES: no thread adds
    /// them any more.
    void removeIf(const std::function<bool(PageEntry*)>& isOut);
    /// Calls `visit` for each page that was added meanwhile and puts it behind the others. Returns
    /// how many pages takeFirst() can return.
    size_t takeIn(const std::function<void(PageEntry*)>& visit);
    /// Takes out the page that has been in the list longest; null: all that are left are set aside,
    /// or takeIn() has not seen them.
    PageEntry* takeFirst() { return queue_.takeFirst(); }
    /// What it will return next time.
    const PageEntry* first() const { return queue_.first(); }
    void putLast(PageEntry* page) { queue_.putLast(page); }
    void setAside(PageEntry* page) { aside_.putLast(page); }
    /// Calls `waits` for a part of the pages that are set aside, the next time for the next part.
    /// Those for which it returns false come first again.
    void takeBack(const std::function<bool(PageEntry*)>& waits);
    /// All pages that are set aside come first again.
    void takeAllBack();

private:
    /// What was added since the last time, the newest first.
    PageEntry* takeAdded();

    /// What takeAdded() has not returned yet, the newest first.
    ///   STEPS    null -> a list that grows in front [resident.add] -> null [resident.take]
    ///   RECLAIM  a thread that adds a page has it in its slice; pages are taken out before they
    ///   are
    ///            freed
    ///   ABA      a list is only taken as a whole
    sync::Atomic<PageEntry*> added_{nullptr};
    // For the eviction's thread.
    PageEntry* arrived_ = nullptr;  // taken from added_ by removeIf(), and not seen by takeIn() yet
    PageQueue queue_;
    PageQueue aside_;
};

}  // namespace freshet::engine
