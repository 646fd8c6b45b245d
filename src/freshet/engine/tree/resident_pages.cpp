// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/resident_pages.h"

#include "freshet/engine/keys/prefetch.h"
#include "freshet/engine/variants/mutant.h"

#include <algorithm>
#include <utility>

namespace freshet::engine {
namespace {

/// How many of the pages that are set aside one takeBack() asks about: this part, or at least so
/// many. It is called some sixty times while as much is written as memory holds.
constexpr size_t kAskedMin = 16;
constexpr size_t kAskedPart = 4;

}  // namespace

using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

void ResidentPages::add(PageEntry* page) {
    // [resident.look] relaxed: only fed to the CAS.
    PageEntry* seen = added_.load(kRelaxed);
    // [resident.add] CAS. ORDER: release pairs with [resident.take]: the link. Relaxed on failure:
    // tried again.
    //   LOST     another page was added, or the eviction took the list.
    //   PROGRESS lock-free: our failure is another's success.
    do {
        page->nextResident = seen;
        sync::notePlainWrite(&page->nextResident);
    } while (!added_.compare_exchange_weak(
        seen, page, mutated(Mutant::kRelaxedResident) ? kRelaxed : kRelease, kRelaxed));
}

PageEntry* ResidentPages::takeAdded() {
    // [resident.take] acquire: pairs with [resident.add] of all that are in the list. It stores
    // null, which no thread follows, and so need not release.
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
    return queue_.count();
}

void ResidentPages::takeBack(const std::function<bool(PageEntry*)>& waits) {
    PageQueue back;
    const size_t asked = std::max(kAskedMin, aside_.count() / kAskedPart);
    for (size_t left = std::min(asked, aside_.count()); left != 0; --left) {
        PageEntry* page = aside_.takeFirst();
        (waits(page) ? aside_ : back).putLast(page);
    }
    queue_.putFirst(back);
}

void ResidentPages::takeAllBack() {
    queue_.putFirst(std::exchange(aside_, PageQueue()));
}

void ResidentPages::removeIf(const std::function<bool(PageEntry*)>& isOut) {
    for (PageQueue* queue : {&queue_, &aside_}) {
        PageQueue all = std::exchange(*queue, PageQueue());
        while (PageEntry* page = all.takeFirst()) {
            if (!isOut(page)) {
                queue->putLast(page);
            }
        }
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

PageEntry* PageQueue::takeFirst() {
    PageEntry* page = first_;
    if (page == nullptr) {
        return nullptr;
    }
    first_ = page->nextResident;
    if (first_ == nullptr) {
        last_ = nullptr;
    } else if (first_->nextResident != nullptr) {
        askFor(first_->nextResident, sizeof(PageEntry));
    }
    --count_;
    return page;
}

void PageQueue::putLast(PageEntry* page) {
    page->nextResident = nullptr;
    sync::notePlainWrite(&page->nextResident);
    (last_ == nullptr ? first_ : last_->nextResident) = page;
    last_ = page;
    ++count_;
}

void PageQueue::putFirst(PageQueue others) {
    if (others.last_ == nullptr) {
        return;
    }
    others.last_->nextResident = first_;
    sync::notePlainWrite(&others.last_->nextResident);
    first_ = others.first_;
    last_ = last_ == nullptr ? others.last_ : last_;
    count_ += others.count_;
}

}  // namespace freshet::engine
