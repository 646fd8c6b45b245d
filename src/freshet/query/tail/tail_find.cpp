// SPDX-License-Identifier: Apache-2.0
/// find over a TailSource: its documents that match, then skip, limit and projection.
#include "freshet/query/exec/attached_cursor.h"
#include "freshet/query/exec/held_document.h"
#include "freshet/query/exec/row.h"

namespace freshet::query {
namespace {

bool isForward(bson::Document order) {
    return order.isEmpty() || (order.fieldCount() == 1 && order.find("$natural").toInt64() == 1);
}

Status checkTailRequest(const FindRequest& request, bool endsWhenDry) {
    if (request.skip < 0 || request.limit < 0) {
        return badValue("skip and limit must be non-negative");
    }
    if (!isForward(request.sort.view()) && !endsWhenDry) {
        return badValue("cannot use tailable option with a sort other than {$natural: 1}");
    }
    const bool isPlain = isForward(request.sort.view()) && isForward(request.hint.view()) &&
                         request.min.view().isEmpty() && request.max.view().isEmpty() &&
                         !request.returnsKey && !request.showsRecordId;
    return isPlain ? Status::ok()
                   : Status(Code::kUnsupported,
                            "this collection is read in its natural order only, without indexes "
                            "and record ids");
}

class TailFind final : public QueryCursor {
public:
    TailFind(const WorkUnit& unit,
             FindRequest request,
             std::unique_ptr<Matcher> matcher,
             std::unique_ptr<Projection> projection,
             std::unique_ptr<TailSource> source,
             bool endsWhenDry)
        : unit_(unit),
          request_(std::move(request)),
          matcher_(std::move(matcher)),
          projection_(std::move(projection)),
          source_(std::move(source)),
          endsWhenDry_(endsWhenDry),
          toSkip_(request_.skip),
          toGive_(request_.limit == 0 ? INT64_MAX : request_.limit) {}

    void attach() override {}
    void detach() override {}
    Status next(Batch* batch) override {
        sync::Slice slice(unit_.store.epochs());
        turn_.start();
        if (!pending_.isEmpty() && batch->add(pending_.view())) {
            pending_.clear();
        }
        while (!atEnd_ && pending_.isEmpty() && !batch->isFull()) {
            FRESHET_RETURN_IF_ERROR(examineOne(batch));
        }
        return Status::ok();
    }
    const sync::WaitToken& token() const override { return token_; }
    bool isExhausted() const override { return atEnd_ && pending_.isEmpty(); }
    bool awaitsData() const override { return isDry_; }
    uint64_t heldBytes() const override {
        return kCursorBytes + heldBytesOf(request_) + pending_.bytes() + source_->heldBytes();
    }
    WorkDone work() const override {
        WorkDone done;
        done.docsExamined = examined_;
        done.plan.kind = kPlan;
        return done;
    }
    bson::OwnedDocument describePlan() const override {
        bson::Builder builder;
        builder.add("stage", kPlan);
        if (!request_.filter.view().isEmpty()) {
            builder.add("filter", request_.filter.view());
        }
        builder.add("direction", "forward");
        return bson::OwnedDocument(builder.finish());
    }

private:
    static constexpr std::string_view kPlan = "COLLSCAN";

    Status examineOne(Batch* batch) {
        isDry_ = false;
        if (source_->isOver()) {
            atEnd_ = true;
            return Status::ok();
        }
        if (turn_.isOver()) {
            token_ = sync::WaitToken::completed();
            return Status::wouldBlock();
        }
        bson::Document document;
        Status status = source_->next(&document);
        if (status.isWouldBlock()) {
            return ranDry();
        }
        FRESHET_RETURN_IF_ERROR(std::move(status));
        ++examined_;
        bool isMatch = false;
        FRESHET_RETURN_IF_ERROR(matcher_->test(document, &isMatch));
        if (!isMatch || toSkip_ > 0) {
            toSkip_ -= isMatch ? 1 : 0;
            return Status::ok();
        }
        return give(document, batch);
    }

    /// The source has returned WouldBlock.
    Status ranDry() {
        const bool isDry = source_->isDry();
        if (isDry && endsWhenDry_) {
            atEnd_ = true;
            return Status::ok();
        }
        isDry_ = isDry;
        token_ = source_->token();
        return Status::wouldBlock();
    }

    Status give(bson::Document document, Batch* batch) {
        bson::OwnedDocument made;
        if (projection_ != nullptr) {
            FRESHET_ASSIGN_OR_RETURN(made, projection_->apply(document, matcher_.get()));
            document = made.view();
        }
        if (!batch->add(document)) {
            pending_.hold(document, {});
        }
        atEnd_ = --toGive_ == 0;
        return Status::ok();
    }

    const WorkUnit unit_;
    const FindRequest request_;
    const std::unique_ptr<Matcher> matcher_;
    const std::unique_ptr<Projection> projection_;
    const std::unique_ptr<TailSource> source_;
    const bool endsWhenDry_;
    int64_t toSkip_;
    int64_t toGive_;
    int64_t examined_ = 0;
    bool atEnd_ = false;
    bool isDry_ = false;  // the last call has found that there is nothing more now
    Turn turn_;
    sync::WaitToken token_ = sync::WaitToken::completed();
    HeldDocument pending_;  // a document that did not fit into the last batch
};

}  // namespace

StatusOr<std::unique_ptr<QueryCursor>> makeTailFind(const WorkUnit& unit,
                                                    FindRequest&& request,
                                                    std::unique_ptr<TailSource> source,
                                                    bool endsWhenDry) {
    FRESHET_RETURN_IF_ERROR(checkTailRequest(request, endsWhenDry));
    FRESHET_ASSIGN_OR_RETURN(auto matcher,
                             Matcher::compile(request.filter.view(), request.variables.view()));
    std::unique_ptr<Projection> projection;
    if (!request.projection.view().isEmpty()) {
        FRESHET_ASSIGN_OR_RETURN(
            projection, Projection::compile(request.projection.view(), request.variables.view()));
    }
    return std::unique_ptr<QueryCursor>(std::make_unique<TailFind>(unit,
                                                                   std::move(request),
                                                                   std::move(matcher),
                                                                   std::move(projection),
                                                                   std::move(source),
                                                                   endsWhenDry));
}

}  // namespace freshet::query
