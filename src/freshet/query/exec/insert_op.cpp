// SPDX-License-Identifier: Apache-2.0
/// insert: one document, one transaction.
#include "freshet/query/exec/write_base.h"

namespace freshet::query {

namespace {

class InsertOp final : public WriteBase {
public:
    InsertOp(const WorkUnit& unit,
             catalog::CollectionRef collection,
             bson::OwnedDocument document,
             WriteOptions options)
        : WriteBase(unit, std::move(collection), options), document_(std::move(document)) {}

    WorkDone work() const override {
        WorkDone done;
        done.inserted = result_.matched;
        return done;
    }

private:
    enum class Step { kEnter, kWrite, kCommit };

    Status step() override {
        switch (step_) {
            case Step::kEnter: {
                bool changed = false;  // nothing has been read yet: the newer description will do
                FRESHET_RETURN_IF_ERROR(enterGate(&changed));
                FRESHET_RETURN_IF_ERROR(validate(nullptr, document_.view()));
                begin();
                startWriting();
                step_ = Step::kWrite;
                return Status::ok();
            }
            case Step::kWrite: {
                catalog::RecordId id = 0;
                return orAgain(fromTxn(writer_->insert(document_.view(), &id)), Step::kCommit);
            }
            case Step::kCommit: {
                result_.matched = 1;
                Status status = commit(result_, document_.bytes().size());
                done_ = status.isOk();
                result_.matched = done_ ? 1 : 0;
                return orAgain(std::move(status), Step::kCommit);
            }
        }
        return Status::ok();
    }

    /// Goes on to `next` if the status is ok, back to the start after a conflict.
    Status orAgain(Status status, Step next) {
        if (mayTryAgain(status)) {
            abandon();
            step_ = Step::kEnter;
            return afterConflict();
        }
        if (status.isOk()) {
            step_ = next;
        }
        return status;
    }

    bson::OwnedDocument document_;
    Step step_ = Step::kEnter;
};

}  // namespace

StatusOr<std::unique_ptr<WriteOp>> makeInsert(const WorkUnit& unit,
                                              catalog::CollectionRef collection,
                                              bson::Document document,
                                              WriteOptions options) {
    FRESHET_ASSIGN_OR_RETURN(auto normal,
                             normalizeForInsert(document, !options.keepsEmptyTimestamps));
    return std::unique_ptr<WriteOp>(
        new InsertOp(unit, std::move(collection), std::move(normal), options));
}

Status checkInsert(bson::Document document) {
    return normalizeForInsert(document, false).status();
}

}  // namespace freshet::query
