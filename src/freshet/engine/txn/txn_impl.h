// SPDX-License-Identifier: Apache-2.0
/// The inside of a Txn, as the cursor sees it too.
#pragma once

#include "freshet/engine/store.h"
#include "freshet/engine/txn/store_core.h"
#include "freshet/engine/txn/write_set.h"
#include "freshet/sync/task_frames.h"

#include <memory>
#include <string>

namespace freshet::engine {

struct Txn::Impl {
    enum class State : uint8_t { kOpen, kCommitting, kCommitted, kAborted };

    Impl(const std::shared_ptr<StoreCore>& storeCore, OnConflict conflictRule, Waits waitRule)
        : core(storeCore), onConflict(conflictRule), waits(waitRule) {}

    // A read by key begins and ends one: memory that its thread used before.
    static void* operator new(size_t bytes) { return sync::allocateFrame(bytes); }
    static void operator delete(void* memory, size_t bytes) { sync::freeFrame(memory, bytes); }

    View view() const { return {pin.ts, writes ? writes->stamp() : 0}; }
    Status read(Tree& tree, ByteView key, LeafHint hint, ValueRef* value);
    Status write(Tree& tree, WriteKind kind, ByteView key, ByteView value);
    Status conflictWith(const WriteResult& result);
    /// REQUIRES: inside a slice, in which alone a no is good. Whether the snapshot must not be read
    /// by any more.
    bool hasEnded() const { return core->epochs.hasEnded(pin.ts); }
    /// The answer to a call then.
    static Status snapshotTooOld();
    /// The answer to a call that met a fault.
    Status want(Tree& tree, const Fault& fault);
    void unpin();
    /// Ends what is open, without asking.
    void drop();

    /// The store's own: a count that all cores share would cost a read more than its search.
    const std::shared_ptr<StoreCore>& core;
    const OnConflict onConflict;
    const Waits waits;
    State state = State::kAborted;
    sync::SnapshotPin pin;
    sync::Participant* pinner = nullptr;  // whose pin it is while linked
    std::unique_ptr<WriteSet> writes;     // null until the first write
    sync::WaitToken token;
    bool hasWaitedForMemory = false;  // with the last call
    /// Where the leaf begins that the last call missed, if await() is to read it: its page may go
    /// until then.
    struct Missing {
        TreeRef tree;  // null: nothing
        std::string low;
    };
    Missing missing;
    /// Changes with every write and begin(): what a cursor read ahead is then out of date.
    uint64_t serial = 0;
};

}  // namespace freshet::engine
