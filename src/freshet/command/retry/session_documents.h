// SPDX-License-Identifier: Apache-2.0
/// Session documents: what config.transactions says of a session's newest transaction number, for
/// retryable writes (DoneStatements) and for transactions, which add {state: "committed"}. Belongs
/// to the connection's executor.
#pragma once

#include "freshet/catalog/documents.h"
#include "freshet/catalog/gate.h"
#include "freshet/command/run/invocation.h"

#include <optional>
#include <string>
#include <vector>

namespace freshet::command {

inline constexpr const char* kSessionsDb = "config";
inline constexpr const char* kSessionsCollection = "transactions";

/// An index on a date, for collections about sessions: documents expire so long after it.
catalog::IndexRequest expiryIndex(std::string_view field, std::string name, int32_t seconds);

/// Reads one document of config.transactions by its _id.
sync::Task<Status> readSessionDocument(Invocation& call,
                                       const bson::OwnedDocument& id,
                                       std::optional<bson::OwnedDocument>* found);
/// The newest number that the session's document has; -1: none.
sync::Task<StatusOr<int64_t>> readNewestNumber(Invocation& call);
/// Whether the document says that the transaction of the command's number was committed.
sync::Task<StatusOr<bool>> readWasCommitted(Invocation& call);

/// Writes documents of config.transactions in another transaction, as its last writes. It stays
/// inside the collection's gate from the first write until end(), which comes after the commit.
class SessionDocumentWriter {
public:
    explicit SessionDocumentWriter(Invocation& call) : call_(call) {}
    /// Makes the collection if it is missing. To be called before each transaction.
    sync::Task<Status> prepare();
    /// Writes the documents that `make` returns; it is called once in each transaction. Called
    /// again after WouldBlock, when *token is set; after an error, prepare() comes first. `store`:
    /// as for DocumentWriter.
    template <typename Make>
    Status write(engine::Txn& txn, engine::Store* store, sync::WaitToken* token, Make make) {
        FRESHET_RETURN_IF_ERROR(enter(token));
        if (!writer_.has_value()) {
            FRESHET_ASSIGN_OR_RETURN(pending_, make());
            written_ = 0;
            writer_.emplace(txn, collection_, store);
        }
        return put(token);
    }
    /// Writes that the transaction of the command's number is committed.
    Status writeCommitted(engine::Txn& txn, sync::WaitToken* token);
    void end();

private:
    Status enter(sync::WaitToken* token);
    Status put(sync::WaitToken* token);

    Invocation& call_;
    catalog::CollectionRef collection_;
    std::vector<bson::OwnedDocument> pending_;
    size_t written_ = 0;  // of pending_
    catalog::GatePass pass_;
    std::optional<catalog::DocumentWriter> writer_;
};

}  // namespace freshet::command
