// SPDX-License-Identifier: Apache-2.0
/// What a page tree needs from its surroundings. The store gives it epochs; a model check gives it
/// a reclaimer of its own.
#pragma once

#include "freshet/engine/commits/txn_table.h"
#include "freshet/engine/node/tree_limits.h"
#include "freshet/engine/page/page_id.h"
#include "freshet/engine/value/freed_values.h"
#include "freshet/platform/slabs.h"

#include <cstddef>
#include <cstdint>

namespace freshet::engine {

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
    /// Where large values are allocated; null: with the general allocator. Constant from opening
    /// on.
    platform::Slabs* slabs = nullptr;
    /// [page.number] relaxed: only a number.
    sync::Atomic<PageId> nextPageId{kFirstPageId};
    FreedValues freedValues;
    /// Statistics; relaxed sums.
    sync::Atomic<uint64_t> rebuilds{0};
    sync::Atomic<uint64_t> splits{0};
    sync::Atomic<uint64_t> pages{0};
    sync::Atomic<uint64_t> dirtyPages{0};  // pages with a mark that no scan has taken; also a hint
};

}  // namespace freshet::engine
