// SPDX-License-Identifier: Apache-2.0
/// The steps of update and delete.
#include "freshet/query/exec/modify_op.h"

#include "freshet/base/free_memory.h"

namespace freshet::query {

namespace {

/// An upsert that meets a duplicate key looks again: another upsert was faster. If it finds nothing
/// this often, the key belongs to a document that the filter does not match.
constexpr int kInsertAttemptsMax = 3;

/// Documents of so many bytes, before and after together, are not kept beside the commit.
constexpr size_t kLargeBytes = 1u << 20;

/// {_id: ...} of a document that starts with it.
bson::OwnedDocument idOf(bson::Document document) {
    bson::Builder id;
    id.add(*document.begin());
    return bson::OwnedDocument(id.finish());
}

}  // namespace

ModifyOp::ModifyOp(const WorkUnit& unit, StreamRequest request, bool multi, WriteOptions options)
    : WriteBase(unit, request.collection, options), request_(std::move(request)), multi_(multi) {
    request_.keep = multi ? 0 : 1;
}

Status ModifyOp::check() {
    FRESHET_ASSIGN_OR_RETURN(stream_, RowStream::make(request_));
    return Status::ok();
}

Status ModifyOp::step() {
    switch (step_) {
        case Step::kStart:
            return start();
        case Step::kScan:
            return scan();
        case Step::kEnter:
            return enter();
        case Step::kRead:
            return readAgain();
        case Step::kDecide:
            return decideFate();
        case Step::kWrite:
            return write();
        case Step::kCommit:
            return commitOne();
        case Step::kEnd:
            return atEnd();
        case Step::kInsert:
            return insertSubstitute();
    }
    return Status::ok();
}

/// Starts a new scan in a new snapshot.
Status ModifyOp::start() {
    request_.collection = collection_;
    if (stream_ == nullptr) {
        FRESHET_ASSIGN_OR_RETURN(stream_, RowStream::make(request_));
    }
    if (scansApart()) {
        scanTxn_.emplace(unit_.store);
    } else {
        begin();
    }
    stream_->attach(scanTxn());
    lostOne_ = false;
    step_ = Step::kScan;
    return Status::ok();
}

Status ModifyOp::scan() {
    Row row;
    stream_->startTurn();
    Status status = stream_->next(&row);
    if (status.isWouldBlock()) {
        token_ = stream_->token();
    }
    FRESHET_RETURN_IF_ERROR(status);
    if (row.id == 0) {
        step_ = Step::kEnd;
        return Status::ok();
    }
    if (moved_.contains(row.id)) {
        return Status::ok();
    }
    id_ = row.id;
    before_ = std::string(row.document.bytes());
    step_ = Step::kEnter;
    return Status::ok();
}

Status ModifyOp::enter() {
    bool changed = false;
    FRESHET_RETURN_IF_ERROR(enterGate(&changed));
    if (multi_) {
        begin();
        step_ = Step::kRead;
    } else if (changed) {
        abandon();
        endStream();
        step_ = Step::kStart;
    } else {
        step_ = Step::kDecide;
    }
    return Status::ok();
}

/// Reads the document in this transaction and tests whether it is still one of those wanted.
Status ModifyOp::readAgain() {
    std::string now;
    Status status = fromTxn(catalog::readDocument(*txn_, *collection_, id_, &now));
    bool matched = false;
    if (status.isOk()) {
        matched = now == before_;
        before_ = std::move(now);
        if (!matched) {
            status = request_.matcher->test(bson::Document(before_), &matched);
        }
    } else if (status.code() == Code::kNotFound) {
        status = Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(status);
    if (matched) {
        step_ = Step::kDecide;
    } else {
        lostOne_ = true;
        next();
    }
    return Status::ok();
}

Status ModifyOp::decideFate() {
    FRESHET_ASSIGN_OR_RETURN(fate_, decide(bson::Document(before_), &after_));
    if (fate_ == Fate::kKeep) {
        takeAnswer(fate_, &before_, &after_);
        count(fate_, &result_);
        ++handled_;
        next();
        return Status::ok();
    }
    if (fate_ == Fate::kReplace) {
        const bson::Document before(before_);
        FRESHET_RETURN_IF_ERROR(validate(&before, after_.view()));
    }
    startWriting();
    step_ = Step::kWrite;
    return Status::ok();
}

Status ModifyOp::write() {
    bson::Document before(before_);
    Status status = fromTxn(fate_ == Fate::kRemove
                                ? writer_->remove(id_, before)
                                : writer_->update(id_, before, after_.view(), isReplacement()));
    if (mayTryAgain(status)) {
        return conflicted(Step::kRead);
    }
    FRESHET_RETURN_IF_ERROR(status);
    writtenBytes_ = before_.size() + after_.bytes().size();
    takeAnswer(fate_, &before_, &after_);
    if (writtenBytes_ >= kLargeBytes) {  // the commit has its own copy
        freeMemory(&before_);
        freeMemory(&after_);
    }
    step_ = Step::kCommit;
    return Status::ok();
}

Status ModifyOp::commitOne() {
    if (!changed_.has_value()) {
        count(fate_, &changed_.emplace());
    }
    Status status = commit(*changed_, writtenBytes_);
    if (mayTryAgain(status)) {
        return conflicted(Step::kRead);
    }
    FRESHET_RETURN_IF_ERROR(status);
    result_.matched += changed_->matched;
    result_.modified += changed_->modified;
    result_.value = std::move(changed_->value);
    changed_.reset();
    ++handled_;
    noteChange();
    next();
    return Status::ok();
}

void ModifyOp::noteChange() {
    if (!multi_) {
        return;
    }
    const Plan& plan = stream_->plan();
    const bool inRecordOrder = plan.kind == PlanKind::kCollection || plan.kind == PlanKind::kId;
    if (fate_ == Fate::kReplace && !inRecordOrder) {
        moved_.insert(id_);
    }
    bytesInSnapshot_ += writtenBytes_;
    if (txn_.isShared()) {
        return;
    }
    if (++changesInSnapshot_ >= kChangesPerSnapshot || bytesInSnapshot_ >= kBytesPerSnapshot) {
        renewSnapshot();
    }
}

void ModifyOp::renewSnapshot() {
    stream_->detach();
    scanTxn_->begin();
    stream_->attach(*scanTxn_);
    changesInSnapshot_ = 0;
    bytesInSnapshot_ = 0;
}

/// Another writer was first. The gate stays entered: the same document, or one like it, is tried
/// next in a new snapshot.
Status ModifyOp::conflicted(Step resume) {
    writer_.reset();
    changed_.reset();
    txn_->abort();
    begin();
    step_ = resume;
    return afterConflict();
}

/// The current document is done.
void ModifyOp::next() {
    writer_.reset();
    pass_.release();
    if (!multi_ && handled_ > 0) {
        abandon();  // ends a snapshot in which nothing was written
        done_ = true;
    } else {
        step_ = Step::kScan;
    }
}

void ModifyOp::endStream() {
    workOfGone_ = workOfScans();
    stream_.reset();
}

WorkDone ModifyOp::workOfScans() const {
    WorkDone done = workOfGone_;
    if (stream_ != nullptr) {
        done.add(stream_->work());
    }
    return done;
}

Status ModifyOp::atEnd() {
    if (handled_ == 0 && lostOne_) {
        abandon();
        endStream();
        step_ = Step::kStart;
        return afterConflict();
    }
    if (handled_ == 0) {
        FRESHET_ASSIGN_OR_RETURN(substitute_, makeSubstitute());
    }
    if (!substitute_.has_value()) {
        done_ = true;
        return Status::ok();
    }
    step_ = Step::kInsert;
    return Status::ok();
}

Status ModifyOp::insertSubstitute() {
    if (!pass_.isInside()) {
        bool changed = false;
        FRESHET_RETURN_IF_ERROR(enterGate(&changed));
        FRESHET_RETURN_IF_ERROR(validate(nullptr, substitute_->view()));
        endStream();
        begin();
        startWriting();
        substituteWritten_ = false;
    }
    catalog::RecordId id = 0;
    Status status;
    if (!substituteWritten_) {
        status = fromTxn(writer_->insert(substitute_->view(), &id));
        substituteWritten_ = status.isOk();
    }
    if (status.isOk()) {
        result_.upserted = true;
        result_.upsertedId = idOf(substitute_->view());
        status = commit(result_, substitute_->bytes().size());
        result_.upserted = status.isOk();
    }
    const bool isRace = !txn_.isShared() && status.reason() == Reason::kDuplicateKey &&
                        ++insertAttempts_ < kInsertAttemptsMax;
    if (mayTryAgain(status) || isRace) {
        abandon();
        step_ = Step::kStart;
        return afterConflict();
    }
    done_ = status.isOk();
    return status;
}

}  // namespace freshet::query
