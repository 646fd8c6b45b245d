// SPDX-License-Identifier: Apache-2.0
/// The numbers that one thread's operations keep open, of which other threads want the lowest:
/// snapshots in use, positions before commits that are under way. There is one row for each
/// participant of an EpochDomain. Opening a number is a store into a free place, closing it another
/// store, so any thread that goes on with the operation can close it.
///
///   INV-sync-6  lowest() is at most every number that is open. If it misses one, that number was
///               opened later, by a store that the calling thread does not see yet, or it has been
///               closed, and then all that was done before close() is visible after lowest().
#pragma once

#include "freshet/sync/atomic.h"
#include "freshet/sync/mutant.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

namespace freshet::sync {

class OpenValues {
public:
    static constexpr uint64_t kNone = UINT64_MAX;
    /// Holds an open number.
    struct Place {
        Atomic<uint64_t> value{kNone};
    };

    OpenValues() = default;
    ~OpenValues();
    OpenValues(const OpenValues&) = delete;
    OpenValues& operator=(const OpenValues&) = delete;

    /// REQUIRES: the row's own thread. The place is the caller's until close(); the row outlives
    /// that. Allocates if more numbers are open than ever before.
    Place* open(uint64_t value) {
        if (!isFree(*last_) && !mutated(Mutant::kPlaceTaken)) [[unlikely]] {
            last_ = findFree();
        }
        // [open.set] release: pairs with [open.look]. It passes on what [open.find] acquired, and a
        // later release store of this thread passes on the number.
        last_->value.store(value, kRelease);
        return last_;
    }
    /// Any thread, once for each open().
    static void close(Place* place) {
        // [open.close] release: pairs with [open.look] and [open.find].
        place->value.store(kNone, mutated(Mutant::kCloseRelaxed) ? kRelaxed : kRelease);
    }
    /// Any thread. kNone: no number is open.
    uint64_t lowest() const {
        uint64_t low = kNone;
        for (const Place& place : first_) {
            // [open.look] acquire: pairs with [open.close], also when [open.set] has stored the
            // next number over it.
            low = std::min(low, place.value.load(kAcquire));
        }
        // [open.more.look] acquire: pairs with [open.more].
        for (const Chunk* chunk = more_.load(kAcquire); chunk != nullptr; chunk = chunk->older) {
            for (uint32_t i = 0; i < chunk->count; ++i) {
                low = std::min(low, chunk->places[i].value.load(kAcquire));  // [open.look]
            }
        }
        return low;
    }

private:
#ifdef FRESHET_EXPLORE
    // Each atomic costs the explorer time.
    static constexpr uint32_t kFirst = 1;
#else
    static constexpr uint32_t kFirst = 4;
#endif
    struct Chunk {
        const uint32_t count;
        Chunk* const older;
        const std::unique_ptr<Place[]> places;
    };

    static bool isFree(const Place& place) {
        // [open.find] acquire: pairs with [open.close].
        return place.value.load(mutated(Mutant::kFindRelaxed) ? kRelaxed : kAcquire) == kNone;
    }
    Place* findFree();

    std::array<Place, kFirst> first_;
    /// The newest chunk; each is twice as large as the one before. Written by: the row's thread.
    /// Read by: all.
    ///   RECLAIM  chunks are freed with the row
    Atomic<Chunk*> more_{nullptr};
    /// The row's thread's own: the place it used last. Usually that one is free again.
    Place* last_ = first_.data();
};

}  // namespace freshet::sync
