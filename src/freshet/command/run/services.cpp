// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/services.h"

namespace freshet::command {

void OpCounters::add(uint64_t connectionId, OpKind kind, uint64_t count) {
    Stripe& stripe = stripes_[connectionId % kStripes];
    // [opcounter.add] ORDER relaxed: a number for people; nothing is read because of it.
    stripe.cells[static_cast<size_t>(kind)].fetch_add(count, sync::kRelaxed);
}

uint64_t OpCounters::total(OpKind kind) const {
    uint64_t sum = 0;
    for (const Stripe& stripe : stripes_) {
        // [opcounter.total] ORDER relaxed: a sum that may lag.
        sum += stripe.cells[static_cast<size_t>(kind)].load(sync::kRelaxed);
    }
    return sum;
}

}  // namespace freshet::command
