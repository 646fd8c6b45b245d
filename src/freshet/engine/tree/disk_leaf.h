// SPDX-License-Identifier: Apache-2.0
/// A leaf that is not in memory: its fences and its neighbour, so that the tree's structure is
/// whole without it, where its large values lie, and who waits until it has been read. Most leaves
/// are such ones, so each byte counts.
#pragma once

#include "freshet/base/status.h"
#include "freshet/block/block_file.h"
#include "freshet/engine/memory/memory_count.h"
#include "freshet/engine/tree/node.h"
#include "freshet/sync/wait_token.h"

#include <memory>
#include <span>
#include <vector>

namespace freshet::engine {

/// Stands in a page's word from the CAS that evicts the leaf to the one that brings it back
/// [entry.install]; as with any node, its installer's slice and the epochs guard it. An image that
/// cannot be read stays given up until the store is opened again.
class DiskLeaf final : public Node {
public:
    struct LargeValue {
        PageId page = 0;
        block::PagePlace place;
    };

    /// For `leaf`, whose image has so many entries within the leaf's fences, which count for so
    /// much in a page's size.
    /// REQUIRES: leaf.isOnDiskWhole(), or neither its base nor the image has large values.
    DiskLeaf(const LeafNode& leaf, size_t entryCount, size_t entryBytes);
    /// For a leaf that has not been read yet; its right neighbour is set before it can be reached.
    DiskLeaf(ByteView lowFence,
             ByteView highFence,
             size_t entryCount,
             std::vector<LargeValue> large);
    ~DiskLeaf();
    DiskLeaf(const DiskLeaf&) = delete;
    DiskLeaf& operator=(const DiskLeaf&) = delete;

    /// Somebody who waits, in a list.
    struct Waiting {
        sync::WaitToken token;
        Waiting* next = nullptr;
    };
    enum class Join : uint8_t {
        kFirst,   // the caller has to see to the reading
        kLater,   // somebody reads already
        kOver,    // the leaf is back, or was
        kFailed,  // see failure()
    };
    /// REQUIRES: an open slice. kFirst, kLater: `*token` is completed when reading has ended.
    Join join(sync::WaitToken* token);
    /// For who reads by himself. True: he is first, and nobody waits yet; else he may join().
    /// REQUIRES: an open slice.
    bool begin();
    /// For the one who was first: no more waiters. Returns those there are, for wake(), or null.
    Waiting* close(Status outcome);
    /// Outside every slice.
    static void wake(Waiting* waiting);
    /// Ok, or why it has been given up.
    Status failure() const;

    const uint32_t entries;
    const uint32_t bytes;  // what they count for; 0 if there are any: not known yet
    /// In the order of their keys.
    std::span<const LargeValue> largeValues() const {
        return largeValues_ == nullptr ? std::span<const LargeValue>() : *largeValues_;
    }

private:
    using LargeValues = std::vector<LargeValue>;
    static std::unique_ptr<const LargeValues> kept(LargeValues values);
    size_t weight() const;

    const std::unique_ptr<const LargeValues> largeValues_;  // null: none

    static constexpr uintptr_t kOpen = 0;
    static constexpr uintptr_t kLoaded = 1;
    static constexpr uintptr_t kGivenUp = 2;
    static constexpr uintptr_t kBegun = 3;  // somebody reads, and nobody waits

    /// REQUIRES: the word is not that of a leaf that is closed.
    static Waiting* listOf(uintptr_t word);

    ///   WORD     kOpen, kBegun, Waiting*, kLoaded or kGivenUp
    ///   STEPS    kOpen -> kBegun [load.begin] or not -> a list that grows in front [load.join]
    ///            or not -> closed, for good [load.close]
    ///   RECLAIM  the nodes belong to whoever closes the list
    ///   ABA      a list is only taken whole
    sync::Atomic<uintptr_t> waiting_{kOpen};
    Status failure_;  // set before [load.close]
};

}  // namespace freshet::engine
