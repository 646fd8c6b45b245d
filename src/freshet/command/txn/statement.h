// SPDX-License-Identifier: Apache-2.0
/// A command as a statement of a multi-document transaction (autocommit: false): what it may be,
/// how it gets the transaction, and what becomes of the transaction when it fails. Belongs to the
/// connection's executor.
#pragma once

#include "freshet/command/run/invocation.h"

namespace freshet::command {

/// kOperationNotSupportedInTransaction, kInvalidOptions: the command cannot be a statement of a
/// transaction. REQUIRES: generic.isInTransaction.
Status checkStatement(const Command& command,
                      const GenericArguments& generic,
                      const BodyIndex& body);

/// kOperationNotSupportedInTransaction: the database holds the server's own data.
Status checkDatabaseInTransaction(std::string_view db);

/// Ok if the session's newest transaction is the one of that number, and in progress.
/// kNoSuchTransaction, kTransactionCommitted otherwise.
Status checkState(int64_t number, const Transactions::Known& known);

/// kTransactionCommitted if the session's document says that the transaction of the command's
/// number was committed, by an earlier run of the server; else `unknown`, the error of
/// checkState().
sync::Task<Status> unlessCommittedBefore(Invocation& call, Status unknown);

/// kWriteConflict with the text that applications know.
Status writeConflict();

/// Runs `statement`, the command's handler, in the session's transaction, which it starts if the
/// command says so. An error aborts the transaction.
sync::Task<Status> runInTransaction(Invocation& call, sync::Task<Status> statement);

/// Aborts the session's transaction, if one is in progress, and ends its cursors. REQUIRES: the
/// session's turn.
void abortTransaction(Services& services, const std::string& session);
/// Ends the cursors of transactions that other threads have aborted.
void endCursorsOf(Services& services, const std::vector<Transactions::Aborted>& aborted);

}  // namespace freshet::command
