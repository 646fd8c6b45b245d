// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/delta/leaf_delta.h"

#include "freshet/engine/memory/memory_count.h"
#include "freshet/engine/memory/object_memory.h"

#include <algorithm>
#include <functional>
#include <new>

namespace freshet::engine {

using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

namespace {

/// Attempts to link a shortcut; the list works without it.
constexpr int kSkipAttempts = 3;

}  // namespace

DeltaKey::DeltaKey(ByteView tail, uint32_t basePosition, unsigned levels, Version* version)
    : keyHead(keyHeadOf(tail)),
      basePos(basePosition),
      tailBytes(static_cast<uint32_t>(tail.size())),
      height(levels),
      ver(wordOf(version)) {
    for (unsigned level = 0; level < levels; ++level) {
        new (links() + level) Link(0);
    }
    tail.copy(reinterpret_cast<char*>(links() + levels), tail.size());
    sync::notePlainWrite(this);
}

DeltaKey* DeltaKey::create(ByteView tail, uint32_t basePos, unsigned height, Version* version) {
    const size_t bytes = objectBytes(height, tail.size());
    MemoryCount::add(bytes);
    void* memory = takeObjectMemory(bytes);
    return new (memory) DeltaKey(tail, basePos, height, version);
}

void DeltaKey::destroy(DeltaKey* key) {
    for (unsigned level = 0; level < key->height; ++level) {
        key->links()[level].~Link();
    }
    const size_t bytes = objectBytes(key->height, key->tailBytes);
    MemoryCount::subtract(bytes);
    key->~DeltaKey();
    giveObjectMemory(key, bytes);
}

ByteView DeltaKey::tail() const {
    sync::notePlainRead(this);
    return {reinterpret_cast<const char*>(links() + height), tailBytes};
}

LeafDelta* LeafDelta::create(uint32_t baseKeys, uint32_t bucketsMax, CellRange range) {
    const uint32_t buckets = std::clamp(baseKeys, 1u, bucketsMax);
    const size_t bytes = objectBytes(buckets, range.count);
    MemoryCount::add(bytes);
    void* memory = ::operator new(bytes);
    return new (memory) LeafDelta(baseKeys, buckets, range);
}

void LeafDelta::destroy(LeafDelta* delta) {
    if (delta != nullptr) {
        MemoryCount::subtract(delta->objectBytes());
        delta->~LeafDelta();
        ::operator delete(delta);
    }
}

LeafDelta::LeafDelta(uint32_t baseKeys, uint32_t buckets, CellRange range)
    : baseKeys_(baseKeys), buckets_(buckets), range_(range) {
    for (uint32_t i = 0; i < buckets_ + range_.count; ++i) {
        new (heads() + i) Link(0);
    }
    for (uint32_t i = 0; i < range_.count; ++i) {
        storeBe64(cellKeys() + i * kRecordIdBytes, range_.first + i);
    }
}

LeafDelta::~LeafDelta() {
    for (uint32_t i = 0; i < buckets_; ++i) {
        // [delta.end] relaxed: no other thread can reach the node; the epoch ordered their last
        // use.
        auto* key = pointerOf<DeltaKey>(heads()[i].load(kRelaxed));
        while (key != nullptr) {
            auto* next = pointerOf<DeltaKey>(key->next(0).load(kRelaxed));
            DeltaKey::destroy(key);
            key = next;
        }
    }
    for (uint32_t i = 0; i < buckets_ + range_.count; ++i) {
        heads()[i].~Link();
    }
}

unsigned LeafDelta::heightFor(uint32_t bucket, ByteView tail) const {
    if (bucket + 1 != buckets_) {
        return 1;
    }
    // From the key's hash: each level has a quarter of the keys of the one below.
    uint64_t bits = std::hash<ByteView>{}(tail);
    unsigned height = 1;
    while (height < kHeightMax && (bits & 3) == 0) {
        ++height;
        bits >>= 2;
    }
    return height;
}

LeafDelta::Spot LeafDelta::find(uint32_t bucket, const PageKey& key) {
    Spot spot;
    spot.link = &heads()[bucket];
    if (bucket + 1 == buckets_) {
        DeltaKey* before = nullptr;
        for (unsigned level = kHeightMax - 1; level > 0; --level) {
            Link* link = before != nullptr ? &before->next(level) : &skip_[level];
            // [skip.read] acquire: pairs with [skip.link]. Each link is read once, into a local.
            auto* next = pointerOf<DeltaKey>(link->load(kAcquire));
            while (next != nullptr && next->compare(key) < 0) {
                before = next;
                link = &before->next(level);
                next = pointerOf<DeltaKey>(link->load(kAcquire));
            }
            spot.above[level] = link;
        }
        if (before != nullptr) {
            spot.link = &before->next(0);
        }
    }
    for (;;) {
        // [delta.read] acquire: pairs with [delta.insert].
        spot.word = spot.link->load(kAcquire);
        auto* next = pointerOf<DeltaKey>(spot.word);
        const int order = next == nullptr ? 1 : next->compare(key);
        if (order >= 0) {
            spot.key = order == 0 ? next : nullptr;
            return spot;
        }
        spot.link = &next->next(0);
    }
}

void LeafDelta::linkAbove(const Spot& spot, DeltaKey* key) {
    const PageKey place(key->tail());
    for (unsigned level = 1; level < key->height; ++level) {
        Link* link = spot.above[level];
        bool linked = false;
        for (int attempt = 0; attempt < kSkipAttempts && !linked; ++attempt) {
            // [skip.read] acquire: as in find().
            uintptr_t word = link->load(kAcquire);
            while (word != 0 && pointerOf<DeltaKey>(word)->compare(place) < 0) {
                link = &pointerOf<DeltaKey>(word)->next(level);
                word = link->load(kAcquire);
            }
            // [skip.own] relaxed: published by [skip.link].
            key->next(level).store(word, kRelaxed);
            // [skip.link] CAS. ORDER: release pairs with [skip.read]; relaxed on failure: read
            //            again above.
            //   LOST     another shortcut was linked first: a few tries, then go without.
            //   PROGRESS bounded.
            linked = link->compare_exchange_strong(word, wordOf(key), kRelease, kRelaxed);
        }
        if (!linked) {
            return;
        }
    }
}

const LeafDelta::Link* LeafDelta::chainOf(uint32_t basePos, const PageKey& key) {
    if (const Link* link = cellOf(key)) {
        return link;
    }
    const DeltaKey* found = find(bucketOf(basePos), key).key;
    return found == nullptr ? nullptr : &found->ver;
}

uint32_t LeafDelta::firstCell(const PageKey& key) const {
    if (key.head < range_.first) {
        return 0;
    }
    const uint64_t at = std::min<uint64_t>(key.head - range_.first, range_.count);
    // A key sorts before all longer keys that begin with it.
    const bool isBehind = at < range_.count && key.tail.size() > kRecordIdBytes;
    return static_cast<uint32_t>(at) + (isBehind ? 1 : 0);
}

void LeafDelta::insertPrivate(ByteView tail, KeyArray::Position place, Version* chain) {
    const PageKey page(tail);
    // [delta.build] relaxed: published with the node by [entry.install].
    if (Link* link = cellOf(page)) {
        link->store(wordOf(chain), kRelaxed);
        return;
    }
    const uint32_t bucket = bucketOf(place.pos);
    DeltaKey* key = DeltaKey::create(
        tail, place.exact ? place.pos : DeltaKey::kNoBase, heightFor(bucket, tail), chain);
    const Spot spot = find(bucket, page);
    key->next(0).store(spot.word, kRelaxed);  // [delta.build]
    spot.link->store(wordOf(key), kRelaxed);  // [delta.build]
    linkAbove(spot, key);
}

}  // namespace freshet::engine
