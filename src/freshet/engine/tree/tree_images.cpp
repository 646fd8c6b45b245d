// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/tree_images.h"

#include "freshet/base/assert.h"

#include <utility>

namespace freshet::engine {

using sync::kAcquire;
using sync::kRelaxed;

void TreeImages::sortNewPages() {
    PageEntry* decided = nullptr;
    PageEntry* newer = nullptr;
    for (PageEntry* entry = pages_.newest(); entry != decided_;) {
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

void TreeImages::lowerMark(PageEntry* entry, uint64_t lsn) {
    if (entry->lowerMark(lsn)) {
        // [stats.add] relaxed: a statistic.
        env_.dirtyPages.fetch_add(1, kRelaxed);
    }
}

void TreeImages::lowerMarkAway(PageEntry* entry, uint64_t lsn) {
    if (!std::exchange(entry->isLowered, true)) {
        lowered_.push_back(entry);
    }
    lowerMark(entry, lsn);
}

void TreeImages::takeMark(PageEntry* entry) {
    if (entry->takeMark()) {
        // [stats.add] relaxed: a statistic.
        env_.dirtyPages.fetch_sub(1, kRelaxed);
    }
}

std::unordered_set<const PageEntry*> TreeImages::originsOfNewPages() const {
    std::unordered_set<const PageEntry*> origins;
    for (PageEntry* entry = pages_.newest(); entry != decided_; entry = entry->older) {
        origins.insert(entry->origin());
    }
    return origins;
}

void TreeImages::takeOut(const std::vector<PageEntry*>& gone) {
    auto isGone = [](const PageEntry* entry) {
        // [page.state] relaxed: that it is gone was our own store.
        return entry->state.load(kRelaxed) == PageState::kGone;
    };
    residents_.removeIf(isGone);
    std::erase_if(lowered_, isGone);
    for (PageEntry* entry : gone) {
        dcheck(entry != resumeAt_);  // goOnOverImages() has passed over what is gone
        PageEntry* newer = entry->newer();
        newer->older = entry->older;
        entry->older->setDecided(newer);
    }
}

}  // namespace freshet::engine
