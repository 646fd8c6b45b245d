// SPDX-License-Identifier: Apache-2.0
/// Where a thread keeps the numbers that it only adds to: the first threads have a stripe each,
/// which they write without a lock or a locked instruction; all others share the last ones.
#pragma once

#include "freshet/sync/atomic.h"

#include <cstddef>
#include <cstdint>

namespace freshet::command {

/// A place in an array of kCount stripes.
struct StripePlace {
    static constexpr size_t kCount = 64;
    static constexpr size_t kOwned = 56;

    size_t at;
    bool isShared;

    /// The calling thread's; it never changes.
    static StripePlace mine();

    /// A number for people. Written by: the threads of the stripe. Read by: reports.
    ///   INV-1    it only rises
    ///   INV-2    a stripe that is not shared is written by one thread
    void bump(sync::Atomic<uint64_t>& cell, uint64_t by) const {
        if (isShared) {
            // [stripe.add] ORDER relaxed: nothing is inferred from it, and sums may lag.
            cell.fetch_add(by, sync::kRelaxed);
        } else {
            // [stripe.set] ORDER relaxed: as above. INV-2: no other thread writes in between.
            cell.store(cell.load(sync::kRelaxed) + by, sync::kRelaxed);
        }
    }
};

}  // namespace freshet::command
