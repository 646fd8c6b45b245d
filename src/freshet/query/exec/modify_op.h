// SPDX-License-Identifier: Apache-2.0
/// ModifyOp: the course that update and delete share: find a document, change it in a transaction,
/// go on to the next when all matching ones are wanted.
///
/// One document (not multi): the scan and the change use one transaction. After a conflict the
/// document is read and tested again in a new snapshot; if it matches no more the scan goes on, and
/// when that finds nothing it starts over once more, since what it passed may match by now.
///
/// Many: the scan takes a new snapshot now and then, since each one keeps in memory what has been
/// changed since. A scan in the order of records meets every document once, as changes do not move
/// it there. One of an index might meet again what the operation itself has moved forward (the
/// Halloween problem), so the operation remembers what it has changed. Each document found is read
/// and tested again in the transaction that changes it.
#pragma once

#include "freshet/query/exec/row_stream.h"
#include "freshet/query/exec/write_base.h"

#include <unordered_set>

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

    /// So much is changed in one snapshot of a scan for many.
    static constexpr int kChangesPerSnapshot = 1'000;
    static constexpr size_t kBytesPerSnapshot = 1u << 20;

    /// Multi: what was changed counts, and the scan gets a new snapshot when it was much.
    void noteChange();
    void renewSnapshot();

    std::optional<engine::Txn> scanTxn_;  // multi: the scan's own
    int changesInSnapshot_ = 0;
    size_t bytesInSnapshot_ = 0;
    std::unordered_set<catalog::RecordId> moved_;  // changed, and an index may show them again
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
