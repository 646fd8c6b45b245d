// SPDX-License-Identifier: Apache-2.0
/// RetryableWrite: a write command that carries a transaction number is done once, however often
/// its driver sends it. Which statements are done is written to config.transactions in the same
/// transactions as the documents themselves: after a crash both exist, or neither. One command;
/// belongs to its executor.
#pragma once

#include "freshet/command/retry/done_statements.h"
#include "freshet/command/retry/session_documents.h"
#include "freshet/command/retry/session_turns.h"
#include "freshet/command/run/invocation.h"

#include <memory>
#include <optional>
#include <vector>

namespace freshet::command {

class RetryableWrite final : public query::Companion {
public:
    /// Whether writes to the database are. Those to kSessionsDb are done as often as they come,
    /// because a transaction there must not wait for the gate of another collection.
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
    sync::Task<Status> prepare(size_t i);
    Status write(engine::Txn& txn,
                 const query::WriteResult& result,
                 sync::WaitToken* token) override;
    /// The try has ended.
    void ended(bool isCommitted);
    /// retriedStmtIds.
    void addTo(bson::Builder* reply) const;

private:
    Status readStatementIds(size_t statements);
    Status endOlderTransaction();
    /// The error for a number that a transaction has.
    Status isTransaction() const;
    /// The documents that are written with statement_.
    std::vector<bson::OwnedDocument> compose(const query::WriteResult& result);
    int32_t idOf(size_t i) const {
        return ids_.empty() ? firstId_ + static_cast<int32_t>(i) : ids_[i];
    }

    Invocation& call_;
    const int64_t txnNumber_;
    SessionTurns::Held turn_;
    int32_t firstId_ = 0;       // of the statements, which are numbered from it unless ...
    std::vector<int32_t> ids_;  // ... each has a number of its own
    DoneStatements done_;
    EarlierStatements earlier_;  // under this number
    std::vector<int32_t> retried_;
    SessionDocumentWriter documents_;

    // For the current try.
    int32_t statement_ = 0;
    std::optional<DoneStatements> next_;  // done_ with the statement added, for when it commits
};

/// Null when the command is no such write. `statements`: how many it has. An error ends it.
sync::Task<StatusOr<std::unique_ptr<RetryableWrite>>> beginRetryable(Invocation& call,
                                                                     size_t statements);

}  // namespace freshet::command
