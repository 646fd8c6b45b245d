// SPDX-License-Identifier: Apache-2.0
/// Pages in memory (DESIGN 3.1). A page is reached through its PageEntry, which never moves; the
/// entry's word points to the page's current Node. A Node is complete when it becomes reachable;
/// afterwards only a leaf's delta changes, until the leaf is frozen and replaced by one CAS on the
/// entry. Inner nodes never change.
///
///   INV-engine-1  the fences of the live nodes of a level, reading `right` from the leftmost,
///                 partition the key space.
///   INV-engine-2  a reachable node is complete; nothing but a leaf's ctl, counters and delta links
///                 changes in it.
///   INV-engine-3  a marked word never changes again, so two rebuilds of one frozen leaf yield
///                 equivalent nodes, of which at most one is installed.
#pragma once

#include "freshet/engine/delta/leaf_delta.h"
#include "freshet/engine/keys/fence_key.h"
#include "freshet/engine/keys/key_array.h"
#include "freshet/engine/page/leaf_image.h"
#include "freshet/engine/tree/page_entry.h"
#include "freshet/sync/atomic.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace freshet::engine {

struct TreeLimits;

/// What leaves and inner nodes have in common. REQUIRES of all readers: inside a slice.
struct Node {
    Node(uint8_t nodeLevel,
         ByteView lowFence,
         ByteView highFence,
         PageEntry* rightPage,
         bool away = false);
    uint8_t level;       // 0 = leaf
    bool isOnDisk;       // a DiskLeaf
    uint32_t prefixLen;  // of the fences' common prefix, which every key here begins with
    PageEntry* right;    // the page that begins at `high`, null at the right edge
    FenceKey low;        // the first key that may be here
    FenceKey high;       // the first key that may not; empty = no limit
    uint64_t highHead;   // of `high`; no limit: above all

    /// A LeafNode: a leaf in memory.
    bool isLeaf() const { return level == 0 && !isOnDisk; }
    /// Whether `key` lies at or beyond the high fence.
    bool isLeftOf(ByteView key) const { return isLeftOf(keyHeadOf(key), key); }
    /// REQUIRES: head == keyHeadOf(key), which nearly always tells without the bytes.
    bool isLeftOf(uint64_t head, ByteView key) const {
        return head >= highHead && !high.empty() && high <= key;
    }
    /// REQUIRES: head == keyHeadOf(key). Whether `key` lies at or beyond the low fence.
    bool beginsAtOrBefore(uint64_t head, ByteView key) const {
        const uint64_t lowHead = keyHeadOf(low);
        return lowHead < head || (lowHead == head && low <= key);
    }
    /// A leaf without room: what was here is to the right (tree_remove.cpp).
    bool isGone() const { return !high.empty() && low == high; }
    /// REQUIRES: key lies within the fences.
    PageKey pageKey(ByteView key) const { return PageKey(key.substr(prefixLen)); }
    ByteView prefix() const { return low.view().substr(0, prefixLen); }
};

/// child[i] holds the keys from separator i - 1 (or low) up to separator i (or high).
struct InnerNode : Node {
    InnerNode(uint8_t nodeLevel,
              ByteView lowFence,
              ByteView highFence,
              PageEntry* rightPage,
              std::span<const std::string> separators,
              std::vector<PageEntry*> children);
    /// `keys` without the fences' common prefix.
    InnerNode(uint8_t nodeLevel,
              ByteView lowFence,
              ByteView highFence,
              PageEntry* rightPage,
              KeyArray keys,
              std::vector<PageEntry*> children);
    ~InnerNode();
    InnerNode(const InnerNode&) = delete;
    InnerNode& operator=(const InnerNode&) = delete;
    KeyArray separators;
    std::vector<PageEntry*> child;

    std::string separator(size_t i) const {
        return std::string(prefix()).append(separators.tail(static_cast<uint32_t>(i)));
    }
};

/// A node's fields, up to where its arrays are: what to ask for.
inline constexpr size_t kNodeBytes = 192;

struct LeafNode : Node {
    LeafNode(ByteView lowFence,
             ByteView highFence,
             PageEntry* rightPage,
             std::span<const ByteView> tails,
             std::span<const ValueRef> values,
             block::PageBuffer page = {});
    ~LeafNode();

