// SPDX-License-Identifier: Apache-2.0
/// What insert, update and delete share: a list of statements run in order, each an operation of
/// query's, errors collected by index, one wait for durability at the end.
#pragma once

#include "freshet/command/retry/retryable_write.h"
#include "freshet/command/run/invocation.h"
#include "freshet/query/write.h"

#include <memory>
#include <string>

namespace freshet::command {

/// The statements of one command.
class Statements {
public:
    virtual ~Statements() = default;
    virtual size_t count() const = 0;
    /// True when statement `i` may add a document, so that the collection must exist.
    virtual bool createsCollection(size_t i) const = 0;
    /// Null when there is nothing to do: `collection` was null, and the statement was only checked.
    virtual StatusOr<std::unique_ptr<query::WriteOp>> make(size_t i,
                                                           catalog::CollectionRef collection) = 0;
    virtual void succeeded(size_t i, const query::WriteResult& result) = 0;
};

/// The collection that a statement writes to.
struct WriteTarget {
    std::string db;
    std::string collection;
};

/// The result of one statement.
struct Outcome {
    Status status;
    journal::Lsn lsn = 0;           // of its newest commit; 0: none
    bson::OwnedDocument errorInfo;  // {keyPattern, keyValue} and kin
};

/// Where the statements of a command go, and what becomes of their errors.
class StatementList {
public:
    virtual ~StatementList() = default;
    virtual const WriteTarget& target(size_t i) const = 0;
    /// An error of statement `i` alone. False: those after it are not run.
    virtual bool failed(size_t i, const Outcome& outcome) = 0;
};

/// Runs one statement, creating the collection when that is needed. Does not wait for durability.
/// `retry`: null when the command has no transaction number.
sync::Task<Outcome> runStatement(Invocation& call,
                                 const WriteTarget& target,
                                 size_t i,
                                 Statements& statements,
                                 RetryableWrite* retry);

/// The variables of a command's `let`; {} when it is absent. Errors go to `fields`.
bson::OwnedDocument letOf(Fields* fields);

/// bypassDocumentValidation and bypassEmptyTsReplacement.
query::WriteOptions writeOptionsOf(Fields* fields);

/// An error of that number if the command is a statement of a transaction and `ns` a system
/// collection.
Status checkWriteInTransaction(const Invocation& call, const std::string& ns, uint32_t code);

/// InvalidLength unless 1 <= count <= kWriteBatchMax.
Status checkBatchSize(size_t count);

/// Runs the statements one after the other and waits for durability. A status that is not ok is an
/// error of the whole command: what was written stays, unacknowledged. `retry`: as above.
sync::Task<Status> runEach(Invocation& call,
                           Statements& statements,
                           StatementList& list,
                           RetryableWrite* retry);

/// Runs statements on one collection and adds writeErrors to the reply if there are any. The
/// status is that of runEach().
sync::Task<Status> runStatements(Invocation& call,
                                 const std::string& collection,
                                 bool isOrdered,
                                 Statements& statements);

/// Creates the collection unless it exists.
sync::Task<Status> ensureCollection(Invocation& call, const WriteTarget& target);

}  // namespace freshet::command
