// SPDX-License-Identifier: Apache-2.0
/// RetryableWrite: a write command that carries a transaction number is done once, however often
/// its driver sends it. That a statement is done is an event of its own commit: after a crash the
/// log has both, or neither. One command; belongs to its executor.
#pragma once

#include "freshet/command/retry/done_statements.h"
#include "freshet/command/retry/record_storer.h"
#include "freshet/command/retry/session_turns.h"
#include "freshet/command/run/invocation.h"

#include <memory>
#include <optional>
#include <vector>

namespace freshet::command {

class RetryableWrite final : public query::Companion {
public:
    /// Whether writes to the database are. Those to kSessionsDb are done as often as they come:
    /// what removes a record must not depend on it.
    static bool isRecorded(std::string_view db) { return db != kSessionsDb; }
    /// Whether the command is such a write.
    static bool isMeant(const Invocation& call);
    explicit RetryableWrite(Invocation& call);

    /// `statements`: how many the command has. Takes the session's turn and reads which are done.
    /// kInvalid (kTransactionTooOld) when a newer number has been used.
    sync::Task<Status> begin(size_t statements);
    /// The result of statement `i` of the command if it was done before; null: it has to be done.
    std::optional<query::WriteResult> earlier(size_t i);
    /// Statement `i` is about to be tried.
    void prepare(size_t i);
    Status write(engine::Txn& txn,
                 const query::WriteResult& result,
                 sync::WaitToken* token) override;
    /// The statement's commit may have begun: its end must be awaited, since afterwards it has to
    /// be known whether it is done.
    bool isCommitting() const { return isCommitting_; }
    /// The try has ended. `result`: null if it has failed. True: storeRecord() must follow.
    bool ended(const query::WriteResult* result);
    /// retriedStmtIds.
    void addTo(bson::Builder* reply) const;

private:
    Status readStatementIds(size_t statements);
    sync::Task<Status> readEarlier();
    Status endOlderTransaction();
    /// The error for a number that a transaction has.
    Status isTransaction() const;
    int32_t idOf(size_t i) const {
        return ids_.empty() ? firstId_ + static_cast<int32_t>(i) : ids_[i];
    }

    Invocation& call_;
    const int64_t txnNumber_;
    SessionTurns::Held turn_;
    int32_t firstId_ = 0;         // of the statements, which are numbered from it unless ...
    std::vector<int32_t> ids_;    // ... each has a number of its own
    SessionRecords::Use record_;  // behind turn_, so that it ends before
    EarlierStatements earlier_;   // under this number
    std::vector<int32_t> retried_;

    // For the current try.
    int32_t statement_ = 0;
    bool isCommitting_ = false;
};

/// Null when the command is no such write. `statements`: how many it has. An error ends it.
sync::Task<StatusOr<std::unique_ptr<RetryableWrite>>> beginRetryable(Invocation& call,
                                                                     size_t statements);

}  // namespace freshet::command
