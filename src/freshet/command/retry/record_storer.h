// SPDX-License-Identifier: Apache-2.0
/// RecordStorer: stores the records of sessions in config.transactions: whenever a checkpoint
/// begins, so that the log before it can go; when they take much memory; and at the server's end. A
/// thread of its own.
#pragma once

#include "freshet/command/retry/session_documents.h"
#include "freshet/command/retry/session_records.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/task.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

namespace freshet::command {

struct Invocation;

/// Stores all records that are not stored; run it like a WriteOp.
class StoreRecords {
public:
    /// `waitsForOthers`: also until what other threads are storing is stored.
    StoreRecords(catalog::Catalog& catalog, SessionRecords& records, bool waitsForOthers)
        : catalog_(catalog), records_(records), waitsForOthers_(waitsForOthers) {}
    /// Only that session's.
    StoreRecords(catalog::Catalog& catalog, SessionRecords& records, const std::string& session);
    ~StoreRecords() { giveBack(); }
    StoreRecords(const StoreRecords&) = delete;
    StoreRecords& operator=(const StoreRecords&) = delete;

    Status run();
    const sync::WaitToken& token() const { return store_.has_value() ? store_->token() : token_; }

private:
    void startBatch();
    Status endBatch(Status status);
    /// What was taken and is not stored.
    void giveBack();

    catalog::Catalog& catalog_;
    SessionRecords& records_;
    const bool waitsForOthers_ = false;
    size_t shard_ = 0;
    bool hasOthers_ = false;
    std::vector<SessionRecords::ToStore> taken_;
    size_t begin_ = 0;  // of taken_: the batch that is being stored, ...
    size_t end_ = 0;    // ... and those behind it
    std::optional<StoreSessionDocuments> store_;
    sync::WaitToken token_;
};

class RecordStorer {
public:
    /// Merges the records that were replayed with what is stored. Blocks. Both outlive it.
    RecordStorer(catalog::Catalog& catalog, SessionRecords& records);
    /// Stores what is left, as far as the store accepts it. REQUIRES: no command uses a record.
    ~RecordStorer();
    RecordStorer(const RecordStorer&) = delete;
    RecordStorer& operator=(const RecordStorer&) = delete;

private:
    void mergeReplayed();
    void run();
    Status storeAll();

    catalog::Catalog& catalog_;
    SessionRecords& records_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool isCalled_ = false;    // guarded by mutex_
    bool isStopping_ = false;  // guarded by mutex_
    platform::Thread thread_;
};

/// The record of the command's session. REQUIRES: its turn.
sync::Task<StatusOr<SessionRecords::Use>> useRecord(Invocation& call);
/// Whether the transaction of the command's number was committed. REQUIRES: as above.
sync::Task<StatusOr<bool>> wasCommitted(Invocation& call);
/// Stores the record of the command's session, if it is not being stored already.
sync::Task<void> storeRecord(Invocation& call);
/// Before a command on the database config: config.transactions shows all records, and what the
/// command changes there counts.
sync::Task<void> showRecords(Invocation& call);

}  // namespace freshet::command
