// SPDX-License-Identifier: Apache-2.0
/// What a page tree needs from around it. The store gives it epochs; a model check gives it a
/// reclaimer of its own.
#pragma once

#include "freshet/engine/commits/txn_table.h"
#include "freshet/engine/value/freed_values.h"
#include "freshet/platform/slabs.h"

#include <cstddef>
#include <cstdint>

namespace freshet::engine {

/// Sizes at which pages change shape. Small in model checks.
struct TreeLimits {
    uint32_t deltaKeysMax = 256;         // rebuild a leaf at so many changed keys
    uint32_t deltaBytesMax = 32 * 1024;  // or so many bytes of changes
    uint32_t leafBytesMax = 12 * 1024;   // a leaf above this is split
    /// The same of one that is stored compressed, and in proportion the next: what counts is how
    /// much of the disk a miss reads.
    uint32_t packedLeafBytesMax = 32 * 1024;
    /// Two neighbours that are not more together become one: less than the halves of a split have,
    /// and than two leaves that were split off because keys were appended. 0: none do.
    /// As much as two on disk are taken for that have a block each.
    uint32_t joinedBytesMax = leafBytesMax / 3 * 2;
    uint32_t innerBytesMax = 16 * 1024;  // an inner node above this is split
    uint32_t bucketsMax = 128;
    /// A leaf whose last keys are so many record ids in a row has cells for the next ones. 0: none.
    uint32_t denseKeysMin = 16;
    uint32_t sharedValueBytesMin = 1024;  // values from here on live in a ValueBuffer
    uint32_t trimDepthMin = 16;           // chains are trimmed at this depth and its doubles
};

class TreeEnv {
public:
    TreeEnv(TxnTable* table, const TreeLimits& treeLimits) : txns(*table), limits(treeLimits) {}
    virtual ~TreeEnv() = default;
    /// E1: every snapshot in use, now or later, is >= the result.
    virtual uint64_t minReadTs() = 0;
    /// REQUIRES: the caller is inside a slice. As sync::Participant::retire.
    virtual void retire(void* object, void (*free)(void*), size_t bytes) = 0;
    /// The same for a page's node (variants/page_hold.h).
    virtual void retireNode(void* node, void (*free)(void*), size_t bytes) {
        retire(node, free, bytes);
    }
    /// Every commit that is not complete when this is called has, or will have, an LSN >= the
    /// result. Never 0.
    virtual uint64_t commitLow() = 0;

    TxnTable& txns;
    const TreeLimits limits;
    /// Where large values lie; null: in the allocator's memory. Constant from opening on.
    platform::Slabs* slabs = nullptr;
    /// [page.number] relaxed: a mere number.
    sync::Atomic<PageId> nextPageId{kFirstPageId};
    FreedValues freedValues;
    /// Statistics; relaxed sums.
    sync::Atomic<uint64_t> rebuilds{0};
    sync::Atomic<uint64_t> splits{0};
    sync::Atomic<uint64_t> pages{0};
    sync::Atomic<uint64_t> dirtyPages{0};  // with a mark that no scan has taken; also a hint
};

}  // namespace freshet::engine
