// SPDX-License-Identifier: Apache-2.0
/// Pages in memory. A page is reached through its PageEntry, which never moves; the entry's word
/// points to the page's current Node. A Node is complete when it becomes reachable. After that only
/// a leaf's delta changes, until the leaf is frozen and replaced by one CAS on the entry. Inner
/// nodes never change.
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
#include "freshet/engine/node/page_entry.h"
#include "freshet/engine/node/tree_limits.h"
#include "freshet/engine/page/leaf_image.h"
#include "freshet/sync/atomic.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace freshet::engine {

/// What leaves and inner nodes have in common. REQUIRES of all readers: inside a slice.
struct Node {
    Node(uint8_t nodeLevel,
         ByteView lowFence,
         ByteView highFence,
         PageEntry* rightPage,
         bool away = false);
    uint8_t level;       // 0 = leaf
    bool isOnDisk;       // a DiskLeaf
    uint32_t prefixLen;  // of the fences' common prefix, with which every key here begins
    PageEntry* right;    // the page that begins at `high`, null at the right edge
    FenceKey low;        // the first key that may be here
    FenceKey high;       // the first key that may not; empty = no limit
    uint64_t highHead;   // the head of `high`; without a limit the highest number

    /// A LeafNode: a leaf in memory.
    bool isLeaf() const { return level == 0 && !isOnDisk; }
    /// Whether `key` is at or above the high fence.
    bool isLeftOf(ByteView key) const { return isLeftOf(keyHeadOf(key), key); }
    /// REQUIRES: head == keyHeadOf(key), which nearly always decides without the bytes.
    bool isLeftOf(uint64_t head, ByteView key) const {
        return head >= highHead && !high.empty() && high <= key;
    }
    /// Whether `key` is at or above the low fence. REQUIRES: head == keyHeadOf(key).
    bool beginsAtOrBefore(uint64_t head, ByteView key) const {
        const uint64_t lowHead = keyHeadOf(low);
        return lowHead < head || (lowHead == head && low <= key);
    }
    /// A leaf without room for any key: its keys are in pages to the right (tree/tree_merge.cpp).
    bool isGone() const { return !high.empty() && low == high; }
    /// REQUIRES: key is within the fences.
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

/// The bytes of a node in front of its arrays: how much to prefetch.
inline constexpr size_t kNodeBytes = 192;

struct LeafNode : Node {
    LeafNode(ByteView lowFence,
             ByteView highFence,
             PageEntry* rightPage,
             std::span<const ByteView> tails,
             std::span<const ValueRef> values,
             block::PageBuffer page = {});
    ~LeafNode();

    /// Prefetches what a search of the leaf reads first, so that the misses overlap.
    void prefetch() const {
        image.prefetch();
        // [leaf.ask] relaxed: only an address.
        __builtin_prefetch(pointerOf<LeafDelta>(delta.load(sync::kRelaxed)));
    }
    /// The delta, frozen or not; null: there is none.
    LeafDelta* deltaForRead() const {
        // [leaf.look] acquire: pairs with [leaf.delta].
        return pointerOf<LeafDelta>(delta.load(sync::kAcquire));
    }
    /// The delta, made if there is none. Null when the leaf was frozen without one.
    LeafDelta* deltaForWrite(const TreeLimits& limits);
    /// A new delta with cells for the keys of `range`. REQUIRES: no other thread can reach the leaf
    /// yet, and it has no delta.
    LeafDelta* beginDelta(uint32_t bucketsMax, CellRange range);
    /// Marks every link of the delta, so that the leaf never changes again. Any number of threads
    /// may do it at once, and more than once.
    void freeze();
    /// Freezes the leaf if it has no delta. False: it has one, or is frozen.
    bool freezeUnchanged();
    /// Whether each large value has its page. For the checkpoint's thread, as the next one.
    bool isOnDiskWhole() const;
    /// The pages of its large values stay when the leaf is freed: a DiskLeaf has taken its place.
    void leaveLargeValues() const;
    /// A key was read or written here: the leaf is worth its memory.
    void touch() {
        // [leaf.touch] relaxed: a hint for the eviction; stored only when it says something new.
        if (touched.load(sync::kRelaxed) != 1) {
            touched.store(1, sync::kRelaxed);
        }
    }
    /// A walk reads the leaf and will not return: if the leaf was read in for that walk, it need
    /// not be kept any longer.
    void passThrough() {
        // [leaf.touch] as in touch().
        if (touched.load(sync::kRelaxed) > 1) {
            touched.store(0, sync::kRelaxed);
        }
    }
    /// The key at `pos` in the base is going to have a chain.
    void noteChain(uint32_t pos) {
        // [leaf.chain] relaxed: a reader that must see the chain has seen its commit, which came
        // after [delta.insert], and that after this; or the bit is in the node since before
        // [entry.install].
        if (!mayHaveChain(pos)) {
            chained.fetch_or(chainBit(pos), sync::kRelaxed);
        }
    }
    /// Whether the key at `pos` in the base may have a chain.
    bool mayHaveChain(uint32_t pos) const {
        // [leaf.chain] relaxed: as in noteChain().
        return (chained.load(sync::kRelaxed) & chainBit(pos)) != 0;
    }
    /// REQUIRES: no other thread can reach the leaf yet. A reader is waiting for it.
    void keepUntilTouched() {
        touched.store(kAwaited, sync::kRelaxed);  // [leaf.touch]
    }

    const LeafImage image;
    /// Frozen for good: a writer that needs a key of this leaf first merges the leaf into its right
    /// neighbour.
    bool isLeaving = false;
    /// 0 or kFrozen. A hint for writers: the marks decide. [leaf.freeze]
    sync::Atomic<uint32_t> ctl{0};
    /// 1: used since the eviction last looked. More: it was read for a thread that has not been
    /// here yet; the eviction counts it down, so that the thread finds the leaf, and if none comes
    /// the leaf is evicted. Written by: touch(), passThrough(), keepUntilTouched(), the eviction.
    /// [leaf.touch]
    sync::Atomic<uint32_t> touched{0};
    /// What was written since the node was built; relaxed sums, only compared with a threshold.
    sync::Atomic<uint32_t> deltaBytes{0};
    sync::Atomic<uint32_t> deltaCount{0};
    /// Which of the base's keys may have a chain here, by their position modulo 64: for a key that
    /// has none a reader looks no further than the base. Bits are only ever set, each before its
    /// chain is linked; the node that replaces this one begins with none.
    sync::Atomic<uint64_t> chained{0};
    /// A rebuild is due at these. They exceed the limits when much had to be carried over.
    uint32_t rebuildAtBytes = 0;
    uint32_t rebuildAtCount = 0;
    ///   WORD     LeafDelta* | frozen
    ///   STEPS    0 -> delta; either -> marked by the freeze; final then
    sync::Atomic<uintptr_t> delta{0};

    static constexpr uint32_t kFrozen = 1;

private:
    static constexpr uint32_t kAwaited = 64;
    static uint64_t chainBit(uint32_t pos) { return uint64_t{1} << pos % 64; }
    /// What it adds to the memory count, without what is written later.
    size_t ownBytes() const;
    /// The keys that come next if the last ones were appended one by one; else none.
    CellRange rangeBehindBase(const TreeLimits& limits) const;
};

/// Frees a node that no thread can reach; a leaf's versions stay.
void destroyNode(Node* node);
/// For Participant::retire.
inline void destroyNodeErased(void* node) {
    destroyNode(static_cast<Node*>(node));
}
size_t nodeWeight(const Node* node);

}  // namespace freshet::engine
