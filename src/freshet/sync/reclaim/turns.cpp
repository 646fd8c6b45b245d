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
    const bool counts = turn.isTimeToCount();
    if (!counts && state->crowd.neverWas()) {
        return;
    }
    const uint64_t now = platform::monotonicNanos();
    if (counts) {
        state->crowd.note(state->openSlices(), now);
    }
    const bool crowded = state->crowd.lastsAt(now);
    turn.setOwn(crowded);
    if (crowded && turn.isOver(now, state->pace)) {
        turn.end(now, &state->pace);
        // [turns.add] relaxed: a statistic, and a hint below.
        const uint64_t soFar = state->turnsEnded.fetch_add(1, kRelaxed) + 1;
        platform::yieldThread();
        const uint64_t again = platform::monotonicNanos();
        // A thread that has ended a turn meanwhile counts like an open slice: where turns are taken
        // no thread is stopped in a slice any more, so without this the crowd would be forgotten
        // every second.
        state->crowd.note(state->turnsEnded.load(kRelaxed) - soFar, again);  // [turns.add]
        turn.begin(again);
    }
}

}  // namespace freshet::sync
