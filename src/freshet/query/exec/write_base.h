// SPDX-License-Identifier: Apache-2.0
/// What the write operations share: the gate, the transaction of one document, and the commit. In a
/// transaction of several statements there is no commit, and a conflict is the operation's error.
///
/// A writer is inside the collection's gate from before its first write until after its commit. It
/// may have read before that: if the description is still the one it read with, no definition
/// change came in between, so its snapshot and the description agree (INV-query-3).
#pragma once

#include "freshet/catalog/documents.h"
#include "freshet/catalog/gate.h"
#include "freshet/query/exec/row.h"
#include "freshet/query/write.h"

#include <optional>

namespace freshet::query {

inline constexpr int kConflictsPerTurn = 8;  // then others get their turn

class WriteBase : public WriteOp {
public:
    void accompany(Companion* companion) final { companion_ = companion; }
    Status run() final;
    const sync::WaitToken& token() const final { return token_; }
    const WriteResult& result() const final { return result_; }
    journal::Lsn commitLsn() const final { return commitLsn_; }
    const bson::OwnedDocument& errorInfo() const final { return errorInfo_; }

protected:
    WriteBase(const WorkUnit& unit, catalog::CollectionRef collection, WriteOptions options)
        : unit_(unit), collection_(std::move(collection)), options_(options) {}

    /// One step of the operation; sets done_ at its end. On WouldBlock token_ must be set.
    virtual Status step() = 0;

    /// Enters the gate. *changed: the description was renewed, so what was read with the old one is
    /// void.
    Status enterGate(bool* changed);
    /// REQUIRES: inside the gate. kInvalid (kDocumentValidationFailure) when the collection's
    /// validator refuses `after`, or the error of WriteOptions::check. `before` is null for a new
    /// document.
    Status validate(const bson::Document* before, bson::Document after);
    /// Starts the document's change in the transaction.
    void startWriting();
    /// Passes on a status of txn_ or writer_; takes the token of a WouldBlock.
    Status fromTxn(Status status);
    /// REQUIRES: something was written. `result` is what run() will report for it, `bytes` the size
    /// of the documents that were written or removed. In a transaction of several statements the
    /// change is done with this call, and stays uncommitted.
    Status commit(const WriteResult& result, size_t bytes);
    /// Rolls back the document's transaction and leaves the gate. The next begin() sees the change
    /// that was in the way.
    void abandon();
    /// Takes a new snapshot.
    void begin();
    /// Whether the operation may try again in a new snapshot after this status.
    bool mayTryAgain(const Status& status) const {
        return status.code() == Code::kConflict && !txn_.isShared();
    }
    /// Counts a conflict; WouldBlock with a completed token after several in a row.
    Status afterConflict();

    const WorkUnit unit_;
    catalog::CollectionRef collection_;
    const WriteOptions options_;
    UnitTxn txn_{unit_};
    std::optional<catalog::DocumentWriter> writer_;
    catalog::GatePass pass_;
    sync::WaitToken token_;
    WriteResult result_;
    bool done_ = false;

private:
    Companion* companion_ = nullptr;
    bool isAccompanied_ = false;  // in this transaction
    bool open_ = false;           // a transaction of its own has begun and not ended
    journal::Lsn commitLsn_ = 0;
    bson::OwnedDocument errorInfo_;
    int conflicts_ = 0;
    Turn turn_;  // counts steps
};

/// The document as it will be stored: _id in front, added if there is none. kInvalid when the _id
/// has a type that an _id may not have or occurs twice, kLimit when the document is too large.
/// `fillsTimestamps`: calls fillTimestamps().
StatusOr<bson::OwnedDocument> normalizeForInsert(bson::Document document, bool fillsTimestamps);

/// kInvalid when there are two _id fields.
Status checkOneId(bson::Document document);

/// Sets top-level fields, other than _id, that are Timestamp(0, 0) to the time.
void fillTimestamps(bson::OwnedDocument* document);

}  // namespace freshet::query
