// SPDX-License-Identifier: Apache-2.0
/// A leaf that is not in memory: its fences and its right neighbour, so that the tree's structure
/// is complete without it, the places of its large values, and the threads that wait until it has
/// been read. Most leaves are on disk, so each byte counts.
#pragma once

#include "freshet/base/status.h"
#include "freshet/block/block_file.h"
#include "freshet/engine/memory/memory_count.h"
#include "freshet/engine/node/node.h"
#include "freshet/sync/wait_token.h"

#include <memory>
#include <span>
#include <vector>

namespace freshet::engine {

/// Stands in a page's word from the CAS that evicts the leaf to the one that brings it back
/// [entry.install]; as with any node, the slice of the thread that installed it and the epochs
/// guard it. If its image cannot be read the leaf is given up until the store is opened again.
class DiskLeaf final : public Node {
public:
    struct LargeValue {
        PageId page = 0;
        block::PagePlace place;
    };

    /// For `leaf`, whose image has `entryCount` entries within the leaf's fences. They count for
    /// `entryBytes` in a page's size.
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

    /// A waiting thread, in a list.
    struct Waiting {
        sync::WaitToken token;
        Waiting* next = nullptr;
    };
    enum class Join : uint8_t {
        kFirst,   // the caller has to read the leaf, or have it read
        kLater,   // another thread reads it already
        kOver,    // the leaf is in memory again, or was
        kFailed,  // see failure()
    };
    /// REQUIRES: an open slice. kFirst, kLater: `*token` is completed when reading has ended.
    Join join(sync::WaitToken* token);
    /// For a thread that reads the leaf itself. True: it is the first, and no thread waits yet;
    /// else it may join(). REQUIRES: an open slice.
    bool begin();
    /// For the thread that was first: accepts no more waiters. Returns the list of those that wait,
    /// for wake(); null: none.
    Waiting* close(Status outcome);
    /// Outside every slice.
    static void wake(Waiting* waiting);
    /// Ok, or why it has been given up.
    Status failure() const;

    const uint32_t entries;
    const uint32_t bytes;  // what they count for; 0 although there are entries: not known yet
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
    static constexpr uintptr_t kBegun = 3;  // a thread reads it, and none waits

    /// REQUIRES: the word is not that of a leaf that is closed.
    static Waiting* listOf(uintptr_t word);

    ///   WORD     kOpen, kBegun, Waiting*, kLoaded or kGivenUp
    ///   STEPS    kOpen -> kBegun [load.begin] or not -> a list that grows in front [load.join]
    ///            or not -> closed, for good [load.close]
    ///   RECLAIM  the nodes belong to the thread that closes the list
    ///   ABA      a list is only taken as a whole
    sync::Atomic<uintptr_t> waiting_{kOpen};
    Status failure_;  // set before [load.close]
};

}  // namespace freshet::engine
