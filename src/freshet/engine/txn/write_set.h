// SPDX-License-Identifier: Apache-2.0
/// What one transaction has written: its versions in the trees, its commit record, its entry in the
/// transaction table. It can outlive its Txn: once a part of the record is in the journal, the
/// commit has to be completed. A write set that is large, or whose transaction has a time limit,
/// can also end before its Txn does: between its owner's calls it is suspended, and another thread
/// may take and end it when memory is short or the time is over (INV-engine-21).
#pragma once

#include "freshet/base/assert.h"
#include "freshet/engine/commits/commit_steps.h"
#include "freshet/engine/memory/object_memory.h"
#include "freshet/engine/txn/commit_record.h"
#include "freshet/engine/txn/store_core.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace freshet::engine {

/// Makes the versions' stamps final and gives the entry back. REQUIRES: the outcome was decided in
/// the present slice, which therefore protects versions that other threads retire meanwhile.
void settle(TxnTable& table, uint64_t stamp, std::span<Version* const> versions, uint64_t final);

class WriteSet : public SuspendedWrites {
public:
    /// From this size on it is suspended between calls, as is one with a time limit. Smaller
    /// transactions do not pay for that.
    static constexpr size_t kLargeBytes = 256u << 10;

    /// `endNanos`: when its time limit is; 0: it has none.
    WriteSet(std::shared_ptr<StoreCore> core, uint64_t stamp, uint64_t endNanos)
        : core_(std::move(core)),
          stamp_(stamp),
          endNanos_(endNanos),
          record_(core_->recordBytesMax) {}
    ~WriteSet();
    WriteSet(const WriteSet&) = delete;
    WriteSet& operator=(const WriteSet&) = delete;
    static void* operator new(size_t bytes) { return takeObjectMemory(bytes); }
    static void operator delete(void* memory, size_t bytes) { giveObjectMemory(memory, bytes); }

    uint64_t stamp() const { return stamp_; }
    size_t recordBytes() const { return record_.bytes() + unloggedBytes_; }
    bool isForOthersToEnd() const { return recordBytes() >= kLargeBytes || endNanos_ != 0; }
    void setEnd(uint64_t nanos) { endNanos_ = nanos; }
    void growDespiteShortage() { growsDespiteShortage_ = true; }
    bool empty() const { return versions_.empty() && !record_.hasEvents(); }
    void add(Tree& tree, Version* version, ByteView key, ByteView value);
    /// Without a journal nobody reads events: they are dropped.
    void addEvent(ByteView event);

    /// As Txn::commit(). After an error the set is aborted.
    Status commit(sync::WaitToken* token);
    /// REQUIRES: not mustFinish(), not committed.
    void abort();
    /// REQUIRES: commit() was not called. Nothing of it is touched until TxnTable::resume().
    void suspend();
    /// REQUIRES: TxnTable::endLargest() or endDueBefore() in the present slice.
    void settleAborted();
    /// What its end frees: versions, record and lists.
    size_t memoryBytes() const { return recordBytes() + besideBytes_; }
    /// A part of a record, or of the chain of records, is in the journal.
    bool mustFinish() const { return append_ && (first_ != 0 || append_->started()) && !settled_; }
    bool settled() const { return settled_; }
    /// REQUIRES: committed, with a journal.
    journal::Lsn lsn() const { return append_->lsn(); }

private:
    /// Appends the record, or the chain of records. To be repeated while it would block.
    Status appendAll();
    /// It is committed. Called in the same slice as [entry.commit].
    void settleAt(uint64_t ts);

    const std::shared_ptr<StoreCore> core_;
    const uint64_t stamp_;
    uint64_t endNanos_;
    std::vector<Version*, ObjectAllocator<Version*>> versions_;
    std::vector<TreeRef, ObjectAllocator<TreeRef>> trees_;  // keep the versions' trees alive
    CommitRecordWriter record_;
    size_t unloggedBytes_ = 0;  // of keys and values that are in no record
    size_t besideBytes_ = 0;    // of record and lists, as far as they count under the ceiling
    std::optional<CommitSteps> steps_;
    std::optional<journal::AppendOp> append_;
    journal::Lsn first_ = 0;  // of a chain of records, once its first one is appended
    bool appended_ = false;
    bool grows_ = false;  // it needs more room than it frees
    bool growsDespiteShortage_ = false;
    bool settled_ = false;
};

/// Ends the largest write set that has been suspended since before `suspendedBeforeNanos`, if all
/// of these together have `togetherMin` bytes. Its versions then count as never made; the next
/// folds of their leaves free them. Returns the bytes it had; 0: none was ended. Any thread.
uint64_t endLargestWrites(StoreCore& core, uint64_t suspendedBeforeNanos, uint64_t togetherMin);
/// Ends one whose time limit was before `nanos`. False: none was ended.
bool endWritesDueBefore(StoreCore& core, uint64_t nanos);

/// A Txn's hold on its write set.
class OwnWrites {
public:
    OwnWrites() = default;
    /// REQUIRES: resume() was false, or the set is settled or handed on.
    ~OwnWrites() { dcheck(!isSuspended_ || !set_); }
    OwnWrites(const OwnWrites&) = delete;
    OwnWrites& operator=(const OwnWrites&) = delete;

    /// The stamp of its versions, for reads; 0: there is no write set. Remains after the end.
    uint64_t stamp() const { return stamp_; }
    bool isEmpty() const { return isSuspended_ ? wasEmpty_ : !set_ || set_->empty(); }
    /// There is none, or it is committed, aborted, handed on, or known to have been ended.
    bool areOver() const { return !set_ || (!isSuspended_ && set_->settled()); }
    /// To be asked after reading, in the same slice: if true, what was read may lack own writes.
    bool wereEnded(const TxnTable& table) const { return isSuspended_ && !table.isOpen(stamp_); }
    /// Before each use of get(). False: they were ended, for good.
    bool resume(TxnTable& table) { return !isSuspended_ || resumeSuspended(table); }
    /// REQUIRES: not suspended.
    bool areForOthersToEnd() const { return set_ && set_->isForOthersToEnd(); }
    /// The Txn's call is over, and it is neither committing nor at its end. REQUIRES:
    /// areForOthersToEnd().
    void suspend() {
        isSuspended_ = true;
        wasEmpty_ = set_->empty();
        set_->suspend();
    }
    /// REQUIRES: not suspended. Null: there is none.
    WriteSet* get() const {
        dcheck(!isSuspended_);
        return set_.get();
    }
    void open(const std::shared_ptr<StoreCore>& core, uint64_t stamp, uint64_t endNanos) {
        set_ = std::make_unique<WriteSet>(core, stamp, endNanos);
        stamp_ = stamp;
    }
    std::unique_ptr<WriteSet> handOn() { return std::move(set_); }
    /// REQUIRES: as for the destructor.
    void reset() {
        if (stamp_ != 0) {
            set_.reset();
            stamp_ = 0;
            isSuspended_ = false;
        }
    }

private:
    bool resumeSuspended(TxnTable& table);

    std::unique_ptr<WriteSet> set_;  // belongs to no thread while it is suspended
    uint64_t stamp_ = 0;
    bool isSuspended_ = false;
    bool wasEmpty_ = false;  // when it was last suspended
};

/// Completes the commit of a Txn that has ended: at once on a plain thread, step by step on a
/// reactor.
void finishOrphan(std::unique_ptr<WriteSet> writes);

}  // namespace freshet::engine
