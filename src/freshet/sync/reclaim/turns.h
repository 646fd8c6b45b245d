// SPDX-License-Identifier: Apache-2.0
/// Turns: where many more threads are in slices than there are processors, each gives its processor
/// up between two slices, before the system preempts it in the middle of one. A thread preempted in
/// a slice holds back the epoch and minReadTs() until all the others have had their time; memory
/// retired meanwhile waits, and has left the caches when it is used again. Decision 0029.
#pragma once

#include "freshet/sync/atomic.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace freshet::sync {

#ifdef FRESHET_EXPLORE
// Schedules must not depend on the clock.
inline constexpr bool kTakesTurns = false;
#else
inline constexpr bool kTakesTurns = true;
#endif

/// How long a thread runs before it lets others run, by the clock; a thread that had to wait
/// meanwhile gives way once more than needed. What it has retired waits until its next turn, so
/// short is good. But a turn begins with cold caches, and an operation that ends one waits for all
/// others; such operations must stay below one in a hundred.
inline constexpr uint64_t kTurnNanos = 1'500'000;
/// A thread that only reads retires nothing and loses nothing by waiting, so it ends its turn after
/// as many slices as a writer has in the same time, including turns and waits, and this much more.
/// With turns of the same length the share of reads to writes would follow from their costs: 32
/// readers left 32 writers one operation in six.
inline constexpr uint32_t kReadingTurnPercent = 165;
/// The minimum: above 100 for the reason given above.
inline constexpr uint32_t kSlicesPerReadingTurnMin = 208;
/// Assumed slices in a writer's turn before one was measured.
inline constexpr uint32_t kSlicesPerTurn = 1200;
/// Weight of a measured turn in the mean: one part in this many.
inline constexpr int64_t kTurnsPerMean = 16;
/// A writer's turn counts as at most this many times the mean after the one before: it may have
/// waited for something else than a processor.
inline constexpr uint64_t kLateTurn = 4;
/// The time slice requested from the system. It covers many turns, since a thread that yields does
/// not always get a full new one; with far less it is preempted in a slice every few turns.
inline constexpr uint64_t kSystemTurnNanos = 50'000'000;
/// A thread with a shorter time slice than this has asked for it (platform::standBack).
inline constexpr uint64_t kSystemTurnNanosMin = 500'000;
/// How long a crowd is assumed to last. Where turns are taken hardly any slice is open at a check;
/// a thread that comes back from a turn counts the turns that others ended meanwhile.
inline constexpr uint64_t kCrowdNanos = 1'000'000'000;
/// With this many open slices per processor not all can be running, and it is no coincidence.
inline constexpr uint32_t kCrowdPerCore = 2;
/// The end of a turn is checked once in this many slices.
inline constexpr uint32_t kSlicesPerLook = 16;
/// A thread that writes checks for a crowd once in this many checks: often enough to see one within
/// the few milliseconds that the system gives it, and seldom enough, since the check walks all
/// cells.
inline constexpr uint32_t kLooksPerCount = 16;

/// Whether a domain has a crowd. Any thread.
class Crowd {
public:
    explicit Crowd(unsigned cores) : slicesMax_(kCrowdPerCore * cores) {}

    /// `open` slices were seen at once, or that many others had a turn while a thread waited for
    /// its own.
    void note(uint64_t open, uint64_t now) {
        // [crowd.note] relaxed: a hint, as [crowd.look]. Renewed when half of it is over and not
        // each time, since all threads read it.
        if (open > slicesMax_ && until_.load(kRelaxed) < now + kCrowdNanos / 2) {
            until_.store(now + kCrowdNanos, kRelaxed);
        }
    }
    bool lastsAt(uint64_t now) const {
        // [crowd.look] relaxed: a hint. A thread that sees it late yields once too often or too
        // seldom.
        return now < until_.load(kRelaxed);
    }
    /// There was none yet.
    bool neverWas() const { return until_.load(kRelaxed) == 0; }  // [crowd.look] relaxed: as above

private:
    const uint32_t slicesMax_;
    /// End of the crowd, by the monotonic clock; 0: there was none. Written by: note. Read by:
    /// threads that have left a slice, now and then.
    Atomic<uint64_t> until_{0};
};

