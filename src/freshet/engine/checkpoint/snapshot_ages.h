// SPDX-License-Identifier: Apache-2.0
/// Finds out which snapshots are older than a limit without looking at them: from time to time it
/// notes the clock; a snapshot below a noted clock was taken before that note. One thread's own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

namespace freshet::engine {

class SnapshotAges {
public:
    /// 0: no snapshot is too old.
    explicit SnapshotAges(uint64_t limitNanos) : limitNanos_(limitNanos) {}

    /// `clock`: the newest complete commit. To be called often; kPerLimit notes are kept.
    void note(uint64_t nowNanos, uint64_t clock) {
        if (limitNanos_ == 0) {
            return;
        }
        const uint64_t step = std::max<uint64_t>(1, limitNanos_ / kPerLimit);
        if (notes_.empty() || nowNanos - notes_.back().nanos >= step) {
            notes_.push_back({nowNanos, clock});
        }
        // Of the notes that are old enough only the newest is needed.
        while (notes_.size() > 1 && nowNanos - notes_[1].nanos >= limitNanos_) {
            notes_.pop_front();
        }
    }
    /// Snapshots below this are older than the limit. Others may be too: by up to the distance of
    /// two notes, or because nothing has been committed since, in which case they hold nothing up.
    uint64_t tooOldBelow(uint64_t nowNanos) const {
        const bool known = !notes_.empty() && nowNanos - notes_.front().nanos >= limitNanos_;
        return known ? notes_.front().clock : 0;
    }

private:
    static constexpr uint64_t kPerLimit = 16;
    struct Note {
        uint64_t nanos;
        uint64_t clock;
    };

    const uint64_t limitNanos_;
    std::deque<Note> notes_;  // kPerLimit + 2 at most
};

}  // namespace freshet::engine
