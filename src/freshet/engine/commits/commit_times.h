// SPDX-License-Identifier: Apache-2.0
/// The times of the latest commits: what Timestamp the journal gave to the record of the commit
/// with a certain timestamp. The two orders differ for commits that are under way at the same
/// moment. Kept only while snapshots of the log are in use (history/snapshot_history.h).
#pragma once

#include "freshet/engine/variants/mutant.h"
#include "freshet/sync/atomic.h"

#include <cstdint>
#include <memory>

namespace freshet::engine {

class CommitTimes {
    /// Written by: the committer of `ts`. Read by: readers.
    ///   STEPS    time, then ts; overwritten by the commit of ts + size
    struct Cell {
        sync::Atomic<uint64_t> ts{0};
        sync::Atomic<uint64_t> time{0};
    };
    /// Made in chunks, by the committers that need them first: few commits need little memory.
    class Ring {
    public:
        explicit Ring(uint32_t cells);
        ~Ring();
        Ring(const Ring&) = delete;
        Ring& operator=(const Ring&) = delete;
        uint32_t size() const { return size_; }
        void note(uint64_t ts, uint64_t time) {
            Cell* chunk = chunkOf(ts);
            Cell& cell = (chunk == nullptr ? makeChunk(ts) : chunk)[ts & (chunkCells_ - 1)];
            // [times.overwrite] release: pairs with [times.lookAgain]: the claim came before.
            cell.time.store(time, sync::kRelease);
            // [times.note] release: pairs with [times.look]. The end of the commit's floor carries
            // it to readers that no longer find the floor (INV-sync-6).
            cell.ts.store(ts,
                          mutated(Mutant::kNotedWithoutOrder) ? sync::kRelaxed : sync::kRelease);
        }
        /// Null: its chunk does not exist yet.
        const Cell* at(uint64_t ts) const {
            const Cell* chunk = chunkOf(ts);
            return chunk == nullptr ? nullptr : &chunk[ts & (chunkCells_ - 1)];
        }

    private:
        static constexpr uint32_t kChunkCells = 4096;
        uint32_t chunks() const { return size_ / chunkCells_; }
        size_t indexOf(uint64_t ts) const { return (ts & (size_ - 1)) / chunkCells_; }
        Cell* chunkOf(uint64_t ts) const {
            // [times.chunk.look] acquire: pairs with [times.chunk].
            return chunks_[indexOf(ts)].load(sync::kAcquire);
        }
        Cell* makeChunk(uint64_t ts);

        const uint32_t size_;
        const uint32_t chunkCells_;
        /// Null, then set once to a chunk.
        ///   RECLAIM  with the ring, when no slice is open that has seen it
        const std::unique_ptr<sync::Atomic<Cell*>[]> chunks_;
    };

public:
    CommitTimes() = default;
    CommitTimes(const CommitTimes&) = delete;
    CommitTimes& operator=(const CommitTimes&) = delete;

    /// From here on commits are noted, the last `cells` of them; those in slices that began before
    /// perhaps not. `cells`: a power of two. REQUIRES: stopped, and freed.
    void start(uint32_t cells);
    /// Commits are no longer noted, except in slices that began before.
    void stop();
    /// REQUIRES: stopped, and those slices are over.
    void free() { own_.reset(); }
    /// Called by the committer, in the slice of the claim and before the commit's floor ends.
    /// `time`: of its record, or of the last one of its chain.
    void note(uint64_t ts, uint64_t time) {
        // [times.ring] acquire: pairs with [times.start].
        if (Ring* ring = ring_.load(sync::kAcquire)) {
            ring->note(ts, time);
        }
    }

    /// What is noted, for one reader inside a slice.
    class Reader {
    public:
        /// Whether anything is noted.
        bool isOn() const { return ring_ != nullptr; }
        /// How many commits are noted: as long as the clock is below b + size(), no cell of a
        /// commit above b has been overwritten.
        uint32_t size() const { return ring_->size(); }
        static constexpr uint64_t kNotNoted = UINT64_MAX;
        /// The commit's time; kNotNoted: it is not noted yet. Only valid if the clock is read
        /// afterwards and shows that the cell has not been overwritten.
        uint64_t timeOf(uint64_t ts) const {
            const Cell* cell = ring_->at(ts);
            // [times.look] acquire: pairs with [times.note].
            if (cell == nullptr || cell->ts.load(sync::kAcquire) != ts) {
                return kNotNoted;
            }
            // [times.lookAgain] acquire: pairs with [times.overwrite]: if the time is that of a
            // later commit, the clock is seen to be so far.
            return cell->time.load(sync::kAcquire);
        }

    private:
        friend class CommitTimes;
        explicit Reader(const Ring* ring) : ring_(ring) {}
        const Ring* ring_;
    };
    /// REQUIRES: inside a slice, which the reader does not outlive.
    Reader reader() const {
        // [times.ring] acquire: pairs with [times.start].
        return Reader(ring_.load(sync::kAcquire));
    }

private:
    /// Null: nothing is noted. Written by: start(), stop(), one thread at a time. Read by: all.
    sync::Atomic<Ring*> ring_{nullptr};
    std::unique_ptr<Ring> own_;
};

}  // namespace freshet::engine
