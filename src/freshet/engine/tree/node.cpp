// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/node.h"

#include "freshet/engine/tree/disk_leaf.h"
#include "freshet/engine/tree/object_memory.h"
#include "freshet/engine/txn/memory_count.h"

#include <algorithm>
#include <functional>
#include <new>

namespace freshet::engine {

using sync::kAcqRel;
using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

namespace {

/// A leaf has a bucket for about this many base keys.
constexpr uint32_t kKeysPerBucket = 2;
/// Tries to link a shortcut; it is only a shortcut.
constexpr int kSkipAttempts = 3;

std::vector<ByteView> withoutPrefix(std::span<const std::string> keys, size_t prefixLen) {
    std::vector<ByteView> tails;
    tails.reserve(keys.size());
    for (const std::string& key : keys) {
        tails.push_back(ByteView(key).substr(prefixLen));
    }
    return tails;
}

}  // namespace

Node::Node(
    uint8_t nodeLevel, std::string lowFence, std::string highFence, PageEntry* rightPage, bool away)
    : level(nodeLevel),
      isOnDisk(away),
      right(rightPage),
      low(std::move(lowFence)),
      high(std::move(highFence)),
      prefixLen(high.empty() ? 0 : commonPrefix(low, high)),
      highHead(high.empty() ? UINT64_MAX : keyHeadOf(high)) {}

InnerNode::InnerNode(uint8_t nodeLevel,
                     std::string lowFence,
                     std::string highFence,
                     PageEntry* rightPage,
                     std::span<const std::string> keys,
                     std::vector<PageEntry*> children)
    : Node(nodeLevel, std::move(lowFence), std::move(highFence), rightPage),
      separators(withoutPrefix(keys, prefixLen)),
      child(std::move(children)) {
    sync::notePlainWrite(this);
    MemoryCount::add(nodeWeight(this));
}

InnerNode::~InnerNode() {
    MemoryCount::subtract(nodeWeight(this));
}

InnerNode::InnerNode(uint8_t nodeLevel,
                     std::string lowFence,
                     std::string highFence,
                     PageEntry* rightPage,
                     KeyArray keys,
                     std::vector<PageEntry*> children)
    : Node(nodeLevel, std::move(lowFence), std::move(highFence), rightPage),
      separators(std::move(keys)),
      child(std::move(children)) {
    sync::notePlainWrite(this);
    MemoryCount::add(nodeWeight(this));
}

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

LeafDelta* LeafDelta::create(uint32_t baseKeys, uint32_t bucketsMax) {
    const uint32_t buckets = std::clamp(baseKeys / kKeysPerBucket, 1u, bucketsMax);
    const size_t bytes = sizeof(LeafDelta) + buckets * sizeof(Link);
    MemoryCount::add(bytes);
    void* memory = ::operator new(bytes);
    return new (memory) LeafDelta(baseKeys, buckets);
}

void LeafDelta::destroy(LeafDelta* delta) {
    if (delta != nullptr) {
        MemoryCount::subtract(sizeof(LeafDelta) + delta->buckets_ * sizeof(Link));
        delta->~LeafDelta();
        ::operator delete(delta);
    }
}

LeafDelta::LeafDelta(uint32_t baseKeys, uint32_t buckets) : baseKeys_(baseKeys), buckets_(buckets) {
    for (uint32_t i = 0; i < buckets_; ++i) {
        new (heads() + i) Link(0);
    }
}

LeafDelta::~LeafDelta() {
    for (uint32_t i = 0; i < buckets_; ++i) {
        // [delta.end] relaxed: nobody else can reach the node; the epoch ordered their last use.
        auto* key = pointerOf<DeltaKey>(heads()[i].load(kRelaxed));
        while (key != nullptr) {
            auto* next = pointerOf<DeltaKey>(key->next(0).load(kRelaxed));
            DeltaKey::destroy(key);
            key = next;
        }
        heads()[i].~Link();
    }
}

unsigned LeafDelta::heightFor(uint32_t bucket, ByteView tail) const {
    if (bucket + 1 != buckets_) {
        return 1;
    }
    // From the key's hash: one in four is a level taller than the rest.
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
            //   LOST     another shortcut came between: a few tries, then go without.
            //   PROGRESS bounded.
            linked = link->compare_exchange_strong(word, wordOf(key), kRelease, kRelaxed);
        }
        if (!linked) {
            return;
        }
    }
}

void LeafDelta::insertPrivate(DeltaKey* key, uint32_t bucket) {
    const Spot spot = find(bucket, PageKey(key->tail()));
    // [delta.build] relaxed: published with the node by [entry.install].
    key->next(0).store(spot.word, kRelaxed);
    spot.link->store(wordOf(key), kRelaxed);
    linkAbove(spot, key);
}

LeafNode::LeafNode(std::string lowFence,
                   std::string highFence,
                   PageEntry* rightPage,
                   std::span<const ByteView> tails,
                   std::span<const ValueRef> values,
                   block::PageBuffer page)
    : Node(0, std::move(lowFence), std::move(highFence), rightPage),
      image(tails, values, std::move(page)) {
    sync::notePlainWrite(this);
    MemoryCount::add(ownBytes());
}

size_t LeafNode::ownBytes() const {
    return sizeof(LeafNode) + low.capacity() + high.capacity() + image.memoryBytes();
}

LeafNode::~LeafNode() {
    MemoryCount::subtract(ownBytes());
    // [leaf.end] relaxed: nobody else can reach the node.
    LeafDelta::destroy(pointerOf<LeafDelta>(delta.load(kRelaxed)));
}

LeafDelta* LeafNode::deltaForWrite(uint32_t bucketsMax) {
    if (LeafDelta* known = deltaForRead()) {
        return known;
    }
    LeafDelta* fresh = LeafDelta::create(image.keys().size(), bucketsMax);
    uintptr_t expected = 0;
    // [leaf.delta] CAS. ORDER: release pairs with [leaf.look]; acquire on failure likewise.
    //   LOST     another writer made it, or the leaf is frozen: ours is dropped.
    //   PROGRESS one attempt.
    if (delta.compare_exchange_strong(expected, wordOf(fresh), kAcqRel, kAcquire)) {
        return fresh;
    }
    LeafDelta::destroy(fresh);
    return pointerOf<LeafDelta>(expected);
}

LeafDelta* LeafNode::deltaForRead() const {
    // [leaf.look] acquire: pairs with [leaf.delta].
    return pointerOf<LeafDelta>(delta.load(kAcquire));
}

void destroyNode(Node* node) {
    sync::notePlainWrite(node);
    if (node->isOnDisk) {
        delete static_cast<DiskLeaf*>(node);
    } else if (node->isLeaf()) {
        delete static_cast<LeafNode*>(node);
    } else {
        delete static_cast<InnerNode*>(node);
    }
}

size_t nodeWeight(const Node* node) {
    if (node->isOnDisk) {
        return sizeof(DiskLeaf);
    }
    if (!node->isLeaf()) {
        auto* inner = static_cast<const InnerNode*>(node);
        return sizeof(InnerNode) + inner->separators.memoryBytes() +
               inner->child.size() * sizeof(PageEntry*);
    }
    auto* leaf = static_cast<const LeafNode*>(node);
    // [leaf.count] relaxed: an estimate.
    return sizeof(LeafNode) + leaf->image.memoryBytes() + leaf->deltaBytes.load(kRelaxed);
}

}  // namespace freshet::engine
