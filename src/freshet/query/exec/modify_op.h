// SPDX-License-Identifier: Apache-2.0
/// ModifyOp: the course that update and delete share: find a document, change it in a transaction,
/// go on to the next when all matching ones are wanted.
///
/// One document (not multi): the scan and the change use one transaction. After a conflict the
/// document is read and tested again in a new snapshot; if it matches no more the scan goes on, and
/// when that finds nothing it starts over once more, since what it passed may match by now.
///
/// Many: the scan keeps the snapshot of its begin, so that it meets every document once, whatever
/// the operation itself moves (the Halloween problem does not arise). Each document found is read
/// and tested again in the transaction that changes it.
#pragma once

#include "freshet/query/exec/row_stream.h"
#include "freshet/query/exec/write_base.h"

namespace freshet::query {

class ModifyOp : public WriteBase {
protected:
    ModifyOp(engine::Store& store, StreamRequest request, bool multi, WriteOptions options);

    /// Finds out whether filter, sort and hint are good. Call once after making.
    Status check();

    /// What becomes of a document that matches. nullopt in *after: nothing to write.
    enum class Fate { kKeep, kReplace, kRemove };
    virtual StatusOr<Fate> decide(bson::Document before, bson::OwnedDocument* after) = 0;
    /// Of the scans; without what was written.
    WorkDone workOfScans() const;
    /// Adds a document that has been dealt with. What is given back is moved there.
    virtual void count(Fate fate, WriteResult* result) = 0;
    /// The scan has found nothing. What to insert instead, if anything.
    virtual StatusOr<std::optional<bson::OwnedDocument>> makeSubstitute() = 0;

    StreamRequest request_;
    bool multi_;

private:
    enum class Step { kStart, kScan, kEnter, kRead, kDecide, kWrite, kCommit, kEnd, kInsert };

    Status step() final;
    Status start();
    Status scan();
    Status enter();
    Status readAgain();
    Status decideFate();
    Status write();
    Status commitOne();
    Status atEnd();
    Status insertSubstitute();
    void next();
    Status conflicted(Step resume);
    void endStream();
    engine::Txn& scanTxn() { return multi_ ? *scanTxn_ : *txn_; }

    std::optional<engine::Txn> scanTxn_;  // multi: the scan's own
    std::unique_ptr<RowStream> stream_;
    WorkDone workOfGone_;  // of streams before this one
    Step step_ = Step::kStart;
    catalog::RecordId id_ = 0;
    std::string before_;
    Fate fate_ = Fate::kKeep;
    bson::OwnedDocument after_;
    bool lostOne_ = false;  // a conflict took a document that matched
    int64_t handled_ = 0;
    std::optional<bson::OwnedDocument> substitute_;
    bool substituteWritten_ = false;
    int insertAttempts_ = 0;
    std::optional<WriteResult> changed_;  // the document's part of the result; not committed yet
};

}  // namespace freshet::query
