// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/page_entry.h"

namespace freshet::engine {

using sync::kAcqRel;
using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

bool PageEntry::markIfClean(uint64_t lsn) {
    // [mark.look] relaxed: a mark that is there already is low enough: it was made before this
    // writer's own append. One that has just been taken is found by the look after linking.
    uint64_t seen = recLsn.load(kRelaxed);
    // [mark.set] CAS. ORDER: release pairs with [mark.effective], whose reader then sees what made
    //            the writer mark; relaxed on failure: nothing is done.
    //   LOST     another writer has marked the page.
    //   PROGRESS one attempt.
    return seen == 0 && recLsn.compare_exchange_strong(seen, lsn, kRelease, kRelaxed);
}

bool PageEntry::lowerMark(uint64_t lsn) {
    // [mark.look] relaxed: only fed to the CAS.
    uint64_t seen = recLsn.load(kRelaxed);
    // [mark.lower] CAS. ORDER: release pairs with [mark.effective]; relaxed on failure: tried
    // again.
    //   LOST     a writer has marked the page meanwhile.
    //   PROGRESS only this thread takes marks away, so at the second attempt there is one.
    while ((seen == 0 || seen > lsn) &&
           !recLsn.compare_exchange_weak(seen, lsn, kRelease, kRelaxed)) {
    }
    return seen == 0;
}

bool PageEntry::takeMark() {
    // [mark.look] relaxed: a mark that comes later stays.
    const uint64_t mark = recLsn.load(kRelaxed);
    if (mark == 0) {
        return false;
    }
    // [mark.pending] release: before the mark goes; pairs with [mark.effective]. Relaxed load: our
    // own store.
    pendingLsn.store(lowerOf(pendingLsn.load(kRelaxed), mark), kRelease);
    // [mark.take] release: pairs with [mark.effective]: whoever misses the mark sees it pending. A
    // mark that is set changes by nobody else's hand.
    recLsn.store(0, kRelease);
    return true;
}

void PageEntry::settleMark() {
    // [mark.settle] release: pairs with [mark.effective]: the image holds what was marked.
    pendingLsn.store(0, kRelease);
}

uint64_t PageEntry::effectiveLsn() const {
    // [mark.effective] acquire, twice and in this order: pairs with [mark.take] and [mark.settle].
    const uint64_t mark = recLsn.load(kAcquire);
    return lowerOf(mark, pendingLsn.load(kAcquire));
}

}  // namespace freshet::engine
