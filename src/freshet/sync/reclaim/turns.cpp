// SPDX-License-Identifier: Apache-2.0
#include "freshet/sync/reclaim/turns.h"

#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/reclaim/epoch_state.h"

namespace freshet::sync {

void Turn::setOwn(bool own) {
    if (own == isOwn_) {
        return;
    }
    isOwn_ = own;
    if (!own) {
        if (systemTurnNanos_ != 0) {
            platform::setTurnNanos(systemTurnNanos_);
        }
        return;
    }
    const uint64_t before = platform::turnNanos();
    systemTurnNanos_ = before >= kSystemTurnNanosMin && before < kSystemTurnNanos ? before : 0;
    if (systemTurnNanos_ != 0) {
        platform::setTurnNanos(kSystemTurnNanos);
    }
}

void Participant::Impl::lookAtTurn() {
    if (state->crowd.neverWas()) {
        return;
    }
    const uint64_t now = platform::monotonicNanos();
    const bool crowded = state->crowd.lastsAt(now);
    turn.setOwn(crowded);
    if (crowded && turn.isOver(now)) {
        // [turns.add] relaxed: a figure.
        state->turnsEnded.fetch_add(1, kRelaxed);
        platform::yieldThread();
        turn.begin(platform::monotonicNanos());
    }
}

}  // namespace freshet::sync
