// SPDX-License-Identifier: Apache-2.0
/// raiseTo: atomic maximum, for positions that only rise.
#pragma once

#include "freshet/sync/atomic.h"

#include <cstdint>

namespace freshet::journal {

inline void raiseTo(sync::Atomic<uint64_t>& word, uint64_t value) {
    uint64_t seen = word.load(sync::kRelaxed);  // only a guess for the CAS
    while (seen < value) {
        // [raise.cas] CAS. ORDER acq_rel: release pairs with the acquire loads of the word.
        //   LOST     another thread changed it: done if it is high enough now, else try again.
        //   PROGRESS lock-free: our failure is another thread's raise.
        if (word.compare_exchange_weak(seen, value, sync::kAcqRel, sync::kRelaxed)) {
            return;
        }
    }
}

}  // namespace freshet::journal
