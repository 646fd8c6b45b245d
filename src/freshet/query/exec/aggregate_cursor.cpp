// SPDX-License-Identifier: Apache-2.0
/// aggregate: a RowStream for the leading $match, $sort and $limit, then documents pushed through
/// the remaining stages one by one.
#include "freshet/query/exec/attached_cursor.h"

#include <algorithm>
#include <deque>

namespace freshet::query {

namespace {

class AggregateCursor final : public AttachedCursor {
public:
    AggregateCursor(engine::Store& store, std::unique_ptr<RowStream> stream, Pipeline pipeline)
        : AttachedCursor(store, std::move(stream)),
          pipeline_(std::move(pipeline)),
          toRead_(pipeline_.leadingLimit == 0 ? INT64_MAX : pipeline_.leadingLimit) {}

    bool isExhausted() const override { return finished_ && ready_.empty(); }

    bson::OwnedDocument describePlan() const override {
        if (stream_ != nullptr) {
            return stream_->describe();
        }
        bson::Builder builder;
        builder.add("stage", "EOF");
        return bson::OwnedDocument(builder.finish());
    }

private:
    Status fill(Batch* batch) override {
        for (;;) {
            while (!ready_.empty()) {
                if (batch->isFull() || !batch->add(ready_.front().view())) {
                    return Status::ok();
                }
                ready_.pop_front();
            }
            if (finished_ || batch->isFull()) {
                return Status::ok();
            }
            FRESHET_RETURN_IF_ERROR(atEnd_ ? finish() : readOne());
        }
    }

    Status readOne() {
        Row row;
        FRESHET_RETURN_IF_ERROR(stream_->next(&row));
        if (row.id == 0) {
            atEnd_ = true;
            return Status::ok();
        }
        FRESHET_RETURN_IF_ERROR(push(0, row.document));
        atEnd_ = --toRead_ == 0 || isSatisfied();
        return Status::ok();
    }

    bool isSatisfied() const {
        const auto& stages = pipeline_.stages;
        return std::any_of(
            stages.begin(), stages.end(), [](const auto& stage) { return stage->isSatisfied(); });
    }

    /// Recursion as deep as the pipeline is long, which compilePipeline bounds.
    Status push(size_t stage, bson::Document document) {
        if (stage == pipeline_.stages.size()) {
            ready_.emplace_back(document);
            return Status::ok();
        }
        std::vector<bson::OwnedDocument> out;
        FRESHET_RETURN_IF_ERROR(pipeline_.stages[stage]->push(document, &out));
        return pushAll(stage + 1, out);
    }

    Status pushAll(size_t stage, const std::vector<bson::OwnedDocument>& documents) {
        for (const bson::OwnedDocument& document : documents) {
            FRESHET_RETURN_IF_ERROR(push(stage, document.view()));
        }
        return Status::ok();
    }

    Status finish() {
        for (size_t i = 0; i < pipeline_.stages.size(); ++i) {
            std::vector<bson::OwnedDocument> out;
            FRESHET_RETURN_IF_ERROR(pipeline_.stages[i]->finish(&out));
            FRESHET_RETURN_IF_ERROR(pushAll(i + 1, out));
        }
        finished_ = true;
        return Status::ok();
    }

    Pipeline pipeline_;
    int64_t toRead_;
    bool finished_ = false;
    std::deque<bson::OwnedDocument> ready_;  // came out of the last stage
};

}  // namespace

StatusOr<std::unique_ptr<QueryCursor>> makeAggregate(engine::Store& store,
                                                     catalog::CollectionRef collection,
                                                     bson::Document pipeline) {
    FRESHET_ASSIGN_OR_RETURN(Pipeline compiled, compilePipeline(pipeline));
    FRESHET_ASSIGN_OR_RETURN(auto matcher, Matcher::compile(compiled.leadingMatch.view()));
    std::unique_ptr<RowStream> stream;
    if (collection != nullptr) {
        StreamRequest wish;
        wish.collection = std::move(collection);
        wish.matcher = std::move(matcher);
        wish.sort = compiled.leadingSort;
        wish.keep = static_cast<uint64_t>(compiled.leadingLimit);
        FRESHET_ASSIGN_OR_RETURN(stream, RowStream::make(std::move(wish)));
    }
    return std::unique_ptr<QueryCursor>(
        new AggregateCursor(store, std::move(stream), std::move(compiled)));
}

}  // namespace freshet::query
