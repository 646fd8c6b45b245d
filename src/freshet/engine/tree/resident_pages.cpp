// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/resident_pages.h"

#include "freshet/engine/txn/mutant.h"

#include <utility>

namespace freshet::engine {

using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

void ResidentPages::add(PageEntry* page) {
    // [resident.look] relaxed: only fed to the CAS.
    PageEntry* seen = added_.load(kRelaxed);
    // [resident.add] CAS. ORDER: release pairs with [resident.take]: the link. Relaxed on failure:
    // tried again.
    //   LOST     another page was added, or the eviction took what there was.
    //   PROGRESS lock-free: our failure is another's success.
    do {
        page->nextResident = seen;
        sync::notePlainWrite(&page->nextResident);
    } while (!added_.compare_exchange_weak(
        seen, page, mutated(Mutant::kRelaxedResident) ? kRelaxed : kRelease, kRelaxed));
}

PageEntry* ResidentPages::takeAdded() {
    // [resident.take] acquire: pairs with [resident.add] of all that are in the list. Its own store
    // is of nothing that anybody follows.
    if (mutated(Mutant::kResidentLost)) {
        PageEntry* page = added_.load(kAcquire);
        added_.store(nullptr, kRelaxed);
        return page;
    }
    return added_.exchange(nullptr, kAcquire);
}

size_t ResidentPages::takeIn(const std::function<void(PageEntry*)>& visit) {
    for (PageEntry* page : {std::exchange(arrived_, nullptr), takeAdded()}) {
        while (page != nullptr) {
            sync::notePlainRead(&page->nextResident);
            PageEntry* older = page->nextResident;
            visit(page);
            putLast(page);
            page = older;
        }
    }
    return count_;
}

void ResidentPages::removeIf(const std::function<bool(PageEntry*)>& isOut) {
    PageEntry* page = first_;
    first_ = last_ = nullptr;
    count_ = 0;
    while (page != nullptr) {
        PageEntry* next = page->nextResident;
        if (!isOut(page)) {
            putLast(page);
        }
        page = next;
    }
    for (PageEntry* added : {std::exchange(arrived_, nullptr), takeAdded()}) {
        while (added != nullptr) {
            sync::notePlainRead(&added->nextResident);
            PageEntry* next = added->nextResident;
            if (!isOut(added)) {
                added->nextResident = arrived_;
                sync::notePlainWrite(&added->nextResident);
                arrived_ = added;
            }
            added = next;
        }
    }
}

PageEntry* ResidentPages::takeFirst() {
    PageEntry* page = first_;
    if (page == nullptr) {
        return nullptr;
    }
    first_ = page->nextResident;
    if (first_ == nullptr) {
        last_ = nullptr;
    } else {
        __builtin_prefetch(first_);
    }
    --count_;
    return page;
}

void ResidentPages::putLast(PageEntry* page) {
    page->nextResident = nullptr;
    sync::notePlainWrite(&page->nextResident);
    (last_ == nullptr ? first_ : last_->nextResident) = page;
    last_ = page;
    ++count_;
}

}  // namespace freshet::engine
