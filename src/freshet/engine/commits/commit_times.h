// SPDX-License-Identifier: Apache-2.0
/// The times of the latest commits: what Timestamp the journal gave to the record of the commit
/// with a certain timestamp. The two orders differ for commits that are under way at the same
/// moment. Kept only while snapshots of the log are in use (history/snapshot_history.h).
#pragma once

#include "freshet/engine/variants/mutant.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/epoch.h"

#include <cstdint>
#include <memory>

namespace freshet::engine {

class CommitTimes {
    /// The times of some commits in a row. A chunk is never used for others, so a committer that
    /// was overtaken by many spoils no note of theirs.
    struct Chunk {
        Chunk(uint64_t first, uint32_t cells);
        ~Chunk();
        size_t bytes() const { return sizeof(Chunk) + cells * sizeof(sync::Atomic<uint64_t>); }

        const uint64_t firstTs;
        const uint32_t cells;
        /// Written by: the committer, once. Read by: readers.
        ///   STEPS    0 -> time
        const std::unique_ptr<sync::Atomic<uint64_t>[]> times;
    };
    /// Chunks are made by the committers that need them first: few commits need little memory.
    class Ring {
    public:
        Ring(sync::EpochDomain& domain, uint32_t cells);
        ~Ring();
        Ring(const Ring&) = delete;
        Ring& operator=(const Ring&) = delete;
        uint32_t size() const { return size_; }
        void note(uint64_t ts, uint64_t time) {
            if (Chunk* chunk = chunkFor(ts)) {
                // [times.note] relaxed: the end of the commit's floor carries it to readers that no
                // longer find the floor (INV-sync-6); for other readers the commit comes too late.
                chunk->times[ts & (chunkCells_ - 1)].store(time, sync::kRelaxed);
            }
        }
        uint64_t timeOf(uint64_t ts) const;

    private:
        static constexpr uint32_t kChunks = 16;  // at least, if there are so many cells
        static constexpr uint32_t kChunkCellsMax = 4096;
        uint32_t chunks() const { return size_ / chunkCells_; }
        uint64_t firstOf(uint64_t ts) const { return ts & ~uint64_t{chunkCells_ - 1}; }
        size_t indexOf(uint64_t ts) const { return (ts & (size_ - 1)) / chunkCells_; }
        /// Null: later commits have the place.
        Chunk* chunkFor(uint64_t ts) {
            // [times.chunk.look] acquire: pairs with [times.chunk].
            Chunk* chunk = chunks_[indexOf(ts)].load(sync::kAcquire);
            return chunk != nullptr && chunk->firstTs == firstOf(ts) ? chunk : makeChunk(ts, chunk);
        }
        Chunk* makeChunk(uint64_t ts, Chunk* there);

        sync::EpochDomain& domain_;
        const uint32_t size_;
        const uint32_t chunkCells_;
        /// Null, then chunks of ever later commits.
        ///   RECLAIM  a chunk that another takes the place of is retired; the last ones go with the
        ///            ring, when no slice is open that has seen it
        const std::unique_ptr<sync::Atomic<Chunk*>[]> chunks_;
    };

public:
    CommitTimes() = default;
    CommitTimes(const CommitTimes&) = delete;
    CommitTimes& operator=(const CommitTimes&) = delete;

    /// From here on commits are noted, about the last `cells` of them; those in slices that began
    /// before perhaps not. `domain`: of all slices in which it is used, and it outlives the object.
    /// `cells`: a power of two. REQUIRES: stopped, and freed.
    void start(sync::EpochDomain& domain, uint32_t cells);
    /// Commits are no longer noted, except in slices that began before.
    void stop();
    /// REQUIRES: stopped, and those slices are over.
    void free() { own_.reset(); }
    /// Called by the committer, in the slice of the claim and before the commit's floor ends.
    /// `time`: of its record, or of the last one of its chain; not 0.
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
        /// No more commits than this are noted.
        uint32_t size() const { return ring_->size(); }
        static constexpr uint64_t kNotNoted = UINT64_MAX;
        static constexpr uint64_t kGone = UINT64_MAX - 1;
        /// The commit's time. kNotNoted: it is not noted yet. kGone: it was perhaps noted, too long
        /// ago.
        uint64_t timeOf(uint64_t ts) const { return ring_->timeOf(ts); }

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
