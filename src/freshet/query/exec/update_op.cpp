// SPDX-License-Identifier: Apache-2.0
/// update and delete as two uses of ModifyOp.
#include "freshet/bson/json.h"
#include "freshet/query/exec/modify_op.h"
#include "freshet/query/match/stored_predicate.h"
#include "freshet/query/transform.h"
#include "freshet/query/update.h"

namespace freshet::query {

namespace {

/// What the client gets back of the document that was changed.
struct Answer {
    Returning returning = Returning::kNothing;
    std::unique_ptr<Projection> projection;  // null: the whole document

    static StatusOr<Answer> make(Returning returning,
                                 bson::Document projection,
                                 bson::Document variables) {
        Answer answer{returning, nullptr};
        if (returning != Returning::kNothing && !projection.isEmpty()) {
            FRESHET_ASSIGN_OR_RETURN(answer.projection, Projection::compile(projection, variables));
        }
        return answer;
    }

    /// REQUIRES: a projection.
    StatusOr<bson::OwnedDocument> of(bson::Document document, const Matcher& matcher) const {
        return projection->apply(document, &matcher);
    }
    bool isWhole() const { return returning != Returning::kNothing && projection == nullptr; }
    bool isPart() const { return returning != Returning::kNothing && projection != nullptr; }
};

/// The document that an upsert inserts: `supplied`, or what the program makes.
StatusOr<bson::OwnedDocument> substituteOf(const std::optional<bson::OwnedDocument>& supplied,
                                           const UpdateProgram& program,
                                           const Matcher& matcher) {
    return supplied.has_value() ? StatusOr<bson::OwnedDocument>(*supplied)
                                : program.makeUpsert(matcher);
}

class UpdateOp final : public ModifyOp {
public:
    UpdateOp(const WorkUnit& unit,
             StreamRequest streamRequest,
             std::unique_ptr<UpdateProgram> program,
             Answer answer,
             const UpdateRequest& request)
        : ModifyOp(unit, std::move(streamRequest), request.multi, request.options),
          program_(std::move(program)),
          answer_(std::move(answer)),
          isPipeline_(request.isPipeline),
          upsert_(request.upsert),
          supplied_(request.supplied) {}
    using ModifyOp::check;
    WorkDone work() const override {
        WorkDone done = workOfScans();
        done.matched = result_.matched;
        done.modified = result_.modified;
        done.upserted = result_.upserted ? 1 : 0;
        return done;
    }

private:
    bool isReplacement() const override { return program_->isReplacement(); }

    StatusOr<Fate> decide(bson::Document before, bson::OwnedDocument* after) override {
        bool changed = false;
        FRESHET_ASSIGN_OR_RETURN(*after, program_->apply(before, request_.matcher.get(), &changed));
        if (changed && (program_->isReplacement() || isPipeline_)) {
            FRESHET_RETURN_IF_ERROR(checkOneId(after->view()));
        }
        if (changed && program_->isReplacement() && !options_.keepsEmptyTimestamps) {
            fillTimestamps(after);
        }
        // Before anything is written: if the result cannot be shown, nothing is changed.
        if (answer_.isPart()) {
            const bool old = answer_.returning == Returning::kBefore || !changed;
            FRESHET_ASSIGN_OR_RETURN(value_,
                                     answer_.of(old ? before : after->view(), *request_.matcher));
        }
        return changed ? Fate::kReplace : Fate::kKeep;
    }

    void takeAnswer(Fate fate, std::string* before, bson::OwnedDocument* after) override {
        if (answer_.isWhole()) {
            const bool old = answer_.returning == Returning::kBefore || fate == Fate::kKeep;
            value_ = old ? bson::OwnedDocument(std::move(*before)) : std::move(*after);
        }
    }

    void count(Fate fate, WriteResult* result) override {
        ++result->matched;
        result->modified += fate == Fate::kReplace ? 1 : 0;
        if (answer_.returning != Returning::kNothing) {
            result->value = std::move(value_);
        }
    }

    StatusOr<std::optional<bson::OwnedDocument>> makeSubstitute() override {
        if (!upsert_) {
            return std::optional<bson::OwnedDocument>();
        }
        FRESHET_ASSIGN_OR_RETURN(auto made, substituteOf(supplied_, *program_, *request_.matcher));
        const bool fills = program_->isReplacement() && !options_.keepsEmptyTimestamps;
        FRESHET_ASSIGN_OR_RETURN(auto normal, normalizeForInsert(made.view(), fills));
        if (answer_.returning == Returning::kAfter) {
            FRESHET_ASSIGN_OR_RETURN(
                result_.value,
                answer_.isWhole() ? normal : answer_.of(normal.view(), *request_.matcher));
        }
        return std::optional<bson::OwnedDocument>(std::move(normal));
    }

