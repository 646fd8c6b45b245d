// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/stripes.h"

namespace freshet::command {
namespace {

size_t nextOrdinal() {
    /// STEPS rises by one with each thread that asks for the first time.
    static sync::Atomic<uint64_t> next{0};
    // [stripe.thread] ORDER relaxed: only that numbers differ counts.
    return next.fetch_add(1, sync::kRelaxed);
}

}  // namespace

StripePlace StripePlace::mine() {
    thread_local const size_t ordinal = nextOrdinal();
    if (ordinal < kOwned) {
        return {ordinal, false};
    }
    return {kOwned + ordinal % (kCount - kOwned), true};
}

}  // namespace freshet::command