    /// Asks for what a search of the leaf looks at first, so that the misses overlap.
    void prefetch() const {
        image.prefetch();
        // [leaf.ask] relaxed: only an address.
        __builtin_prefetch(pointerOf<LeafDelta>(delta.load(sync::kRelaxed)));
    }
    /// The delta if there is one, frozen or not.
    LeafDelta* deltaForRead() const;
    /// The same, made if there is none. Null when the leaf was frozen without one.
    LeafDelta* deltaForWrite(const TreeLimits& limits);
    /// A delta with cells for such keys. REQUIRES: nobody else can reach it yet, and it has none.
    LeafDelta* beginDelta(uint32_t bucketsMax, CellRange range);
    /// Freezes the leaf if it has no delta. False: it has, or is frozen. tree_evict.cpp.
    bool freezeUnchanged();
    /// Whether each large value has its page. For the checkpoint's thread, as the next one.
    bool isOnDiskWhole() const;
    /// Its large values' pages stay when it goes: a DiskLeaf has taken its place.
    void leaveLargeValues() const;
    /// Somebody has read or written a key here: the leaf is worth its memory.
    void touch() {
        // [leaf.touch] relaxed: a hint for the eviction; stored only when it tells something new.
        if (touched.load(sync::kRelaxed) != 1) {
            touched.store(1, sync::kRelaxed);
        }
    }
    /// Somebody walks through, and will not come again: it has only been worth the wait.
    void passThrough() {
        // [leaf.touch] as in touch().
        if (touched.load(sync::kRelaxed) > 1) {
            touched.store(0, sync::kRelaxed);
        }
    }
    /// The key at `pos` in the base is going to have a chain.
    void noteChain(uint32_t pos) {
        // [leaf.chain] relaxed: whoever must see the chain has seen its commit, which came after
        // [delta.insert], and that after this; or it is in the node since before [entry.install].
        if (!mayHaveChain(pos)) {
            chained.fetch_or(chainBit(pos), sync::kRelaxed);
        }
    }
    /// Whether the key at `pos` in the base may have one.
    bool mayHaveChain(uint32_t pos) const {
        // [leaf.chain] relaxed: as in noteChain().
        return (chained.load(sync::kRelaxed) & chainBit(pos)) != 0;
    }
    /// REQUIRES: nobody else can reach it yet. Somebody waits for it.
    void keepUntilTouched() {
        touched.store(kAwaited, sync::kRelaxed);  // [leaf.touch]
    }

    const LeafImage image;
    /// Frozen for good: whoever would change it sees to it that its right neighbour takes it over.
    bool isLeaving = false;
    /// 0 or kFrozen. A hint for writers: the marks decide. [leaf.freeze]
    sync::Atomic<uint32_t> ctl{0};
    /// 1: in use since the eviction last came by. More: read for somebody who has not been here
    /// yet; the eviction counts it down, so that who waits finds it, and if nobody comes it goes.
    /// Written by: the three above, the eviction. [leaf.touch]
    sync::Atomic<uint32_t> touched{0};
    /// What was written since the node was built; relaxed sums, only fed to a threshold.
    sync::Atomic<uint32_t> deltaBytes{0};
    sync::Atomic<uint32_t> deltaCount{0};
    /// Which of the base's keys may have a chain here, by their place modulo 64: a reader of one
    /// that has none looks no further than the base. Only ever set, before the chain is linked; the
    /// node that takes this one's place begins anew.
    sync::Atomic<uint64_t> chained{0};
    /// A rebuild is due at these. More than the limits when much had to be carried over.
    uint32_t rebuildAtBytes = 0;
    uint32_t rebuildAtCount = 0;
    ///   WORD     LeafDelta* | frozen
    ///   STEPS    0 -> delta; either -> marked by the freeze; final then
    sync::Atomic<uintptr_t> delta{0};

    static constexpr uint32_t kFrozen = 1;

private:
    static constexpr uint32_t kAwaited = 64;
    static uint64_t chainBit(uint32_t pos) { return uint64_t{1} << pos % 64; }
    /// Of the memory count, without what is written later.
    size_t ownBytes() const;
    /// The keys that come next if the last ones were appended one by one; else none.
    CellRange rangeBehindBase(const TreeLimits& limits) const;
};

/// Frees a node nobody can reach; a leaf's versions stay.
void destroyNode(Node* node);
/// For Participant::retire.
inline void destroyNodeErased(void* node) {
    destroyNode(static_cast<Node*>(node));
}
size_t nodeWeight(const Node* node);

}  // namespace freshet::engine
