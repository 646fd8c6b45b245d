// SPDX-License-Identifier: Apache-2.0
/// ModifyOp: the steps that update and delete share: find a document, change it in a transaction,
/// go on to the next one if all matching documents are wanted.
///
/// One document (not multi): the scan and the change use one transaction. After a conflict the
/// document is read and tested again in a new snapshot. If it no longer matches, the scan goes on.
/// If the scan then finds nothing, it starts over: documents that it passed may match now.
///
/// Multi: the scan takes a new snapshot now and then, since each snapshot keeps later changes in
/// memory. A scan in record order meets every document once, because changes do not move documents
/// there. An index scan might meet a document again that the operation itself has moved forward
/// (the Halloween problem), so the operation remembers what it has changed. Each document found is
/// read and tested again in the transaction that changes it. In a transaction of several statements
/// scan and changes share that one.
#pragma once

#include "freshet/query/exec/row_stream.h"
#include "freshet/query/exec/write_base.h"

#include <unordered_set>

namespace freshet::query {

class ModifyOp : public WriteBase {
protected:
    ModifyOp(const WorkUnit& unit, StreamRequest request, bool multi, WriteOptions options);

    /// Checks the filter, sort and hint. Call once after making.
    Status check();

    /// What happens to a document that matches. nullopt in *after: nothing to write.
    enum class Fate { kKeep, kReplace, kRemove };
    virtual StatusOr<Fate> decide(bson::Document before, bson::OwnedDocument* after) = 0;
    /// Whether kReplace means that the client has given the whole document.
    virtual bool isReplacement() const { return false; }
    /// The scans' work, without what was written.
    WorkDone workOfScans() const;
    /// Neither document is needed any more: what the client gets may be moved out of them.
    virtual void takeAnswer(Fate, std::string* before, bson::OwnedDocument* after) = 0;
    /// Counts a document that has been handled. A document to be returned is moved there.
    virtual void count(Fate fate, WriteResult* result) = 0;
    /// The scan has found nothing: what to insert instead, if anything.
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
    /// Whether the scan has a transaction of its own, apart from those of the changes.
    bool scansApart() const { return multi_ && !txn_.isShared(); }
    engine::Txn& scanTxn() { return scansApart() ? *scanTxn_ : *txn_; }

    /// Documents changed per snapshot of a multi scan.
    static constexpr int kChangesPerSnapshot = 1'000;
    static constexpr size_t kBytesPerSnapshot = 1u << 20;

    /// Multi: counts a change; after enough of them the scan gets a new snapshot.
    void noteChange();
    void renewSnapshot();

    std::optional<engine::Txn> scanTxn_;  // if scansApart()
    int changesInSnapshot_ = 0;
    size_t bytesInSnapshot_ = 0;
    std::unordered_set<catalog::RecordId> moved_;  // changed, and an index may show them again
    std::unique_ptr<RowStream> stream_;
    WorkDone workOfGone_;  // of streams before the current one
    Step step_ = Step::kStart;
    catalog::RecordId id_ = 0;
    std::string before_;
    size_t writtenBytes_ = 0;  // of the document before and after
    Fate fate_ = Fate::kKeep;
    bson::OwnedDocument after_;
    bool lostOne_ = false;  // a matching document was lost to a conflict
    int64_t handled_ = 0;
    std::optional<bson::OwnedDocument> substitute_;
    bool substituteWritten_ = false;
    int insertAttempts_ = 0;
    std::optional<WriteResult> changed_;  // this document's part of the result, not committed yet
};

}  // namespace freshet::query
