// SPDX-License-Identifier: Apache-2.0
#include "freshet/sync/open_values.h"

namespace freshet::sync {

OpenValues::~OpenValues() {
    // [open.end] relaxed: no other thread uses the row.
    for (Chunk* chunk = more_.load(kRelaxed); chunk != nullptr;) {
        const std::unique_ptr<Chunk> holder(chunk);
        chunk = chunk->older;
    }
}

OpenValues::Place* OpenValues::findFree() {
    for (Place& place : first_) {
        if (isFree(place)) {
            return &place;
        }
    }
    // [open.own] relaxed: only this thread stores it.
    Chunk* const newest = more_.load(kRelaxed);
    for (const Chunk* chunk = newest; chunk != nullptr; chunk = chunk->older) {
        for (uint32_t i = 0; i < chunk->count; ++i) {
            if (isFree(chunk->places[i])) {
                return &chunk->places[i];
            }
        }
    }
    const uint32_t count = 2 * (newest == nullptr ? kFirst : newest->count);
    auto* const chunk = new Chunk{count, newest, std::make_unique<Place[]>(count)};
    // [open.more] release: pairs with [open.more.look]: the chunk is whole.
    more_.store(chunk, kRelease);
    return &chunk->places[0];
}

}  // namespace freshet::sync
