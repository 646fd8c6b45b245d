// SPDX-License-Identifier: Apache-2.0
/// The internals of EpochDomain and Participant. The arguments that nothing is freed early (E2) and
/// that no reader is older than minReadTs() (E1) are in sync/README.md; epoch_explore_test.cpp
/// checks both.
#pragma once

#include "freshet/sync/epoch.h"
#include "freshet/sync/hazards.h"
#include "freshet/sync/mutex.h"
#include "freshet/sync/reclaim/retired.h"
#include "freshet/sync/reclaim/turns.h"

#include <array>
#include <vector>

namespace freshet::sync {

inline constexpr uint64_t kNoEpoch = 0;
inline constexpr uint64_t kNoTs = OpenValues::kNone;
/// Slices that may see an object retired in epoch e are over when the epoch has reached e + this.
inline constexpr uint64_t kGraceEpochs = 3;
/// Slices that may not know which snapshots have ended are over when the epoch has advanced by this
/// many (INV-sync-5).
inline constexpr uint64_t kEndedEpochs = 2;
#ifdef FRESHET_EXPLORE
// Every atomic that is created costs the explorer time.
inline constexpr uint32_t kParticipantsMax = 8;
inline constexpr uint32_t kCellsPerChunk = 4;
#else
inline constexpr uint32_t kParticipantsMax = 65'536;
inline constexpr uint32_t kCellsPerChunk = 64;
#endif
/// tryAdvance() is called by retire() after this many objects or bytes.
inline constexpr uint32_t kRetiresPerAdvance = 1024;
inline constexpr size_t kBytesPerAdvance = size_t{1} << 20;
/// retireHeld() checks what is held after this many objects or bytes.
inline constexpr size_t kHeldPerLook = 64;
inline constexpr size_t kHeldBytesPerLook = size_t{128} << 10;

/// The words that a participant publishes. Written by: its thread; of pins, also by a thread that
/// unpins. Read by: tryAdvance, minReadTs, retiredBytes, of any thread.
///   WORD     epoch: the global epoch as of entering the slice, 0 outside
///            readLow: the clock as of entering the slice, kNoTs outside
///            pins: the snapshots that this participant has pinned
///   STEPS    enter: epoch, readLow, heavyFence.  leave: readLow = kNoTs, epoch = 0.
///   INV-1    a snapshot used in the slice is >= readLow or pinned
///   RECLAIM  cells live as long as the domain; a cell passes from a dead thread to a new one, with
///            the pins that are still in use
struct alignas(kLineBytes) EpochCell {
    Atomic<uint64_t> epoch{kNoEpoch};
    Atomic<uint64_t> readLow{kNoTs};
    Atomic<size_t> retiredBytes{0};
    OpenValues pins;
};
static_assert(kLineBytes < 128 || alignof(EpochCell) == kLineBytes);

struct Participant::Impl {
    EpochDomain* domain = nullptr;
    EpochDomain::Impl* state = nullptr;
    EpochCell* cell = nullptr;
    uint16_t index = 0;
    uint32_t depth = 0;  // slices open in this thread
    Turn turn;
    uint32_t retiresSinceAdvance = 0;
    size_t bytesSinceAdvance = 0;
    RetiredBags bags;
    std::vector<RetiredObject> held;  // retireHeld(): objects held at the last check
    size_t heldSinceLook = 0;
    size_t heldBytesSinceLook = 0;

    void enter();
    void leave();
    /// Between two slices: lets others run if this thread's turn is over and there is a crowd.
    void lookAtTurn();
    void freeUnheld();
    /// The cell's byte count; only its thread changes it.
    void addRetiredBytes(size_t bytes);
    void subRetiredBytes(size_t bytes);
};

struct EpochDomain::Impl {
    explicit Impl(EpochDomain* self, const Atomic<uint64_t>* clockWord);
    ~Impl();

    struct Memberships;
    static Memberships& ofThisThread();

    Participant* join();
    /// The thread of `participant` ends: its retired objects become orphans, its cell free.
    void part(Participant* participant);
    /// Calls f(cell) for every cell ever given out.
    template <typename F>
    void forEachCell(F&& f) const {
        // [epoch.cells] acquire: pairs with [epoch.join]; chunks below the count exist.
        uint32_t count = cellCount.load(kAcquire);
        for (uint32_t i = 0; i < count; ++i) {
            f(cellAt(i));
        }
    }
    const EpochCell& cellAt(uint32_t index) const;
    /// Number of open slices, approximately.
    uint32_t openSlices() const;
    void freeOrphans(uint64_t upTo);

    EpochDomain* const domain;
    const Atomic<uint64_t>* const clock;
    const uint64_t id;  // never reused in this process

    /// The global epoch. Written by: tryAdvance. Read by: enter, retire.
    ///   STEPS    rises by one, only while every open slice has entered in the current one
    alignas(kLineBytes) Atomic<uint64_t> epoch{1};

    struct Chunk {
        std::array<EpochCell, kCellsPerChunk> cells;
    };
    /// The table of cells. Written by: join under the mutex. Read by: all threads that walk it.
    ///   STEPS    chunk pointers go from null to a chunk once; cellCount only grows
    ///   RECLAIM  freed with the domain
    alignas(kLineBytes) Atomic<uint32_t> cellCount{0};
    std::array<Atomic<Chunk*>, kParticipantsMax / kCellsPerChunk> chunks{};
    Atomic<size_t> orphanBytes{0};
    Atomic<uint32_t> live{0};

    Crowd crowd;
    Pace pace;
    /// Number of turns ended; a statistic. Written by: lookAtTurn. Read by: turnsEnded.
    Atomic<uint64_t> turnsEnded{0};

    /// Pins below this no longer count. Written by: endSnapshotsBelow. Read by: minReadTs.
    ///   STEPS    follows EpochDomain::ended_ once the epoch has advanced by kEndedEpochs since
    Atomic<uint64_t> passed{0};
    uint64_t endedIn = 0;  // the epoch when ended_ rose last; used by the thread that ends
                           // snapshots

    Mutex mutex;  // leaf: nothing else is taken and no callback runs under it
    std::vector<Participant*> participants;  // guarded by mutex; by index, null when free
    std::vector<uint16_t> freeIndexes;       // guarded by mutex
    std::vector<RetiredBag> orphans;         // guarded by mutex
    std::vector<RetiredObject> heldOrphans;  // of retireHeld(); guarded by mutex
};

}  // namespace freshet::sync
