// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/commits/commit_times.h"

#include "freshet/base/assert.h"
#include "freshet/engine/memory/memory_count.h"

#include <algorithm>
#include <bit>

namespace freshet::engine {

CommitTimes::Chunk::Chunk(uint64_t first, uint32_t count)
    : firstTs(first), cells(count), times(new sync::Atomic<uint64_t>[count]) {
    for (uint32_t i = 0; i < count; ++i) {
        // [times.note.init] relaxed: published by [times.chunk].
        times[i].store(0, sync::kRelaxed);
    }
    MemoryCount::add(bytes());
}

CommitTimes::Chunk::~Chunk() {
    MemoryCount::subtract(bytes());
}

CommitTimes::Ring::Ring(sync::EpochDomain& domain, uint32_t cells)
    : domain_(domain),
      size_(cells),
      chunkCells_(std::clamp(cells / kChunks, uint32_t{1}, kChunkCellsMax)),
      chunks_(new sync::Atomic<Chunk*>[chunks()]) {
    for (uint32_t i = 0; i < chunks(); ++i) {
        // [times.chunk.init] relaxed: published by [times.start].
        chunks_[i].store(nullptr, sync::kRelaxed);
    }
}

CommitTimes::Ring::~Ring() {
    for (uint32_t i = 0; i < chunks(); ++i) {
        // [times.chunk.end] relaxed: no other thread uses the ring.
        delete chunks_[i].load(sync::kRelaxed);
    }
}

CommitTimes::Chunk* CommitTimes::Ring::makeChunk(uint64_t ts, Chunk* there) {
    const uint64_t first = firstOf(ts);
    std::unique_ptr<Chunk> fresh;
    while (there == nullptr || there->firstTs < first) {
        if (fresh == nullptr) {
            fresh = std::make_unique<Chunk>(first, chunkCells_);
        }
        // [times.chunk] CAS. ORDER: release pairs with [times.chunk.look]; acquire: its fields are
        //            read.
        //   LOST     another committer made this chunk, or a later one; or an earlier one: retry.
        //   PROGRESS lock-free: chunks only become later.
        if (chunks_[indexOf(ts)].compare_exchange_strong(
                there, fresh.get(), sync::kAcqRel, sync::kAcquire)) {
            if (there != nullptr) {
                domain_.here().retire(
                    there, [](void* chunk) { delete static_cast<Chunk*>(chunk); }, there->bytes());
            }
            return fresh.release();
        }
    }
    return there->firstTs == first || mutated(Mutant::kNotedInLaterLap) ? there : nullptr;
}

uint64_t CommitTimes::Ring::timeOf(uint64_t ts) const {
    // [times.chunk.look] acquire: pairs with [times.chunk].
    const Chunk* chunk = chunks_[indexOf(ts)].load(sync::kAcquire);
    if (chunk == nullptr || chunk->firstTs < firstOf(ts)) {
        return Reader::kNotNoted;
    }
    if (chunk->firstTs > firstOf(ts)) {
        return Reader::kGone;
    }
    // [times.look] relaxed: as [times.note].
    const uint64_t time = chunk->times[ts & (chunkCells_ - 1)].load(sync::kRelaxed);
    return time == 0 ? Reader::kNotNoted : time;
}

void CommitTimes::start(sync::EpochDomain& domain, uint32_t cells) {
    invariant(std::has_single_bit(cells) && own_ == nullptr);
    own_ = std::make_unique<Ring>(domain, cells);
    // [times.start] release: pairs with [times.ring]: the ring is whole.
    ring_.store(own_.get(), sync::kRelease);
}

void CommitTimes::stop() {
    // [times.stop] relaxed: own_ is freed only when no slice is open that may have seen it.
    ring_.store(nullptr, sync::kRelaxed);
}

}  // namespace freshet::engine
