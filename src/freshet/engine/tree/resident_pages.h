// SPDX-License-Identifier: Apache-2.0
/// The pages of a tree whose leaves are in memory, one behind the other, for the eviction and the
/// checkpoint: they have nothing to do with the others, which are most of them when the data is
/// larger than memory.
#pragma once

#include "freshet/engine/node/page_entry.h"
#include "freshet/sync/atomic.h"

#include <cstddef>
#include <functional>

namespace freshet::engine {

/// Pages one behind the other, linked through PageEntry::nextResident.
class PageQueue {
public:
    const PageEntry* first() const { return first_; }
    size_t count() const { return count_; }
    /// Null: there is none. Asks the cache for what the next call needs.
    PageEntry* takeFirst();
    void putLast(PageEntry* page);
    /// All of `others` go in front.
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

/// The link is in the pages, so it takes no memory of its own. It names pages of its tree only, and
/// none that is kDead: they stay as long as the tree, or until removeIf().
///
/// While more is written than memory holds most leaves wait for their images. Those are set aside:
/// the eviction would otherwise look at all of them, time and again, for the few that may go.
class ResidentPages {
public:
    ResidentPages() = default;
    ResidentPages(const ResidentPages&) = delete;
    ResidentPages& operator=(const ResidentPages&) = delete;

    /// Any thread. REQUIRES: the page is not in the list: its leaf comes into memory.
    void add(PageEntry* page);

    // The eviction's own, which is the checkpoint's.
    /// Calls visit(PageEntry*) for each page, those that are set aside first and in their order.
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
    /// Those leave the list, for good: REQUIRES that nobody adds them any more.
    void removeIf(const std::function<bool(PageEntry*)>& isOut);
    /// What was added meanwhile goes behind the others, after `visit` has seen it. Returns how many
    /// takeFirst() can return.
    size_t takeIn(const std::function<void(PageEntry*)>& visit);
    /// The page that was here longest leaves the list; null: there is none but those set aside, or
    /// takeIn() has not been called.
    PageEntry* takeFirst() { return queue_.takeFirst(); }
    /// Whom it will return next time.
    const PageEntry* first() const { return queue_.first(); }
    void putLast(PageEntry* page) { queue_.putLast(page); }
    void setAside(PageEntry* page) { aside_.putLast(page); }
    /// Asks of a part of those that were set aside, the next time of the next part. Those for which
    /// `waits` says no come first again.
    void takeBack(const std::function<bool(PageEntry*)>& waits);
    /// All of them.
    void takeAllBack();

private:
    /// All that was added since the last time, the newest first.
    PageEntry* takeAdded();

    /// What takeAdded() has not seen, the newest first.
    ///   STEPS    null -> a list that grows in front [resident.add] -> null [resident.take]
    ///   RECLAIM  who adds a page has it in his slice; whoever frees one has taken it out before
    ///   ABA      a list is only taken whole
    sync::Atomic<PageEntry*> added_{nullptr};
    // The eviction's own.
    PageEntry* arrived_ = nullptr;  // taken from added_ by removeIf(), and takeIn() has not seen it
    PageQueue queue_;
    PageQueue aside_;
};

}  // namespace freshet::engine
