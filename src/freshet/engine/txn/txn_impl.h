// SPDX-License-Identifier: Apache-2.0
/// The implementation of Txn, shared with the cursor.
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
    enum class State : uint8_t { kOpen, kPaused, kCommitting, kCommitted, kAborted };

    Impl(const std::shared_ptr<StoreCore>& storeCore, OnConflict conflictRule, Waits waitRule)
        : core(storeCore), onConflict(conflictRule), waits(waitRule) {}

    // A read by key creates and destroys one: use memory that its thread has used before.
    static void* operator new(size_t bytes) { return sync::allocateFrame(bytes); }
    static void operator delete(void* memory, size_t bytes) { sync::freeFrame(memory, bytes); }

    View view() const { return {pin.ts, writes.stamp(), late.get()}; }
    Status read(Tree& tree, ByteView key, LeafHint hint, ValueRef* value);
    Status write(Tree& tree, WriteKind kind, ByteView key, ByteView value);
    /// Makes a write set if there is none, for more in it. REQUIRES: as writeActive().
    Status openWrites(sync::Slice& slice);
    /// Calls change(write set) between resuming and suspending it.
    template <typename Change>
    Status changeWrites(Change change);
    /// REQUIRES: the write set is not suspended.
    Status writeActive(Tree& tree, WriteKind kind, ByteView key, ByteView value);
    Status conflictWith(const WriteResult& result);
    /// Whether the snapshot must not be used for reading any more. REQUIRES: inside a slice; false
    /// holds only until the slice ends.
    bool hasEnded() const { return core->epochs.hasEnded(pin.ts); }
    /// The answer to a call in that case.
    static Status snapshotTooOld();
    /// Whether the transaction was ended from outside, so that what was read may lack its own
    /// writes. To be asked after reading, in the same slice.
    bool wereWritesEnded() const { return writes.wereEnded(core->table); }
    /// The answer to a call in that case.
    static Status endedByAnother();
    /// The answer to a call that met a fault. `generation`: the tree's hintGeneration(), read
    /// before the fault was met, if the next call may continue from there.
    Status want(Tree& tree, const Fault& fault, std::optional<uint32_t> generation = {});
    void unpin();
    /// Pins the snapshot pin.ts, which is one of the past. An error leaves it unpinned, and the
    /// transaction aborted.
    Status pinPast(sync::Slice& slice);
    /// At the end of a call that has written: from here on another thread may end the writes, and
    /// with them the snapshot.
    void suspend();
    /// Ends what is open, unconditionally.
    void drop();
    void dropWrites();

    /// The store's own pointer: with a reference count that all cores share, counting would cost a
    /// read more than its search.
    const std::shared_ptr<StoreCore>& core;
    const OnConflict onConflict;
    const Waits waits;
    State state = State::kAborted;
    sync::SnapshotPin pin;
    std::shared_ptr<const LateCommits> late;  // of beginAt(); usually null
    OwnWrites writes;
    sync::WaitToken token;
    bool hasWaitedForMemory = false;  // in the last call
    /// Where the leaf begins that the last call missed, if await() is to read it. By key, because
    /// its page may be freed before await().
    struct Missing {
        TreeRef tree;  // null: nothing
        std::string low;
    };
    Missing missing;
    /// What the last read missed: the next call is likely to read it.
    struct Missed {
        std::weak_ptr<Tree> tree;
        LeafHint at;
    };
    Missed missed;
    /// Not inlined: a read that misses nothing should stay small.
    [[gnu::noinline]] LeafHint takeMissed(const Tree& tree);
    /// Changes with every write and begin(): invalidates what a cursor has read ahead.
    uint64_t serial = 0;
};

}  // namespace freshet::engine
