// SPDX-License-Identifier: Apache-2.0
/// update and delete as two uses of ModifyOp.
#include "freshet/query/exec/modify_op.h"
#include "freshet/query/update.h"

namespace freshet::query {

namespace {

class UpdateOp final : public ModifyOp {
public:
    UpdateOp(engine::Store& store,
             StreamRequest wish,
             std::unique_ptr<UpdateProgram> program,
             bool multi,
             bool upsert)
        : ModifyOp(store, std::move(wish), multi), program_(std::move(program)), upsert_(upsert) {}
    using ModifyOp::check;

private:
    StatusOr<Fate> decide(bson::Document before, bson::OwnedDocument* after) override {
        bool changed = false;
        FRESHET_ASSIGN_OR_RETURN(*after, program_->apply(before, request_.matcher.get(), &changed));
        return changed ? Fate::kReplace : Fate::kKeep;
    }

    void count(Fate fate) override {
        ++result_.matched;
        result_.modified += fate == Fate::kReplace ? 1 : 0;
    }

    StatusOr<std::optional<bson::OwnedDocument>> makeSubstitute() override {
        if (!upsert_) {
            return std::optional<bson::OwnedDocument>();
        }
        FRESHET_ASSIGN_OR_RETURN(auto made, program_->makeUpsert(*request_.matcher));
        FRESHET_ASSIGN_OR_RETURN(auto normal, normalizeForInsert(made.view()));
        return std::optional<bson::OwnedDocument>(std::move(normal));
    }

    std::unique_ptr<UpdateProgram> program_;
    bool upsert_;
};

class DeleteOp final : public ModifyOp {
public:
    DeleteOp(engine::Store& store, StreamRequest wish, bool justOne)
        : ModifyOp(store, std::move(wish), !justOne) {}
    using ModifyOp::check;

private:
    StatusOr<Fate> decide(bson::Document, bson::OwnedDocument*) override { return Fate::kRemove; }
    void count(Fate) override { ++result_.matched; }
    StatusOr<std::optional<bson::OwnedDocument>> makeSubstitute() override {
        return std::optional<bson::OwnedDocument>();
    }
};

StatusOr<StreamRequest> streamRequest(catalog::CollectionRef collection,
                                      bson::OwnedDocument filter,
                                      bson::OwnedDocument sort,
                                      bson::OwnedDocument hint) {
    StreamRequest wish;
    wish.collection = std::move(collection);
    FRESHET_ASSIGN_OR_RETURN(wish.matcher, Matcher::compile(filter.view()));
    wish.sort = std::move(sort);
    wish.hint = std::move(hint);
    return wish;
}

}  // namespace

StatusOr<std::unique_ptr<WriteOp>> makeUpdate(engine::Store& store,
                                              catalog::CollectionRef collection,
                                              UpdateRequest request) {
    FRESHET_ASSIGN_OR_RETURN(
        auto program, UpdateProgram::compile(request.update.view(), request.arrayFilters.view()));
    if (request.multi && program->isReplacement()) {
        return invalid(Reason::kFailedToParse,
                       "multi update is not supported for replacement-style update");
    }
    FRESHET_ASSIGN_OR_RETURN(auto wish,
                             streamRequest(std::move(collection),
                                           std::move(request.filter),
                                           std::move(request.sort),
                                           std::move(request.hint)));
    auto op = std::make_unique<UpdateOp>(
        store, std::move(wish), std::move(program), request.multi, request.upsert);
    FRESHET_RETURN_IF_ERROR(op->check());
    return std::unique_ptr<WriteOp>(std::move(op));
}

StatusOr<std::unique_ptr<WriteOp>> makeDelete(engine::Store& store,
                                              catalog::CollectionRef collection,
                                              DeleteRequest request) {
    FRESHET_ASSIGN_OR_RETURN(auto wish,
                             streamRequest(std::move(collection),
                                           std::move(request.filter),
                                           bson::OwnedDocument(),
                                           std::move(request.hint)));
    auto op = std::make_unique<DeleteOp>(store, std::move(wish), request.justOne);
    FRESHET_RETURN_IF_ERROR(op->check());
    return std::unique_ptr<WriteOp>(std::move(op));
}

}  // namespace freshet::query
