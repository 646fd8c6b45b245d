// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/commits/commit_times.h"

#include "freshet/base/assert.h"
#include "freshet/engine/memory/memory_count.h"

#include <algorithm>
#include <bit>

namespace freshet::engine {

CommitTimes::Ring::Ring(uint32_t cells)
    : size_(cells),
      chunkCells_(std::min(cells, kChunkCells)),
      chunks_(new sync::Atomic<Cell*>[chunks()]) {
    for (uint32_t i = 0; i < chunks(); ++i) {
        // [times.chunk.init] relaxed: published by [times.start].
        chunks_[i].store(nullptr, sync::kRelaxed);
    }
}

CommitTimes::Ring::~Ring() {
    for (uint32_t i = 0; i < chunks(); ++i) {
        // [times.chunk.end] relaxed: no other thread uses the ring.
        if (const Cell* chunk = chunks_[i].load(sync::kRelaxed)) {
            delete[] chunk;
            MemoryCount::subtract(chunkCells_ * sizeof(Cell));
        }
    }
}

CommitTimes::Cell* CommitTimes::Ring::makeChunk(uint64_t ts) {
    std::unique_ptr<Cell[]> fresh(new Cell[chunkCells_]);
    Cell* there = nullptr;
    // [times.chunk] CAS. ORDER: release pairs with [times.chunk.look]; acquire on failure likewise.
    //   LOST     another committer made it: ours is dropped.  PROGRESS one attempt.
    if (!chunks_[indexOf(ts)].compare_exchange_strong(
            there, fresh.get(), sync::kAcqRel, sync::kAcquire)) {
        return there;
    }
    MemoryCount::add(chunkCells_ * sizeof(Cell));
    return fresh.release();
}

void CommitTimes::start(uint32_t cells) {
    invariant(std::has_single_bit(cells) && own_ == nullptr);
    own_ = std::make_unique<Ring>(cells);
    // [times.start] release: pairs with [times.ring]: the ring is whole.
    ring_.store(own_.get(), sync::kRelease);
}

void CommitTimes::stop() {
    // [times.stop] relaxed: own_ is freed only when no slice is open that may have seen it.
    ring_.store(nullptr, sync::kRelaxed);
}

}  // namespace freshet::engine
