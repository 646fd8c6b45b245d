// SPDX-License-Identifier: Apache-2.0
/// aggregate's cursor: documents pulled through the stages of a pipeline.
#include "freshet/query/aggregate.h"
#include "freshet/query/aggregate/stages.h"
#include "freshet/query/exec/held_document.h"

#include <optional>

namespace freshet::query {

namespace {

class AggregateCursor final : public QueryCursor {
public:
    AggregateCursor(const WorkUnit& unit, AggregateRequest request)
        : unit_(unit),
          request_(std::move(request)),
          run_(request_.db,
               request_.find,
               request_.variables.view(),
               memoryRules(request_.spill, request_.allowDiskUse)) {}

    Status compile() {
        size_t stagesMade = 0;
        const PipelineMaker maker{run_, 0, &stagesMade, run_.variables()};
        CollectionRequest source;
        source.collection = request_.collection;
        source.hint = request_.hint;
        run_.bring(std::move(request_.source));
        if (request_.tail != nullptr) {
            dcheck(query::isChangeStream(request_.pipeline.view()));
            run_.follow(std::move(request_.tail), request_.skipParts);
        }
        if (request_.entries != nullptr) {
            FRESHET_ASSIGN_OR_RETURN(
                last_,
                maker.makeBehind(request_.pipeline.view(),
                                 makeEntriesStage(run_, std::move(request_.entries))));
            return Status::ok();
        }
        FRESHET_ASSIGN_OR_RETURN(
            last_, maker.makeOver(request_.pipeline.view(), std::move(source), &facts_));
        return Status::ok();
    }

    void attach() override {
        if (run_.tail() == nullptr && !txn_.isOpen()) {
            txn_.open();
            run_.attach(*txn_);
        }
    }
    void detach() override {
        if (txn_.isOpen()) {
            run_.detach();
            txn_.close();
        }
    }

    Status next(Batch* batch) override {
        sync::Slice slice(unit_.store.epochs());
        dcheck(txn_.isOpen() || run_.tail() != nullptr);
        run_.startTurn();
        if (!pending_.isEmpty() && batch->add(pending_.view(), pending_.share())) {
            noteGiven(pending_.view());
            pending_.clear();
        }
        while (!atEnd_ && pending_.isEmpty() && !batch->isFull()) {
            Output out;
            FRESHET_RETURN_IF_ERROR(last_->next(&out));
            atEnd_ = out.isEnd;
            if (!atEnd_) {
                give(out.document, batch);
            }
        }
        return Status::ok();
    }

    const sync::WaitToken& token() const override { return run_.token(); }
    bool isExhausted() const override { return atEnd_ && pending_.isEmpty(); }
    bool awaitsData() const override { return run_.tail() != nullptr && run_.tail()->isDry; }
    bson::OwnedDocument resumeToken() const override {
        const Tail* const tail = run_.tail();
        if (tail == nullptr) {
            return {};
        }
        const bool isAhead = !pending_.isEmpty() || tail->partsLeft > 0;
        return isAhead ? bson::OwnedDocument(lastToken_) : tail->source->resumeToken();
    }
    WorkDone work() const override { return run_.work(); }
    uint64_t heldBytes() const override {
        return kCursorBytes + 4 * request_.pipeline.bytes().size() + pending_.bytes() +
               last_->heldBytes();
    }

    bson::OwnedDocument describePlan() const override {
        if (facts_.stages.empty()) {
            return facts_.plan;
        }
        bson::Builder builder;
        {
            bson::Builder stages = builder.array("stages");
            if (!facts_.plan.view().isEmpty()) {
                addCursorStage(&stages);
            }
            for (const bson::Element& stage : facts_.stages) {
                bson::Builder one = stages.object(stages.nextIndex());
                one.add(stage);
            }
        }
        return bson::OwnedDocument(builder.finish());
    }

private:
    void give(bson::Document document, Batch* batch) {
        engine::ValueShare share;
        if (document.size() >= kBorrowBytesMin) {
            share = last_->share();
        }
        if (batch->add(document, std::move(share))) {
            noteGiven(document);
        } else {
            pending_.hold(document, std::move(share));
        }
    }
    void noteGiven(bson::Document document) {
        if (run_.tail() != nullptr) {
            lastToken_.assign(document.find("_id").document().bytes());
        }
    }
    void addCursorStage(bson::Builder* stages) const {
        bson::Builder stage = stages->object(stages->nextIndex());
        bson::Builder cursor = stage.object("$cursor");
        bson::Builder planner = cursor.object("queryPlanner");
        planner.add("namespace",
                    request_.collection == nullptr ? request_.db : request_.collection->ns());
        planner.add("parsedQuery", facts_.filter.view());
        planner.add("winningPlan", facts_.plan.view());
        planner.array("rejectedPlans");
    }

    const WorkUnit unit_;
    AggregateRequest request_;
    UnitTxn txn_{unit_};  // must outlive the stages' cursors
    PipelineRun run_;
    PipelineFacts facts_;
    StagePtr last_;
    bool atEnd_ = false;
    HeldDocument pending_;   // a document that did not fit into the last batch
    std::string lastToken_;  // of the last document that did, if the pipeline is a change stream
};

}  // namespace

StatusOr<std::unique_ptr<QueryCursor>> makeAggregate(const WorkUnit& unit,
                                                     AggregateRequest request) {
    auto cursor = std::make_unique<AggregateCursor>(unit, std::move(request));
    FRESHET_RETURN_IF_ERROR(cursor->compile());
    return std::unique_ptr<QueryCursor>(std::move(cursor));
}

Status checkWithoutCollection(bson::Document pipeline) {
    if (pipeline.isEmpty()) {
        return invalid(Reason::kInvalidNamespace,
                       "{aggregate: 1} is not valid for an empty pipeline.");
    }
    const bson::Element first = *pipeline.begin();
    const std::string_view name =
        first.isObject() && !first.document().isEmpty() ? first.document().begin()->name() : "";
    if (name == "$documents" || name == "$listLocalSessions" || name == "$currentOp" ||
        name == "$changeStream") {
        return Status::ok();
    }
    return invalid(
        Reason::kInvalidNamespace,
        "{aggregate: 1} is not valid for '" + std::string(name) + "'; a collection is required.");
}

bson::OwnedDocument withoutLastStage(bson::Document pipeline) {
    const int count = pipeline.fieldCount();
    bson::Builder builder;
    int at = 0;
    for (const bson::Element& stage : pipeline) {
        if (++at < count) {
            builder.pushElement(stage);
        }
    }
    return bson::OwnedDocument(builder.finish());
}

bool writesResult(bson::Document pipeline) {
    bson::Element last;
    for (const bson::Element& stage : pipeline) {
        last = stage;
    }
    return last.isObject() && (last.document().has("$out") || last.document().has("$merge"));
}

}  // namespace freshet::query
