// SPDX-License-Identifier: Apache-2.0
/// What one transaction has written: its versions in the trees, its commit record, its entry in the
/// transaction table. It can outlive its Txn: once a part of the record is in the journal, the
/// commit has to be carried to its end.
#pragma once

#include "freshet/engine/tree/object_memory.h"
#include "freshet/engine/txn/commit_record.h"
#include "freshet/engine/txn/commit_steps.h"
#include "freshet/engine/txn/store_core.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace freshet::engine {

/// Makes the versions' stamps final and gives the entry back. REQUIRES: the outcome was decided in
/// the present slice, which therefore protects a version that somebody else retires meanwhile.
void settle(TxnTable& table, uint64_t stamp, std::span<Version* const> versions, uint64_t final);

class WriteSet {
public:
    /// A record may grow to this; a transaction beyond it gets kLimit.
    static constexpr size_t kRecordBytesMax = 64u << 20;

    WriteSet(std::shared_ptr<StoreCore> core, uint64_t stamp)
        : core_(std::move(core)), stamp_(stamp) {}
    ~WriteSet();
    WriteSet(const WriteSet&) = delete;
    WriteSet& operator=(const WriteSet&) = delete;
    static void* operator new(size_t bytes) { return takeObjectMemory(bytes); }
    static void operator delete(void* memory, size_t bytes) { giveObjectMemory(memory, bytes); }

    uint64_t stamp() const { return stamp_; }
    size_t recordBytes() const { return record_.bytes() + unloggedBytes_; }
    bool empty() const { return versions_.empty(); }
    void add(Tree& tree, Version* version, ByteView key, ByteView value);

    /// As Txn::commit. After an error the set is aborted.
    Status commit(sync::WaitToken* token);
    /// REQUIRES: not mustFinish(), not committed.
    void abort();
    /// A part of the record is in the journal.
    bool mustFinish() const { return append_ && append_->started() && !settled_; }
    bool settled() const { return settled_; }
    /// REQUIRES: committed, with a journal.
    journal::Lsn lsn() const { return append_->lsn(); }

private:
    /// It is committed; the same slice as [entry.commit].
    void settleAt(uint64_t ts);

    const std::shared_ptr<StoreCore> core_;
    const uint64_t stamp_;
    std::vector<Version*, ObjectAllocator<Version*>> versions_;
    std::vector<TreeRef, ObjectAllocator<TreeRef>> trees_;  // keep the versions' trees alive
    CommitRecordWriter record_;
    size_t unloggedBytes_ = 0;  // of keys and values that no record has
    std::optional<CommitSteps> steps_;
    std::optional<journal::AppendOp> append_;
    bool appended_ = false;
    bool grows_ = false;  // it asks for more room than it gives back
    bool settled_ = false;
};

/// Carries the commit of a Txn that has gone to its end: at once on a plain thread, on a reactor by
/// and by.
void finishOrphan(std::unique_ptr<WriteSet> writes);

}  // namespace freshet::engine
