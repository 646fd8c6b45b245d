// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/node/page_entry.h"

namespace freshet::engine {

using sync::kAcqRel;
using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

bool PageEntry::lowerMark(uint64_t lsn) {
    // [mark.look] relaxed: only fed to the CAS.
    uint64_t seen = recLsn.load(kRelaxed);
    // [mark.lower] CAS. ORDER: release pairs with [mark.effective]; relaxed on failure: tried
    // again.
    //   LOST     a writer has marked the page meanwhile.
    //   PROGRESS only this thread takes marks away, so the second attempt finds one.
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
    // [mark.take] release: pairs with [mark.effective]: a reader that misses the mark sees it
    // pending. No other thread changes a mark that is set.
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