/// How many slices a writer has in which time: costly slices are few, and so are those of a thread
/// that is preempted in a turn or gets its next one late. Any thread.
class Pace {
public:
    /// A writer's turn ended because its time was over (part of which other threads may have used),
    /// `nanos` after the end of the previous turn.
    void note(uint32_t slices, uint64_t nanos) {
        // [pace.note] relaxed: a hint, as [pace.look].
        const uint64_t late = kLateTurn * static_cast<uint64_t>(nanos_.load(kRelaxed));
        move(&slices_, slices);
        move(&nanos_, static_cast<int64_t>(std::min(nanos, late)));
    }
    /// For a thread that ended its previous turn `nanos` ago. Frequent turns are short; within
    /// bounds, since writers that wait for the disk have few turns, too.
    uint32_t slicesPerReadingTurn(uint64_t nanos) const {
        // [pace.look] relaxed: a hint.
        const auto slices = static_cast<uint64_t>(slices_.load(kRelaxed));
        const auto mean = static_cast<uint64_t>(nanos_.load(kRelaxed));
        const uint64_t counted = std::clamp(nanos, mean * 3 / 5, mean * 5 / 3);
        const uint64_t share = slices * kReadingTurnPercent / 100 * counted / mean;
        return std::max(kSlicesPerReadingTurnMin, static_cast<uint32_t>(share));
    }

private:
    static void move(Atomic<int64_t>* mean, int64_t value) {
        // [pace.note] relaxed: a hint. A thread that overwrites another's value loses a sixteenth
        // of one turn. Never reaches 0, as the division rounds towards it.
        const int64_t before = mean->load(kRelaxed);
        mean->store(before + (value - before) / kTurnsPerMean, kRelaxed);
    }

    /// Means of writers' turns. Written by: note. Read by: threads that check for the end of a
    /// turn.
    Atomic<int64_t> slices_{kSlicesPerTurn};
    Atomic<int64_t> nanos_{kTurnNanos};
};

/// The turn of one thread, used by that thread alone.
class Turn {
public:
    /// A slice has ended. True once in kSlicesPerLook calls.
    bool isTimeToLook() {
        if (--slicesToLook_ != 0) {
            return false;
        }
        slicesToLook_ = kSlicesPerLook;
        slices_ += kSlicesPerLook;
        return true;
    }
    /// True once in kLooksPerCount calls if it wrote meanwhile: a crowd that only reads holds
    /// nothing back.
    bool isTimeToCount() {
        if (--looksToCount_ != 0) {
            return false;
        }
        looksToCount_ = kLooksPerCount;
        return std::exchange(wroteSinceCount_, false);
    }
    /// It has written or retired something.
    void noteWriting() {
        writes_ = true;
        wroteSinceCount_ = true;
    }
    bool isOver(uint64_t now, const Pace& pace) const {
        const bool isReading = !writes_ && !wroteBefore_;
        return now - began_ >= kTurnNanos ||
               (isReading && slices_ >= pace.slicesPerReadingTurn(now - endedBefore_));
    }
    /// Reports the number of slices of this turn, except for a thread's first, which began before
    /// turns were taken. A preempted thread had fewer, and counts: readers' slices are to be in
    /// proportion to what writers were given.
    void end(uint64_t now, Pace* pace) {
        if (writes_ && endedBefore_ != 0) {
            pace->note(slices_, now - endedBefore_);
        }
        endedBefore_ = now;
    }
    void begin(uint64_t now) {
        began_ = now;
        slices_ = 0;
        wroteBefore_ = std::exchange(writes_, false);
    }
    /// Whether this thread ends its turns itself and asks the system for long time slices.
    void setOwn(bool own);

private:
    uint32_t slicesToLook_ = kSlicesPerLook;
    uint32_t looksToCount_ = kLooksPerCount;
    uint32_t slices_ = 0;  // of this turn, up to the last check
    bool wroteSinceCount_ = false;
    bool writes_ = false;       // in this turn
    bool wroteBefore_ = false;  // in the one before
    bool isOwn_ = false;
    uint64_t began_ = 0;
    uint64_t endedBefore_ = 0;      // end of the previous turn; 0: there was none
    uint64_t systemTurnNanos_ = 0;  // the value before; 0: unchanged
};

}  // namespace freshet::sync