    std::unique_ptr<UpdateProgram> program_;
    Answer answer_;
    bool isPipeline_;
    bool upsert_;
    std::optional<bson::OwnedDocument> supplied_;
    bson::OwnedDocument value_;
};

class DeleteOp final : public ModifyOp {
public:
    DeleteOp(const WorkUnit& unit, StreamRequest streamRequest, Answer answer, bool justOne)
        : ModifyOp(unit, std::move(streamRequest), !justOne, {}), answer_(std::move(answer)) {}
    using ModifyOp::check;
    WorkDone work() const override {
        WorkDone done = workOfScans();
        done.deleted = result_.matched;
        return done;
    }

private:
    StatusOr<Fate> decide(bson::Document before, bson::OwnedDocument*) override {
        if (answer_.isPart()) {
            FRESHET_ASSIGN_OR_RETURN(value_, answer_.of(before, *request_.matcher));
        }
        return Fate::kRemove;
    }
    void takeAnswer(Fate, std::string* before, bson::OwnedDocument*) override {
        if (answer_.isWhole()) {
            value_ = bson::OwnedDocument(std::move(*before));
        }
    }
    void count(Fate, WriteResult* result) override {
        ++result->matched;
        if (answer_.returning != Returning::kNothing) {
            result->value = std::move(value_);
        }
    }
    StatusOr<std::optional<bson::OwnedDocument>> makeSubstitute() override {
        return std::optional<bson::OwnedDocument>();
    }

    Answer answer_;
    bson::OwnedDocument value_;
};

StatusOr<std::unique_ptr<UpdateProgram>> programOf(const UpdateRequest& request) {
    const bson::Document update = request.update.view();
    if (request.isPipeline) {
        if (!request.arrayFilters.view().isEmpty()) {
            return invalid(Reason::kFailedToParse,
                           "arrayFilters may not be specified for pipeline-style updates");
        }
        return UpdateProgram::compilePipeline(update, request.variables.view());
    }
    FRESHET_ASSIGN_OR_RETURN(auto program,
                             UpdateProgram::compile(request.update, request.arrayFilters.view()));
    if (program->isReplacement()) {
        FRESHET_RETURN_IF_ERROR(checkOneId(update));
    }
    if (request.multi && program->isReplacement()) {
        return invalid(Reason::kFailedToParse,
                       "multi update is not supported for replacement-style update");
    }
    return program;
}

}  // namespace

Status checkUpdate(const UpdateRequest& request) {
    const bson::Document variables = request.variables.view();
    FRESHET_RETURN_IF_ERROR(Matcher::compile(request.filter.view(), variables).status());
    FRESHET_RETURN_IF_ERROR(programOf(request).status());
    return Answer::make(request.returning, request.projection.view(), variables).status();
}

Status checkUpsert(const UpdateRequest& request) {
    const bson::Document variables = request.variables.view();
    FRESHET_ASSIGN_OR_RETURN(auto matcher, Matcher::compile(request.filter.view(), variables));
    FRESHET_ASSIGN_OR_RETURN(auto program, programOf(request));
    FRESHET_ASSIGN_OR_RETURN(auto made, substituteOf(request.supplied, *program, *matcher));
    return checkInsert(made.view());
}

StatusOr<std::unique_ptr<WriteOp>> makeUpdate(const WorkUnit& unit,
                                              catalog::CollectionRef collection,
                                              UpdateRequest request) {
    const bson::Document variables = request.variables.view();
    FRESHET_ASSIGN_OR_RETURN(auto program, programOf(request));
    FRESHET_ASSIGN_OR_RETURN(Answer answer,
                             Answer::make(request.returning, request.projection.view(), variables));
    StreamRequest streamRequest;
    streamRequest.collection = std::move(collection);
    FRESHET_ASSIGN_OR_RETURN(streamRequest.matcher,
                             Matcher::compile(request.filter.view(), variables));
    streamRequest.sort = request.sort;
    streamRequest.hint = request.hint;
    auto op = std::make_unique<UpdateOp>(
        unit, std::move(streamRequest), std::move(program), std::move(answer), request);
    FRESHET_RETURN_IF_ERROR(op->check());
    return std::unique_ptr<WriteOp>(std::move(op));
}

Status checkDelete(const DeleteRequest& request) {
    const bson::Document variables = request.variables.view();
    FRESHET_RETURN_IF_ERROR(Matcher::compile(request.filter.view(), variables).status());
    return Answer::make(request.returning, request.projection.view(), variables).status();
}

StatusOr<std::unique_ptr<WriteOp>> makeDelete(const WorkUnit& unit,
                                              catalog::CollectionRef collection,
                                              DeleteRequest request) {
    const bson::Document variables = request.variables.view();
    FRESHET_ASSIGN_OR_RETURN(Answer answer,
                             Answer::make(request.returning, request.projection.view(), variables));
    StreamRequest streamRequest;
    streamRequest.collection = std::move(collection);
    FRESHET_ASSIGN_OR_RETURN(streamRequest.matcher,
                             Matcher::compile(request.filter.view(), variables));
    streamRequest.sort = std::move(request.sort);
    streamRequest.hint = std::move(request.hint);
    auto op = std::make_unique<DeleteOp>(
        unit, std::move(streamRequest), std::move(answer), request.justOne);
    FRESHET_RETURN_IF_ERROR(op->check());
    return std::unique_ptr<WriteOp>(std::move(op));
}

DeleteRequest expiryOf(const catalog::Index& index, int64_t nowMillis) {
    DeleteRequest request;
    bson::Builder filter;
    {
        auto past = filter.object(index.fields[0].path);
        past.add("$lte", bson::Date{nowMillis - *index.expireAfterSeconds * 1000});
    }
    if (index.filter != nullptr) {
        auto both = filter.array("$and");
        both.push(StoredPredicate::matcherOf(*index.filter).filter());
    }
    request.filter = bson::OwnedDocument(filter.finish());
    if (!index.hidden) {  // otherwise the planner finds another way
        bson::Builder hint;
        hint.add("", index.name);
        request.hint = bson::OwnedDocument(hint.finish());
    }
    return request;
}

}  // namespace freshet::query
