// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/commits/commit_floors.h"

#include "freshet/base/assert.h"

#include <memory>

namespace freshet::engine {

using sync::kAcqRel;
using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

CommitFloors::~CommitFloors() {
    for (sync::Atomic<Chunk*>& chunk : chunks_) {
        // [floor.end] relaxed: no other thread uses the table.
        delete chunk.load(kRelaxed);
    }
}

CommitFloors::Chunk* CommitFloors::makeChunk(uint32_t index) {
    // Before the chunk is there: another participant that finds it does not look at the count, and
    // its floors must be seen.
    // [floor.count] CAS: a maximum.
    //   ORDER    release pairs with [floor.count.look]; relaxed on failure: only fed to the next.
    //   LOST     another raised it.  PROGRESS it only rises.
    uint32_t count = chunkCount_.load(kRelaxed);
    while (count <= index &&
           !chunkCount_.compare_exchange_weak(count, index + 1, kAcqRel, kRelaxed)) {
    }
    auto fresh = std::make_unique<Chunk>();
    Chunk* expected = nullptr;
    // [floor.chunk] CAS. ORDER: release pairs with [floor.chunk.look], also for the count; acquire
    //            on failure likewise.
    //   LOST     another participant made it: ours is dropped.  PROGRESS one attempt.
    if (chunks_[index].compare_exchange_strong(expected, fresh.get(), kAcqRel, kAcquire)) {
        expected = fresh.release();
    }
    return expected;
}

CommitFloors::Cell& CommitFloors::cellOf(uint16_t participant) {
    const uint32_t index = participant / kCellsPerChunk;
    // [floor.chunk.look] acquire: pairs with [floor.chunk].
    Chunk* chunk = chunks_[index].load(kAcquire);
    if (chunk == nullptr) {
        chunk = makeChunk(index);
    }
    return chunk->cells[participant % kCellsPerChunk];
}

void CommitFloors::begin(uint16_t participant, OpenCommit* commit, uint64_t floor) {
    Cell& cell = cellOf(participant);
    // [open.set] comes before the append, whose own release carries the floor to any thread that
    // sees the append in the tail.
    commit->floor = cell.floors.open(mutated(Mutant::kNoFloor) ? UINT64_MAX - 1 : floor);
}

void CommitFloors::end(OpenCommit* commit) {
    // A thread that misses the floor sees the commit complete (INV-sync-6).
    sync::OpenValues::close(commit->floor);
    commit->floor = nullptr;
}

uint64_t CommitFloors::lowest() const {
    uint64_t low = sync::OpenValues::kNone;
    // [floor.count.look] acquire: pairs with [floor.count].
    const uint32_t count = chunkCount_.load(kAcquire);
    for (uint32_t i = 0; i < count; ++i) {
        // [floor.chunk.look] acquire: pairs with [floor.chunk].
        const Chunk* chunk = chunks_[i].load(kAcquire);
        for (uint32_t c = 0; chunk != nullptr && c < kCellsPerChunk; ++c) {
            low = std::min(low, chunk->cells[c].floors.lowest());
        }
    }
    return low;
}

}  // namespace freshet::engine
