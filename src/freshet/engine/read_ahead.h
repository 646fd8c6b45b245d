// SPDX-License-Identifier: Apache-2.0
/// ReadAhead: asks the machine for the memory that reads of certain keys are about to need. A read
/// of data that is in no cache waits for some ten lines, one after the other; reads of different
/// keys do not depend on each other, so several go down their trees side by side here, each asking
/// for its next line and giving way to the others ("asynchronous memory access chaining":
/// Kocberber, Falsafi and Grot, VLDB 2015). Only a hint: there is no snapshot, and no result that
/// counts.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/engine/store.h"

namespace freshet::engine {

struct Node;
class KeyArray;
class PageTree;

/// One way down. REQUIRES: one slice, open from before begin() to the last use of value(); the tree
/// and the key's bytes stay as long. One thread.
class Probe {
public:
    void begin(Tree& tree, ByteView key);
    void begin(PageTree& pages, ByteView key);
    /// One step. False: it is over.
    bool step();
    /// Once over: the value that the page had when it was built, empty if there is none.
    ByteView value() const { return value_; }
    /// Once over, and after the slice too: asks for that half of the value's bytes, or of as many
    /// of them as are worth it. A half is what a core can wait for without being held up by asking.
    void askForFirstHalf() const;
    void askForSecondHalf() const;
    /// Once over: where it ended.
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
