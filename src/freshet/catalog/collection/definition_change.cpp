// SPDX-License-Identifier: Apache-2.0
/// The steps that all definition changes share.
#include "freshet/catalog/collection/changes.h"
#include "freshet/catalog/gate.h"

namespace freshet::catalog {

Status addDefinitionEvent(engine::Txn& txn,
                          EventKind kind,
                          const Collection& collection,
                          bson::Document details) {
    if (!hasEvents(collection.db, collection.name)) {
        return Status::ok();
    }
    std::string event;
    encodeDefinition(kind, collection.db, collection.name, collection.uuid, details, &event);
    return txn.addEvent(event);
}

Status DefinitionChange::run() {
    sync::Slice slice(core_.store.epochs());
    while (step_ != Step::kDone) {
        Status status = step();
        if (status.isWouldBlock()) {
            return status;
        }
        if (!status.isOk()) {
            giveUp();
            return status;
        }
    }
    return Status::ok();
}

Status DefinitionChange::step() {
    switch (step_) {
        case Step::kLock:
            FRESHET_RETURN_IF_ERROR(core_.changeLock.acquire(&token_));
            step_ = Step::kPrepare;
            return Status::ok();
        case Step::kPrepare:
            FRESHET_RETURN_IF_ERROR(prepare());
            if (nothingToDo_) {
                finish();
            } else {
                step_ = Step::kGates;
            }
            return Status::ok();
        case Step::kGates:
            while (gatesClosed_ < gated_.size()) {
                gateWaiting_ = true;
                FRESHET_RETURN_IF_ERROR(gated_[gatesClosed_]->gate->close(&token_));
                gateWaiting_ = false;
                ++gatesClosed_;
            }
            step_ = Step::kWork;
            return Status::ok();
        case Step::kWork:
            FRESHET_RETURN_IF_ERROR(work());
            txn_.emplace(core_.store);  // the gates are closed: sees everything that writers did
            step_ = Step::kWrite;
            return Status::ok();
        case Step::kWrite:
        case Step::kCommit:
            return commit();
        case Step::kDone:
            break;
    }
    return Status::ok();
}

Status DefinitionChange::commit() {
    Status status = step_ == Step::kWrite ? write(*txn_) : Status::ok();
    if (status.isOk() && step_ == Step::kWrite) {
        status = addEvents(*txn_);
    }
    if (status.isOk()) {
        if (step_ == Step::kWrite) {
            core_.beginPublication();
            step_ = Step::kCommit;
        }
        status = txn_->commit();
    }
    if (status.isWouldBlock()) {
        token_ = txn_->token();
        return status;
    }
    FRESHET_RETURN_IF_ERROR(status);
    commitLsn_ = txn_->commitLsn();
    since_ = core_.snapshotNow();
    publish();
    finish();
    return Status::ok();
}

/// Ends the change, whether it succeeded or failed: lets writers and other changes run.
void DefinitionChange::finish() {
    for (size_t i = 0; i < gatesClosed_ + (gateWaiting_ ? 1 : 0); ++i) {
        if (!gated_[i]->gate->isRetired()) {
            gated_[i]->gate->open();
        }
    }
    if (step_ == Step::kCommit) {
        core_.endPublication();
    }
    gated_.clear();
    gatesClosed_ = 0;
    gateWaiting_ = false;
    txn_.reset();
    core_.changeLock.release();
    step_ = Step::kDone;
}

void DefinitionChange::giveUp() {
    if (step_ == Step::kLock) {
        step_ = Step::kDone;
    } else if (step_ != Step::kDone) {
        txn_.reset();
        undo();
        finish();
    }
}

}  // namespace freshet::catalog
