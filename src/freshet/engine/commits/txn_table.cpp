// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/commits/txn_table.h"

#include "freshet/base/assert.h"

#include <algorithm>
#include <bit>

namespace freshet::engine {

using sync::kAcqRel;
using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

namespace {

enum class Phase : uint8_t { kActive, kSuspended, kCommitting, kCommitted, kAborted };

constexpr uint64_t kPhaseShift = 61;
constexpr uint64_t kValueMask = (uint64_t{1} << kPhaseShift) - 1;
constexpr uint64_t kEntryMask = 0xffff;
constexpr unsigned kEntryBits = 16;
constexpr uint64_t kNotKept = UINT64_MAX;

constexpr uint64_t makeWord(Phase phase, uint64_t value) {
    return static_cast<uint64_t>(phase) << kPhaseShift | value;
}
constexpr Phase phaseOf(uint64_t word) {
    return static_cast<Phase>(word >> kPhaseShift);
}
constexpr uint64_t valueOf(uint64_t word) {
    return word & kValueMask;
}
constexpr bool isUndecided(uint64_t word, uint64_t gen) {
    return phaseOf(word) <= Phase::kCommitting && valueOf(word) == gen;
}

Outcome finalOutcome(uint64_t stamp) {
    if (stamp == kStampAborted) {
        return {Fate::kAborted, 0, stamp};
    }
    return {Fate::kCommitted, stamp, stamp};
}

}  // namespace

/// A waiter for the end of an entry's owner. Owned by the list it is in.
struct TxnTable::WaitNode {
    sync::WaitToken token;
    WaitNode* next = nullptr;
};

struct alignas(sync::kLineBytes) TxnTable::Entry {
    /// The owner's state. Written by: the owner; threads that complete its claim; a thread that
    /// ends it while it is suspended. Read by: all.
    ///   WORD     phase:3 | value:61 (the generation; for COMMITTED the timestamp)
    ///   STEPS    ACTIVE(g) -> COMMITTING(g) -> COMMITTED(ts) or ABORTED(g), or ACTIVE -> ABORTED,
    ///            then ACTIVE(g + 1) for the next owner; before that ACTIVE -> SUSPENDED -> ACTIVE,
    ///            any number of times, or SUSPENDED -> ABORTED
    ///   ABA      generations never repeat, so a late helper's CAS fails, and so does that of an
    ///            owner whose writes were ended. Writes that were resumed and suspended again since
    ///            the ending thread looked may be ended all the same
    sync::Atomic<uint64_t> word{makeWord(Phase::kActive, 1)};
    /// Stack of WaitNodes; the owner takes all of them at its end. A node that came too late is
    /// completed by its waiter and freed at the next owner's end.
    sync::Atomic<WaitNode*> waiters{nullptr};
    /// The entry below this one in the free list.
    sync::Atomic<uint32_t> nextFree{0};
    uint64_t gen = 1;  // the owner's
    /// As in Suspended. Written by: the owner, before [entry.lay]. Read by: threads that look for
    /// one to end; they only guide that choice.
    sync::Atomic<uint64_t> suspendedBytes{0};
    sync::Atomic<uint64_t> suspendedNanos{0};
    sync::Atomic<uint64_t> endNanos{0};
    SuspendedWrites* suspended = nullptr;  // belongs to the thread that took the word
    /// The snapshot of an owner whose writes others may end; kNotKept: its pin keeps it. Written
    /// by: the owner, once; the thread that closes the entry. Read by: oldestKept().
    sync::Atomic<uint64_t> keptTs{kNotKept};
};

struct TxnTable::EntryChunk {
    explicit EntryChunk(uint32_t count) : entries(new Entry[count]) {}
    std::unique_ptr<Entry[]> entries;
};

/// A Treiber stack of entries' indexes, in a line of its own.
///   WORD     tag:48 | index:16; index 0 = empty
///   ABA      every change raises the tag
///   RECLAIM  entries are never freed before the table
struct alignas(sync::kLineBytes) TxnTable::FreeList {
    sync::Atomic<uint64_t> head{0};
};

TxnTable::TxnTable(const TxnLimits& limits)
    : limits_(limits),
      lapShift_(static_cast<unsigned>(std::countr_zero(limits.ringCells))),
      clock_(limits.ringCells),  // lap 1, so that an untouched cell (lap 0) is a lap behind
      startedAt_(limits.ringCells),
      free_(new FreeList[limits.freeLists]),
      ring_(new sync::Atomic<uint64_t>[limits.ringCells]),
      chunks_(new sync::Atomic<EntryChunk*>[chunkCount()]) {
    invariant(std::has_single_bit(limits.ringCells));
    invariant(std::has_single_bit(limits.entriesPerChunk));
    invariant(limits.entriesMax <= kEntryMask);
    for (uint32_t i = 0; i < limits.ringCells; ++i) {
        // [ring.init] relaxed: no other thread knows the table yet.
        ring_[i].store(0, kRelaxed);
    }
    for (uint32_t i = 0; i < chunkCount(); ++i) {
        // [chunk.init] relaxed: as [ring.init].
        chunks_[i].store(nullptr, kRelaxed);
    }
}

TxnTable::~TxnTable() {
    for (uint32_t i = 0; i < chunkCount(); ++i) {
        // [chunk.end] relaxed: no other thread uses the table.
        EntryChunk* chunk = chunks_[i].load(kRelaxed);
        if (chunk == nullptr) {
            continue;
        }
        for (uint32_t j = 0; j < limits_.entriesPerChunk; ++j) {
            // [waiters.end] relaxed: as [chunk.end].
            wakeAll(chunk->entries[j].waiters.load(kRelaxed));
        }
        delete chunk;
    }
}

uint64_t TxnTable::commits() const {
    // [clock.count] relaxed: a statistic.
    return clock_.load(kRelaxed) - startedAt_;
}

void TxnTable::setClock(uint64_t ts) {
    dcheck(ts >= clock_.load(kRelaxed));
    // [clock.set] release: pairs with [clock.read] of threads that start after the replay.
    clock_.store(ts, kRelease);
    startedAt_ = ts;
    // The cell of ts must look claimed in ts's lap, as if a commit had made the step.
    // [ring.set] relaxed: replay is single-threaded; the [clock.set] of the next record or the
    // thread's start publishes it.
    ring_[ts & (limits_.ringCells - 1)].store(ts >> lapShift_ << kEntryBits, kRelaxed);
}

TxnTable::EntryChunk* TxnTable::chunkOf(uint32_t index) const {
    // [chunk.load] acquire: pairs with [chunk.make].
    return chunks_[index / limits_.entriesPerChunk].load(kAcquire);
}

TxnTable::Entry& TxnTable::at(uint32_t index) const {
    EntryChunk* chunk = chunkOf(index);
    dcheck(chunk != nullptr);
    return chunk->entries[index & (limits_.entriesPerChunk - 1)];
}

template <typename Visit>
void TxnTable::forEachEntry(Visit visit) const {
    // [fresh.read] relaxed: an entry that is taken right now need not be found.
    const uint32_t end = std::min(freshNext_.load(kRelaxed), limits_.entriesMax + 1);
    for (uint32_t i = 1; i < end; ++i) {
        // Null: its first owner is about to make the chunk.
        if (const EntryChunk* chunk = chunkOf(i)) {
            visit(i, chunk->entries[i & (limits_.entriesPerChunk - 1)]);
        }
    }
}

uint32_t TxnTable::popFree(FreeList& list) {
    // [free.pop] CAS. ORDER: acquire pairs with [free.push]: the entry's fields are visible.
    //   LOST     another thread pushed or popped; retry with the new head.
    //   PROGRESS lock-free: our failure is another thread's success.
    uint64_t head = list.head.load(kAcquire);
    while ((head & kEntryMask) != 0) {
        // [free.next] relaxed: used only if the CAS succeeds, which proves that it was current.
        uint64_t next = at(static_cast<uint32_t>(head & kEntryMask)).nextFree.load(kRelaxed);
        uint64_t wanted = ((head >> kEntryBits) + 1) << kEntryBits | next;
        if (list.head.compare_exchange_weak(head, wanted, kAcquire, kAcquire)) {
            return static_cast<uint32_t>(head & kEntryMask);
        }
    }
    return 0;
}

/// Tries all lists. An entry that is freed behind the search is missed: the caller learns only that
/// each list was empty when it was looked at.
uint32_t TxnTable::popAnyFree() {
    for (uint32_t i = 0; i < limits_.freeLists; ++i) {
        if (const uint32_t index = popFree(free_[i]); index != 0) {
            return index;
        }
    }
    return 0;
}

void TxnTable::pushFree(uint32_t index) {
    Entry& entry = at(index);
    sync::Atomic<uint64_t>& top = free_[index % limits_.freeLists].head;
    // [free.head] relaxed: only fed to the CAS.
    uint64_t head = top.load(kRelaxed);
    uint64_t wanted = 0;
    do {
        // [free.next] relaxed: published by the CAS.
        entry.nextFree.store(static_cast<uint32_t>(head & kEntryMask), kRelaxed);
        wanted = ((head >> kEntryBits) + 1) << kEntryBits | index;
        // [free.push] CAS. ORDER: release pairs with [free.pop].
        //   LOST     another thread pushed or popped; retry.  PROGRESS lock-free.
    } while (!top.compare_exchange_weak(head, wanted, kRelease, kRelaxed));
}

uint32_t TxnTable::takeFresh() {
    // [fresh.take] relaxed: only a number; the chunk is published by [chunk.make].
    uint32_t index = freshNext_.load(kRelaxed);
    do {
        if (index > limits_.entriesMax) {
            return 0;
        }
        //   LOST another thread took that number; try the next.  PROGRESS lock-free.
    } while (!freshNext_.compare_exchange_weak(index, index + 1, kRelaxed, kRelaxed));
    sync::Atomic<EntryChunk*>& slot = chunks_[index / limits_.entriesPerChunk];
    // [chunk.look] acquire: pairs with [chunk.make].
    if (slot.load(kAcquire) == nullptr) {
        auto chunk = std::make_unique<EntryChunk>(limits_.entriesPerChunk);
        EntryChunk* expected = nullptr;
        // [chunk.make] CAS. ORDER: release pairs with [chunk.load]; acquire on failure likewise.
        //   LOST another thread made it: ours is dropped.  PROGRESS one attempt.
        if (slot.compare_exchange_strong(expected, chunk.get(), kAcqRel, kAcquire)) {
            chunk.release();
        }
    }
    return index;
}

StatusOr<uint64_t> TxnTable::open(uint32_t near) {
    uint32_t index = popFree(free_[near % limits_.freeLists]);
    if (index == 0) {
        index = takeFresh();
    }
    if (index == 0) {
        index = popAnyFree();
    }
    if (index == 0) {
        return Status(Code::kLimit, "too many open writing transactions");
    }
    // close() has left the word at ACTIVE(gen).
    return makeInFlight(index, at(index).gen);
}

void TxnTable::suspend(uint64_t stamp, SuspendedWrites* writes, const Suspended& info) {
    Entry& entry = at(stampEntry(stamp));
    entry.suspended = writes;
    // [laid.set] relaxed: see Entry::suspendedBytes.
    entry.suspendedBytes.store(info.bytes, kRelaxed);
    entry.suspendedNanos.store(info.nanos, kRelaxed);
    entry.endNanos.store(info.endNanos, kRelaxed);
    // [entry.lay] release: pairs with [entry.end]: the ending thread finds the writes whole; and
    // with [entry.resolve], as [entry.committing].
    entry.word.store(makeWord(Phase::kSuspended, stampGen(stamp)),
                     mutated(Mutant::kRelaxedSuspend) ? kRelaxed : kRelease);
}

bool TxnTable::resume(uint64_t stamp) {
    const uint64_t gen = stampGen(stamp);
    uint64_t expected = makeWord(Phase::kSuspended, gen);
    // [entry.take] CAS. ORDER: release pairs with [entry.resolve], as [entry.committing]; the owner
    //            only reads what it wrote itself. Relaxed on failure: it no longer owns anything.
    //   LOST     another thread has ended it.  PROGRESS one attempt.
    return at(stampEntry(stamp))
               .word.compare_exchange_strong(
                   expected, makeWord(Phase::kActive, gen), kRelease, kRelaxed) ||
           mutated(Mutant::kResumedAnyway);
}

bool TxnTable::isOpen(uint64_t stamp) const {
    // [entry.still] relaxed: a thread that saw a version of this generation as aborted, or no
    // longer found it, acquired what came after [entry.end], and so sees that here.
    return isUndecided(at(stampEntry(stamp)).word.load(kRelaxed), stampGen(stamp));
}

void TxnTable::keepSnapshot(uint64_t stamp, uint64_t ts) {
    Entry& entry = at(stampEntry(stamp));
    // [kept.set] release: pairs with [kept.look], for what the entry's last owner kept. The pin
    // makes it visible in time: a thread that no longer finds the pin has acquired what came before
    // its removal.
    entry.keptTs.store(ts, kRelease);
    // [kept.more] relaxed: visible in time for the same reason.
    keeping_.fetch_add(1, kRelaxed);
}

uint64_t TxnTable::oldestKept() const {
    uint64_t oldest = kNotKept;
    // [kept.count] acquire: pairs with [kept.less]: at zero, the ends of all owners are visible.
    if (keeping_.load(kAcquire) == 0) {
        return oldest;
    }
    forEachEntry([&](uint32_t /*index*/, const Entry& entry) {
        // [kept.look] acquire: pairs with [kept.go] and [kept.set]: if a kept snapshot is gone, the
        // end of its owner is visible.
        oldest = std::min(oldest, entry.keptTs.load(kAcquire));
    });
    return oldest;
}

void TxnTable::letSnapshotGo(Entry& entry) {
    // [kept.own] relaxed: written by the owner, or by the thread that took over its part, like the
    // words before it.
    if (entry.keptTs.load(kRelaxed) == kNotKept) {
        return;
    }
    const auto order = mutated(Mutant::kRelaxedLetGo) ? kRelaxed : kRelease;
    // [kept.go] release: pairs with [kept.look]: the writes have ended before.
    entry.keptTs.store(kNotKept, order);
    // [kept.less] release: pairs with [kept.count], for the same reason.
    keeping_.fetch_sub(1, order);
}

/// A suspended write set, as it was seen.
struct TxnTable::SuspendedEntry {
    uint32_t entry = 0;  // 0: none
    uint64_t word = 0;
    uint64_t bytes = 0;
};

template <typename Visit>
void TxnTable::forEachSuspended(const Visit& visit) const {
    forEachEntry([&](uint32_t index, const Entry& entry) {
        // [laid.look] relaxed: a choice, which [entry.end] proves to be still valid; the same holds
        // for the other loads of a suspended set's data.
        const uint64_t word = entry.word.load(kRelaxed);
        if (phaseOf(word) == Phase::kSuspended ||
            (mutated(Mutant::kEndsActive) && phaseOf(word) == Phase::kActive)) {
            visit(entry, SuspendedEntry{index, word, entry.suspendedBytes.load(kRelaxed)});
        }
    });
}

TxnTable::Ended TxnTable::endLargest(uint64_t suspendedBeforeNanos, uint64_t togetherMin) {
    SuspendedEntry largest;
    uint64_t together = 0;
    forEachSuspended([&](const Entry& entry, const SuspendedEntry& candidate) {
        if (entry.suspendedNanos.load(kRelaxed) >= suspendedBeforeNanos) {  // [laid.look]
            return;
        }
        together += candidate.bytes;
        if (candidate.bytes > largest.bytes) {
            largest = candidate;
        }
    });
    return together < togetherMin ? Ended{} : end(largest);
}

TxnTable::Ended TxnTable::endDueBefore(uint64_t nanos) {
    SuspendedEntry found;
    forEachSuspended([&](const Entry& entry, const SuspendedEntry& candidate) {
        const uint64_t due = entry.endNanos.load(kRelaxed);  // [laid.look]
        if (due != 0 && due < nanos) {
            found = candidate;
        }
    });
    return end(found);
}

TxnTable::Ended TxnTable::end(const SuspendedEntry& found) {
    if (found.entry == 0) {
        return {};
    }
    Entry& entry = at(found.entry);
    uint64_t expected = found.word;
    const uint64_t gen = valueOf(found.word);
    // [entry.end] CAS; LINEARIZES the end of all that the owner has written.
    //   ORDER    acquire pairs with [entry.lay]: the writes are whole; release pairs with
    //            [entry.resolve]. Relaxed on failure: nothing was looked at.
    //   LOST     its owner resumed it. Nothing is ended; the caller tries again later.
    //   PROGRESS one attempt.
    if (!entry.word.compare_exchange_strong(
            expected, makeWord(Phase::kAborted, gen), kAcqRel, kRelaxed)) {
        return {};
    }
    return {entry.suspended, makeInFlight(found.entry, gen)};
}

void TxnTable::setCommitting(uint64_t stamp) {
    // [entry.committing] release: pairs with [entry.help] and [entry.resolve]: as with
    // [entry.recycle], a thread that sees this generation sees how the one before it ended.
    at(stampEntry(stamp))
        .word.store(makeWord(Phase::kCommitting, stampGen(stamp)),
                    mutated(Mutant::kRelaxedCommitting) ? kRelaxed : kRelease);
}

uint64_t TxnTable::claim(uint64_t stamp) {
    const uint32_t self = stampEntry(stamp);
    for (;;) {
        // [clock.next] acquire: pairs with [clock.step]; the claim in the ring's cell of an earlier
        // lap is then complete.
        const uint64_t ts = clock_.load(kAcquire) + 1;
        const uint64_t lap = ts >> lapShift_;
        sync::Atomic<uint64_t>& cell = ring_[ts & (limits_.ringCells - 1)];
        // [ring.look] acquire: pairs with [ring.claim]; the claimant's COMMITTING is visible.
        uint64_t seen = cell.load(kAcquire);
        // [ring.claim] CAS; LINEARIZES the order of commits.
        //   ORDER    release pairs with [ring.look]; acquire on failure likewise.
        //   LOST     another owner claimed ts (or a later lap): help it, then take the next
        //            timestamp.
        //   PROGRESS lock-free: a lost CAS is another owner's commit.
        if (seen >> kEntryBits < lap &&
            cell.compare_exchange_strong(seen, lap << kEntryBits | self, kAcqRel, kAcquire)) {
            if (!mutated(Mutant::kClaimBeforeComplete)) {
                complete(ts, self);
            }
            return ts;
        }
        if (seen >> kEntryBits == lap) {
            complete(ts, static_cast<uint32_t>(seen & kEntryMask));
        }
    }
}

void TxnTable::complete(uint64_t ts, uint32_t index) {
    Entry& entry = at(index);
    // [entry.help] acquire: pairs with [entry.recycle]: if the entry belongs to a later owner, the
    // clock is seen beyond ts. Hence this load comes first.
    uint64_t word = entry.word.load(kAcquire);
    // [clock.check] acquire: pairs with [clock.step].
    if (!mutated(Mutant::kHelperSkipsClock) && clock_.load(kAcquire) >= ts) {
        return;
    }
    if (phaseOf(word) == Phase::kCommitting) {
        // [entry.commit] CAS; LINEARIZES the commit: all its versions become committed at once.
        //   ORDER    release: what the committer did is visible to all that resolve; acquire on
        //            failure, so that [clock.step] publishes the other helper's work.
        //   LOST     another thread completed it.  PROGRESS one attempt.
        entry.word.compare_exchange_strong(
            word, makeWord(Phase::kCommitted, ts), kAcqRel, kAcquire);
    }
    uint64_t before = ts - 1;
    // [clock.step] CAS. ORDER: release pairs with [clock.read], [clock.next], [clock.check].
    //   LOST     another thread made the step.  PROGRESS one attempt.
    clock_.compare_exchange_strong(before, ts, kAcqRel, kAcquire);
}

void TxnTable::completeUpTo(uint64_t ts) {
    for (;;) {
        // [clock.next] acquire: as in claim().
        const uint64_t next = clock_.load(kAcquire) + 1;
        if (next > ts) {
            return;
        }
        // [ring.look] acquire: as in claim().
        uint64_t seen = ring_[next & (limits_.ringCells - 1)].load(kAcquire);
        if (seen >> kEntryBits == next >> lapShift_) {
            complete(next, static_cast<uint32_t>(seen & kEntryMask));
        }
    }
}

void TxnTable::setAborted(uint64_t stamp) {
    // [entry.abort] release: pairs with [entry.resolve].
    at(stampEntry(stamp)).word.store(makeWord(Phase::kAborted, stampGen(stamp)), kRelease);
}

void TxnTable::wakeAll(WaitNode* list) {
    while (list != nullptr) {
        std::unique_ptr<WaitNode> node(list);
        list = node->next;
        node->token.complete();
    }
}

void TxnTable::close(uint64_t stamp) {
    const uint32_t index = stampEntry(stamp);
    Entry& entry = at(index);
    // [waiters.take] acq_rel: acquire pairs with [waiters.push] (the nodes' fields); release pairs
    // with it too: a later push sees that the owner has ended.
    wakeAll(entry.waiters.exchange(nullptr, kAcqRel));
    letSnapshotGo(entry);
    invariant(entry.gen < kStampGenMax);
    ++entry.gen;
    // [entry.recycle] release: pairs with [entry.resolve] and [entry.help]: a thread that sees the
    // new generation sees the final stamps of the old one and the clock beyond its timestamp.
    entry.word.store(makeWord(Phase::kActive, entry.gen), kRelease);
    pushFree(index);
}

Outcome TxnTable::resolve(const sync::Atomic<uint64_t>& stamp) const {
    // [stamp.read] acquire: pairs with [stamp.final].
    const uint64_t first = stamp.load(kAcquire);
    if (!isInFlight(first)) {
        return finalOutcome(first);
    }
    // [entry.resolve] acquire: pairs with [entry.commit], [entry.abort], [entry.end], and as for
    // the generation with [entry.recycle], [entry.committing], [entry.lay] and [entry.take]. If
    // this load saw a later owner, the second load of the stamp cannot miss its final value.
    const uint64_t word = at(stampEntry(first)).word.load(kAcquire);
    // [stamp.again] acquire: as [stamp.read].
    const uint64_t second = mutated(Mutant::kResolveOnce) ? first : stamp.load(kAcquire);
    if (!isInFlight(second)) {
        return finalOutcome(second);
    }
    switch (phaseOf(word)) {
        case Phase::kCommitted:
            return {Fate::kCommitted, valueOf(word), first};
        case Phase::kAborted:
            return {Fate::kAborted, 0, first};
        case Phase::kActive:
        case Phase::kSuspended:
        case Phase::kCommitting:
            break;
    }
    return {Fate::kInFlight, 0, first};
}

sync::WaitToken TxnTable::endOf(uint64_t stamp) {
    Entry& entry = at(stampEntry(stamp));
    auto node = std::make_unique<WaitNode>();
    node->token = sync::WaitToken::create();
    sync::WaitToken token = node->token;
    // [waiters.look] relaxed: only fed to the CAS.
    WaitNode* head = entry.waiters.load(kRelaxed);
    do {
        node->next = head;
        // [waiters.push] CAS. ORDER: release pairs with [waiters.take]; acquire pairs with it too:
        //            if the owner took the list before, we see that it has ended.
        //   LOST     another waiter came, or the owner took the list: retry.  PROGRESS lock-free.
    } while (!entry.waiters.compare_exchange_weak(head, node.get(), kAcqRel, kRelaxed));
    node.release();
    // [entry.ended] acquire: pairs with [entry.commit], [entry.abort], [entry.end],
    // [entry.recycle].
    if (!isUndecided(entry.word.load(kAcquire), stampGen(stamp))) {
        token.complete();
    }
    return token;
}

}  // namespace freshet::engine
