// SPDX-License-Identifier: Apache-2.0
/// The inside of a Txn, as the cursor sees it too.
#pragma once

#include "freshet/engine/store.h"
#include "freshet/engine/txn/store_core.h"
#include "freshet/engine/txn/write_set.h"
#include "freshet/sync/task_frames.h"

#include <memory>
#include <optional>
#include <string>

namespace freshet::engine {

struct Txn::Impl {
    enum class State : uint8_t { kOpen, kCommitting, kCommitted, kAborted };

    Impl(const std::shared_ptr<StoreCore>& storeCore, OnConflict conflictRule, Waits waitRule)
        : core(storeCore), onConflict(conflictRule), waits(waitRule) {}

    // A read by key begins and ends one: memory that its thread used before.
    static void* operator new(size_t bytes) { return sync::allocateFrame(bytes); }
    static void operator delete(void* memory, size_t bytes) { sync::freeFrame(memory, bytes); }

    View view() const { return {pin.ts, writes.stamp()}; }
    Status read(Tree& tree, ByteView key, LeafHint hint, ValueRef* value);
    Status write(Tree& tree, WriteKind kind, ByteView key, ByteView value);
    /// REQUIRES: the writes are in hand.
    Status writeInHand(Tree& tree, WriteKind kind, ByteView key, ByteView value);
    Status conflictWith(const WriteResult& result);
    /// REQUIRES: inside a slice, in which alone a no is good. Whether the snapshot must not be read
    /// by any more.
    bool hasEnded() const { return core->epochs.hasEnded(pin.ts); }
    /// The answer to a call then.
    static Status snapshotTooOld();
    /// To be asked after reading, in the same slice: whether another has ended the transaction, so
    /// that what was read may lack its own writes.
    bool wereWritesEnded() const { return writes.wereEnded(core->table); }
    /// The answer to a call then.
    static Status endedByAnother();
    /// The answer to a call that met a fault. `generation`: the tree's hintGeneration() from before
    /// it was met, if the next call may go on from there.
    Status want(Tree& tree, const Fault& fault, std::optional<uint32_t> generation = {});
    void unpin();
    /// At the end of a call that has written: others may end it from here on, and with it its
    /// snapshot.
    void layDown();
    /// Ends what is open, without asking.
    void drop();
    void dropWrites();

    /// The store's own: a count that all cores share would cost a read more than its search.
    const std::shared_ptr<StoreCore>& core;
    const OnConflict onConflict;
    const Waits waits;
    State state = State::kAborted;
    sync::SnapshotPin pin;
    sync::Participant* pinner = nullptr;  // whose pin it is while linked
    OwnWrites writes;
    sync::WaitToken token;
    bool hasWaitedForMemory = false;  // with the last call
    /// Where the leaf begins that the last call missed, if await() is to read it: its page may go
    /// until then.
    struct Missing {
        TreeRef tree;  // null: nothing
        std::string low;
    };
    Missing missing;
    /// What the last read has missed, for the next one, which is likely to want it.
    struct Missed {
        std::weak_ptr<Tree> tree;
        LeafHint at;
    };
    Missed missed;
    /// Not where it is called: a read that misses nothing is to stay small.
    [[gnu::noinline]] LeafHint takeMissed(const Tree& tree);
    /// Changes with every write and begin(): what a cursor read ahead is then out of date.
    uint64_t serial = 0;
};

}  // namespace freshet::engine
