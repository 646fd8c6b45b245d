// SPDX-License-Identifier: Apache-2.0
/// ReadAhead: prefetches the memory that reads of certain keys are about to need. A read of
/// uncached data waits for about ten cache lines, one after the other. Reads of different keys are
/// independent, so several descend their trees side by side here; each prefetches its next line and
/// yields to the others ("asynchronous memory access chaining": Kocberber, Falsafi and Grot, VLDB
/// 2015). Only a hint: there is no snapshot, and no result may be relied on.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/engine/store.h"

namespace freshet::engine {

struct Node;
class KeyArray;
class PageTree;

/// One descent. REQUIRES: one slice, open from before begin() to the last use of value(); the tree
/// and the key's bytes live as long. One thread.
class Probe {
public:
    void begin(Tree& tree, ByteView key);
    void begin(PageTree& pages, ByteView key);
    /// One step. False: the descent is over.
    bool step();
    /// When over: the value that the page had when it was built; empty if none.
    ByteView value() const { return value_; }
    /// When over, also after the slice: prefetches that half of the value's bytes, up to the number
    /// worth fetching. A half is what a core can have outstanding without stalling.
    void askForFirstHalf() const;
    void askForSecondHalf() const;
    /// When over: where the descent ended.
    LeafHint leaf() const { return {entry_, pos_, generation_}; }

private:
    enum class At : uint8_t { kEntry, kNode, kKeys, kStretch, kCell, kValue, kOver };
    void ask(PageEntry* entry);
    At enter();
    const KeyArray& keys() const;
    At goDown();
    At findCell();

    ByteView key_;
    PageEntry* entry_ = nullptr;
    const Node* node_ = nullptr;
    uint32_t generation_ = 0;
    uint32_t pos_ = 0;  // in node_: first of the stretch to search, then of what was found
    At at_ = At::kOver;
    ByteView value_;
};

}  // namespace freshet::engine
