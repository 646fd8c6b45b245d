// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/node/node.h"

#include "freshet/engine/memory/memory_count.h"
#include "freshet/engine/node/disk_leaf.h"
#include "freshet/engine/variants/mutant.h"

namespace freshet::engine {

using sync::kAcqRel;
using sync::kAcquire;
using sync::kRelaxed;

namespace {

std::vector<ByteView> withoutPrefix(std::span<const std::string> keys, size_t prefixLen) {
    std::vector<ByteView> tails;
    tails.reserve(keys.size());
    for (const std::string& key : keys) {
        tails.push_back(ByteView(key).substr(prefixLen));
    }
    return tails;
}

/// Marks a link and returns what it leads to, for good.
uintptr_t freezeLink(DeltaKey::Link& link, bool mark) {
    // [version.mark] acq_rel: acquire pairs with [version.push]; release: later pushes fail.
    // [delta.mark] acq_rel: acquire pairs with [delta.insert]; release: later inserts fail.
    return mark ? link.fetch_or(kMark, kAcqRel) : link.load(kAcquire);
}

}  // namespace

Node::Node(
    uint8_t nodeLevel, ByteView lowFence, ByteView highFence, PageEntry* rightPage, bool away)
    : level(nodeLevel),
      isOnDisk(away),
      prefixLen(static_cast<uint32_t>(fencePrefix(lowFence, highFence))),
      right(rightPage),
      low(lowFence),
      high(highFence),
      highHead(high.empty() ? UINT64_MAX : keyHeadOf(high)) {}

InnerNode::InnerNode(uint8_t nodeLevel,
                     ByteView lowFence,
                     ByteView highFence,
                     PageEntry* rightPage,
                     std::span<const std::string> keys,
                     std::vector<PageEntry*> children)
    : Node(nodeLevel, lowFence, highFence, rightPage),
      separators(withoutPrefix(keys, prefixLen)),
      child(std::move(children)) {
    sync::notePlainWrite(this);
    MemoryCount::add(nodeWeight(this));
}

InnerNode::~InnerNode() {
    MemoryCount::subtract(nodeWeight(this));
}

InnerNode::InnerNode(uint8_t nodeLevel,
                     ByteView lowFence,
                     ByteView highFence,
                     PageEntry* rightPage,
                     KeyArray keys,
                     std::vector<PageEntry*> children)
    : Node(nodeLevel, lowFence, highFence, rightPage),
      separators(std::move(keys)),
      child(std::move(children)) {
    sync::notePlainWrite(this);
    MemoryCount::add(nodeWeight(this));
}

LeafNode::LeafNode(ByteView lowFence,
                   ByteView highFence,
                   PageEntry* rightPage,
                   std::span<const ByteView> tails,
                   std::span<const ValueRef> values,
                   block::PageBuffer page)
    : Node(0, lowFence, highFence, rightPage), image(tails, values, std::move(page)) {
    sync::notePlainWrite(this);
    MemoryCount::add(ownBytes());
}

size_t LeafNode::ownBytes() const {
    return sizeof(LeafNode) + low.memoryBytes() + high.memoryBytes() + image.memoryBytes();
}

LeafNode::~LeafNode() {
    MemoryCount::subtract(ownBytes());
    // [leaf.end] relaxed: no other thread can reach the node.
    LeafDelta::destroy(pointerOf<LeafDelta>(delta.load(kRelaxed)));
}

LeafDelta* LeafNode::deltaForWrite(const TreeLimits& limits) {
    if (LeafDelta* known = deltaForRead()) {
        return known;
    }
    LeafDelta* fresh =
        LeafDelta::create(image.keys().size(), limits.bucketsMax, rangeBehindBase(limits));
    uintptr_t expected = 0;
    // [leaf.delta] CAS. ORDER: release pairs with [leaf.look]; acquire on failure likewise.
    //   LOST     another writer made one, or the leaf is frozen: ours is dropped.
    //   PROGRESS one attempt.
    if (delta.compare_exchange_strong(expected, wordOf(fresh), kAcqRel, kAcquire)) {
        return fresh;
    }
    LeafDelta::destroy(fresh);
    return pointerOf<LeafDelta>(expected);
}

LeafDelta* LeafNode::beginDelta(uint32_t bucketsMax, CellRange range) {
    LeafDelta* fresh = LeafDelta::create(image.keys().size(), bucketsMax, range);
    delta.store(wordOf(fresh), kRelaxed);  // [delta.build]
    return fresh;
}

CellRange LeafNode::rangeBehindBase(const TreeLimits& limits) const {
    const KeyArray& keys = image.keys();
    const uint32_t sought = limits.denseKeysMin;
    if (!high.empty() || keys.size() < sought) {
        return {};
    }
    // Without an upper fence there is no prefix: these are whole keys.
    const uint32_t last = keys.size() - 1;
    if (!areAppended(keys.tail(last + 1 - sought), keys.tail(last), sought)) {
        return {};
    }
    return CellRange::behind(keys.head(last), limits.deltaKeysMax);
}

void LeafNode::freeze() {
    // [leaf.freeze] relaxed: see [leaf.frozen].
    ctl.store(kFrozen, kRelaxed);
    auto* frozen = pointerOf<LeafDelta>(freezeLink(delta, true));
    for (uint32_t b = 0; frozen != nullptr && b < frozen->buckets(); ++b) {
        // Each link is marked before the key behind it is visited: nothing is inserted behind us.
        auto* key =
            pointerOf<DeltaKey>(freezeLink(frozen->head(b), !mutated(Mutant::kNoBucketMark)));
        while (key != nullptr) {
            auto* next =
                pointerOf<DeltaKey>(freezeLink(key->next(0), !mutated(Mutant::kNoNextMark)));
            freezeLink(key->ver, !mutated(Mutant::kNoVersionMark));
            key = next;
        }
    }
    for (uint32_t i = 0; frozen != nullptr && i < frozen->cells(); ++i) {
        freezeLink(frozen->cell(i), !mutated(Mutant::kNoCellMark));
    }
}

bool LeafNode::freezeUnchanged() {
    uintptr_t expected = 0;
    // [leaf.close] CAS. ORDER: acq_rel pairs with [leaf.delta] and [leaf.look]: a writer that comes
    //            later finds the mark. Relaxed on failure: nothing is done.
    //   LOST     the leaf has changes, or is frozen.
    //   PROGRESS one attempt.
    if (!delta.compare_exchange_strong(expected, kMark, kAcqRel, kRelaxed)) {
        return false;
    }
    // [leaf.freeze] relaxed: see [leaf.frozen].
    ctl.store(kFrozen, kRelaxed);
    return true;
}

bool LeafNode::isOnDiskWhole() const {
    bool whole = true;
    image.forEachLarge([&](const ValueBuffer& buffer) { whole &= buffer.page() != 0; });
    return whole;
}

void LeafNode::leaveLargeValues() const {
    image.forEachLarge([](ValueBuffer& buffer) { buffer.leavePage(); });
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
