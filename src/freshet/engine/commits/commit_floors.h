// SPDX-License-Identifier: Apache-2.0
/// Lower bounds on the LSNs of commits under way: each commit has a floor from before its append
/// until it is complete. Together with the journal's tail the floors give commitLow(), on which
/// every mark and the redo position rest (docs/design/engine.md, "Marks and the redo position").
///
///   INV-engine-12  a commit that is not complete when commitLow() is called has, or will have, an
///                  LSN >= the result. If the load of the tail saw its append, that load
///                  synchronized with the append, hence its floor is seen; else its LSN is >= the
///                  tail. If the floor is seen withdrawn, the commit is complete.
#pragma once

#include "freshet/engine/variants/mutant.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/open_values.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace freshet::engine {

/// A commit between the start of its append and its completion.
struct OpenCommit {
    sync::OpenValues::Place* floor = nullptr;
};

class CommitFloors {
public:
    CommitFloors() = default;
    ~CommitFloors();
    CommitFloors(const CommitFloors&) = delete;
    CommitFloors& operator=(const CommitFloors&) = delete;

    /// REQUIRES: the caller is the participant with that index. `floor`: the journal's tail, read
    /// just now, before the commit's append.
    void begin(uint16_t participant, OpenCommit* commit, uint64_t floor);
    /// The commit is complete, or never will be. Any thread.
    static void end(OpenCommit* commit);

    /// `tail()` reads the journal's tail with acquire or stronger. Never 0.
    template <typename Tail>
    uint64_t commitLow(Tail tail) const {
        if (mutated(Mutant::kTailAfterFloors)) {
            const uint64_t floor = lowest();
            return std::max<uint64_t>(std::min<uint64_t>(tail(), floor), 1);
        }
        const uint64_t end = tail();
        return std::max<uint64_t>(std::min(end, lowest()), 1);
    }

private:
#ifdef FRESHET_EXPLORE
    // Each atomic costs the explorer time.
    static constexpr uint32_t kCellsMax = 4;
    static constexpr uint32_t kCellsPerChunk = 2;
#else
    static constexpr uint32_t kCellsMax = 65'536;
    static constexpr uint32_t kCellsPerChunk = 64;
#endif

    /// The floors of the commits that a participant has begun. Written by: the participant, and
    /// threads that complete such a commit. Read by: callers of commitLow().
    ///   RECLAIM  cells live as long as the table; a participant's successor takes its cell over
    struct alignas(sync::kLineBytes) Cell {
        sync::OpenValues floors;
    };
    struct Chunk {
        std::array<Cell, kCellsPerChunk> cells;
    };

    uint64_t lowest() const;
    Cell& cellOf(uint16_t participant);
    Chunk* makeChunk(uint32_t index);

    /// Null, then set once to a chunk.
    std::array<sync::Atomic<Chunk*>, kCellsMax / kCellsPerChunk> chunks_{};
    /// Only chunks below this may exist. Only rises.
    sync::Atomic<uint32_t> chunkCount_{0};
};

}  // namespace freshet::engine
