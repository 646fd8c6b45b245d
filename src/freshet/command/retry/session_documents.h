// SPDX-License-Identifier: Apache-2.0
/// Session documents: what config.transactions says of a session's newest transaction number
/// (done_statements.h). Each class is run like a WriteOp: by drive(), or blockOnAll().
#pragma once

#include "freshet/catalog/documents.h"
#include "freshet/catalog/gate.h"
#include "freshet/command/retry/done_statements.h"
#include "freshet/sync/wait_token.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace freshet::command {

inline constexpr const char* kSessionsDb = "config";
inline constexpr const char* kSessionsCollection = "transactions";

/// An index on a date, for collections about sessions: documents expire so long after it.
catalog::IndexRequest expiryIndex(std::string_view field, std::string name, int32_t seconds);

/// Reads one document of config.transactions by its _id.
class ReadSessionDocument {
public:
    ReadSessionDocument(catalog::Catalog& catalog, const bson::OwnedDocument& id);
    Status run();
    const sync::WaitToken& token() const { return txn_->token(); }
    /// After run(); null: there is none.
    const std::optional<bson::OwnedDocument>& found() const { return found_; }

private:
    engine::Store& store_;
    const catalog::CollectionRef collection_;
    bson::OwnedDocument holder_;
    std::optional<engine::Txn> txn_;
    std::optional<bson::OwnedDocument> found_;
};

/// Reads what is stored of a session.
class ReadSession {
public:
    ReadSession(catalog::Catalog& catalog, const std::string& session);
    Status run();
    const sync::WaitToken& token() const { return read_->token(); }
    /// After run().
    DoneStatements takeStored() { return std::move(stored_); }

private:
    DoneStatements stored_;
    std::optional<ReadSessionDocument> read_;
};

/// Reads the parts of a session that are stored.
class ReadParts {
public:
    /// `stored`: what was read of the session.
    ReadParts(catalog::Catalog& catalog, const DoneStatements& stored)
        : catalog_(catalog), stored_(stored) {}
    Status run();
    const sync::WaitToken& token() const { return read_->token(); }
    /// After run(): what the parts say.
    EarlierStatements takeFound() { return std::move(found_); }

private:
    catalog::Catalog& catalog_;
    const DoneStatements stored_;
    int32_t part_ = 0;
    std::optional<ReadSessionDocument> read_;
    EarlierStatements found_;
};

/// Stores documents in one transaction. Makes the collection if it is missing.
class StoreSessionDocuments {
public:
    StoreSessionDocuments(catalog::Catalog& catalog, std::vector<bson::OwnedDocument> documents)
        : catalog_(catalog), documents_(std::move(documents)) {}
    ~StoreSessionDocuments() { leave(); }
    StoreSessionDocuments(const StoreSessionDocuments&) = delete;
    StoreSessionDocuments& operator=(const StoreSessionDocuments&) = delete;

    Status run();
    const sync::WaitToken& token() const { return token_; }

private:
    Status step();
    Status findCollection();
    Status enter();
    Status write();
    /// Aborts what is not committed.
    void leave();

    catalog::Catalog& catalog_;
    const std::vector<bson::OwnedDocument> documents_;
    catalog::IndexCounts ofChange_;            // of no interest, but it outlives change_
    std::unique_ptr<catalog::Change> change_;  // makes the collection; null: not needed
    catalog::CollectionRef collection_;
    catalog::GatePass pass_;
    std::optional<engine::Txn> txn_;
    std::optional<catalog::DocumentWriter> writer_;
    size_t written_ = 0;  // of documents_
    int attempts_ = 0;
    sync::WaitToken token_;
};

}  // namespace freshet::command
