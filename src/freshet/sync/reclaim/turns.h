// SPDX-License-Identifier: Apache-2.0
/// Turns: where many more threads are in slices than there are processors, each gives its processor
/// up between two slices, before the system takes it away in the middle of one. Who has lost it in
/// a slice holds back the epoch and minReadTs() until all the others have had their time; what is
/// retired meanwhile waits, and has left the caches when it is used again. Decision 0029.
#pragma once

#include "freshet/sync/atomic.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace freshet::sync {

#ifdef FRESHET_EXPLORE
// A schedule must not depend on the clock.
inline constexpr bool kTakesTurns = false;
#else
inline constexpr bool kTakesTurns = true;
#endif

/// How long a thread goes on before it lets others run, by the clock: who has waited meanwhile lets
/// them run once more than he need. What it has retired waits until its next turn, so short is
/// good; but a turn begins with cold caches, and an operation that ends one waits for all others,
/// which must stay below one in a hundred.
inline constexpr uint64_t kTurnNanos = 1'500'000;
/// A thread that only reads retires nothing and loses nothing by waiting, so it ends its turn after
/// as many slices as a writer has in the same time, turns and waits for them, and this much more.
/// By turns of the same length a reader would have as many operations for each one of a writer's as
/// their costs allow, and 32 readers left 32 writers one operation in six.
inline constexpr uint32_t kReadingTurnPercent = 165;
/// At least so many: above 100 for the reason given above.
inline constexpr uint32_t kSlicesPerReadingTurnMin = 208;
/// What a writer's turn is taken to have before one was seen.
inline constexpr uint32_t kSlicesPerTurn = 1200;
/// How much of a turn that was seen counts in the mean of all: one part in so many.
inline constexpr int64_t kTurnsPerMean = 16;
/// A writer's turn counts as no later than so many times the mean after the one before: it may have
/// waited for something else than a processor.
inline constexpr uint64_t kLateTurn = 4;
/// How long the system is asked to let it. Many turns, since who gives way is not always given all
/// of that anew: far less, and it is stopped in a slice every few turns.
inline constexpr uint64_t kSystemTurnNanos = 50'000'000;
/// A thread that the system gives less than this has asked for it (platform::standBack).
inline constexpr uint64_t kSystemTurnNanosMin = 500'000;
/// How long a crowd is taken to last. Where turns are taken hardly any slice is open when somebody
/// looks; who comes back from a turn counts those who have ended one meanwhile.
inline constexpr uint64_t kCrowdNanos = 1'000'000'000;
/// So many open slices for each processor cannot all be running, nor be a few mishaps.
inline constexpr uint32_t kCrowdPerCore = 2;
/// The end of a turn is looked for once in so many slices.
inline constexpr uint32_t kSlicesPerLook = 16;
/// A thread that writes looks for a crowd once in so many looks: often enough to see one within
/// the few milliseconds that the system gives it, seldom enough to walk over all cells.
inline constexpr uint32_t kLooksPerCount = 16;

/// Whether a domain's threads are many. Any thread.
class Crowd {
public:
    explicit Crowd(unsigned cores) : slicesMax_(kCrowdPerCore * cores) {}

    /// `open` slices were seen at once, or as many others had a turn while a thread waited for
    /// its own.
    void note(uint64_t open, uint64_t now) {
        // [crowd.note] relaxed: a hint, as [crowd.look]. Renewed when half of it is over and not
        // each time, since all threads look at it.
        if (open > slicesMax_ && until_.load(kRelaxed) < now + kCrowdNanos / 2) {
            until_.store(now + kCrowdNanos, kRelaxed);
        }
    }
    bool lastsAt(uint64_t now) const {
        // [crowd.look] relaxed: a hint. Who sees it late gives way once too often or too seldom.
        return now < until_.load(kRelaxed);
    }
    /// There was none yet.
    bool neverWas() const { return until_.load(kRelaxed) == 0; }  // [crowd.look] relaxed: as above

private:
    const uint32_t slicesMax_;
    /// When the crowd is over, by the monotonic clock; 0: there was none. Written by: note. Read
    /// by: whoever has left a slice, now and then.
    Atomic<uint64_t> until_{0};
};

/// How many slices a writer has in which time: what costs much has few, and so has who is stopped
/// in a turn or is given the next one late. Any thread.
class Pace {
public:
    /// A writer's turn that was ended because its time was over, some of which may have been
    /// others', `nanos` after the end of the one before.
    void note(uint32_t slices, uint64_t nanos) {
        // [pace.note] relaxed: a hint, as [pace.look].
        const uint64_t late = kLateTurn * static_cast<uint64_t>(nanos_.load(kRelaxed));
        move(&slices_, slices);
        move(&nanos_, static_cast<int64_t>(std::min(nanos, late)));
    }
    /// For who ended its turn before `nanos` ago. Whose turns come often has short ones; within
    /// bounds, since writers who wait for the disk come seldom, too.
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
        // [pace.note] relaxed: a hint. Who overwrites what another has noted loses a sixteenth of
        // one turn. Never reaches 0, as the division rounds towards it.
        const int64_t before = mean->load(kRelaxed);
        mean->store(before + (value - before) / kTurnsPerMean, kRelaxed);
    }

    /// Means of writers' turns. Written by: note. Read by: who looks whether its turn is over.
    Atomic<int64_t> slices_{kSlicesPerTurn};
    Atomic<int64_t> nanos_{kTurnNanos};
};

/// The turn of one thread, which alone uses it.
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
    /// Lets the others know how many slices it had, but for its first turn, which began before
    /// turns were taken. One that was stopped has fewer, and counts: the slices of readers are to
    /// be in proportion to what writers were given.
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
    /// Whether the system shall let this thread end its turns itself.
    void setOwn(bool own);

private:
    uint32_t slicesToLook_ = kSlicesPerLook;
    uint32_t looksToCount_ = kLooksPerCount;
    uint32_t slices_ = 0;  // of this turn, as far as they were looked at
    bool wroteSinceCount_ = false;
    bool writes_ = false;       // in this turn
    bool wroteBefore_ = false;  // in the one before
    bool isOwn_ = false;
    uint64_t began_ = 0;
    uint64_t endedBefore_ = 0;      // when the one before ended; 0: there was none
    uint64_t systemTurnNanos_ = 0;  // what it was before; 0: left as it was
};

}  // namespace freshet::sync
