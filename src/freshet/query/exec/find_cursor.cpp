// SPDX-License-Identifier: Apache-2.0
/// find: a RowStream, then skip, limit and projection.
#include "freshet/query/cursor.h"
#include "freshet/query/exec/attached_cursor.h"

#include <algorithm>

namespace freshet::query {

namespace {

class FindCursor final : public AttachedCursor {
public:
    FindCursor(engine::Store& store,
               std::unique_ptr<RowStream> stream,
               std::shared_ptr<const Matcher> matcher,
               std::unique_ptr<Projection> projection,
               FindRequest request)
        : AttachedCursor(store, std::move(stream)),
          matcher_(std::move(matcher)),
          projection_(std::move(projection)),
          projectionSpec_(std::move(request.projection)),
          skip_(request.skip),
          limit_(request.limit),
          toSkip_(request.skip),
          toGive_(request.limit == 0 ? INT64_MAX : request.limit) {}

    bool isExhausted() const override { return atEnd_ && pending_.empty(); }

    bson::OwnedDocument describePlan() const override {
        if (stream_ == nullptr) {
            bson::Builder builder;
            builder.add("stage", "EOF");
            return bson::OwnedDocument(builder.finish());
        }
        bson::OwnedDocument plan = stream_->describe();
        if (skip_ > 0) {
            plan = wrap("SKIP", "skipAmount", skip_, plan);
        }
        if (projection_ != nullptr) {
            bson::Builder builder;
            builder.add("stage", "PROJECTION_DEFAULT");
            builder.add("transformBy", projectionSpec_.view());
            builder.add("inputStage", plan.view());
            plan = bson::OwnedDocument(builder.finish());
        }
        return limit_ > 0 ? wrap("LIMIT", "limitAmount", limit_, plan) : plan;
    }

private:
    static bson::OwnedDocument wrap(const char* stage,
                                    const char* field,
                                    int64_t amount,
                                    const bson::OwnedDocument& input) {
        bson::Builder builder;
        builder.add("stage", stage);
        builder.add(field, amount);
        builder.add("inputStage", input.view());
        return bson::OwnedDocument(builder.finish());
    }

    Status fill(Batch* batch) override {
        if (!pending_.empty()) {
            if (!batch->add(bson::Document(pending_))) {
                return Status::ok();
            }
            pending_.clear();
        }
        while (!atEnd_ && !batch->isFull()) {
            Row row;
            FRESHET_RETURN_IF_ERROR(stream_->next(&row));
            if (row.id == 0) {
                atEnd_ = true;
            } else if (toSkip_ > 0) {
                --toSkip_;
            } else {
                FRESHET_RETURN_IF_ERROR(give(row.document, batch));
                atEnd_ = --toGive_ == 0;
            }
        }
        return Status::ok();
    }

    Status give(bson::Document document, Batch* batch) {
        if (projection_ == nullptr) {
            if (!batch->add(document)) {
                pending_ = std::string(document.bytes());
            }
            return Status::ok();
        }
        FRESHET_ASSIGN_OR_RETURN(auto projected, projection_->apply(document, matcher_.get()));
        if (!batch->add(projected.view())) {
            pending_ = projected.bytes();
        }
        return Status::ok();
    }

    std::shared_ptr<const Matcher> matcher_;
    std::unique_ptr<Projection> projection_;
    bson::OwnedDocument projectionSpec_;
    int64_t skip_;
    int64_t limit_;
    int64_t toSkip_;
    int64_t toGive_;
    std::string pending_;  // a document that did not fit into the last batch
};

/// How many documents of the order are needed at all; 0 for all of them.
uint64_t keepFor(int64_t skip, int64_t limit) {
    return limit == 0 ? 0 : static_cast<uint64_t>(skip) + static_cast<uint64_t>(limit);
}

Status checkRequest(const FindRequest& request) {
    if (request.skip < 0 || request.limit < 0) {
        return badValue("skip and limit must be non-negative");
    }
    bson::Document sort = request.sort.view();
    if (!sort.isEmpty() && sort.begin()->name() != "$natural") {
        FRESHET_ASSIGN_OR_RETURN(auto pattern, SortPattern::compile(sort));
        static_cast<void>(pattern);
    }
    return Status::ok();
}

StatusOr<std::unique_ptr<RowStream>> makeStream(const catalog::CollectionRef& collection,
                                                const std::shared_ptr<const Matcher>& matcher,
                                                const FindRequest& request) {
    if (collection == nullptr) {
        return std::unique_ptr<RowStream>();
    }
    StreamRequest wish;
    wish.collection = collection;
    wish.matcher = matcher;
    wish.sort = request.sort;
    wish.hint = request.hint;
    wish.keep = keepFor(request.skip, request.limit);
    return RowStream::make(std::move(wish));
}

class Counter final : public CountOp {
public:
    Counter(engine::Store& store, std::unique_ptr<RowStream> stream, int64_t skip, int64_t limit)
        : store_(store),
          stream_(std::move(stream)),
          toSkip_(skip),
          limit_(limit == 0 ? INT64_MAX : limit) {}

    Status run() override {
        if (stream_ == nullptr) {
            return Status::ok();
        }
        sync::Slice slice(store_.epochs());
        if (!txn_.has_value()) {
            txn_.emplace(store_);
            stream_->attach(*txn_);
        }
        stream_->startTurn();
        while (count_ < limit_) {
            Row row;
            FRESHET_RETURN_IF_ERROR(stream_->next(&row));
            if (row.id == 0) {
                break;
            }
            toSkip_ > 0 ? --toSkip_ : ++count_;
        }
        return Status::ok();
    }
    const sync::WaitToken& token() const override { return stream_->token(); }
    int64_t count() const override { return count_; }

private:
    engine::Store& store_;
    std::optional<engine::Txn> txn_;  // outlives the stream's cursors
    std::unique_ptr<RowStream> stream_;
    int64_t toSkip_;
    int64_t limit_;
    int64_t count_ = 0;
};

}  // namespace

StatusOr<std::unique_ptr<QueryCursor>> makeFind(engine::Store& store,
                                                catalog::CollectionRef collection,
                                                FindRequest request) {
    FRESHET_RETURN_IF_ERROR(checkRequest(request));
    FRESHET_ASSIGN_OR_RETURN(auto compiled, Matcher::compile(request.filter.view()));
    std::shared_ptr<const Matcher> matcher = std::move(compiled);
    std::unique_ptr<Projection> projection;
    if (!request.projection.view().isEmpty()) {
        FRESHET_ASSIGN_OR_RETURN(projection, Projection::compile(request.projection.view()));
    }
    FRESHET_ASSIGN_OR_RETURN(auto stream, makeStream(collection, matcher, request));
    return std::unique_ptr<QueryCursor>(new FindCursor(
        store, std::move(stream), std::move(matcher), std::move(projection), std::move(request)));
}

StatusOr<std::unique_ptr<CountOp>> CountOp::make(engine::Store& store,
                                                 catalog::CollectionRef collection,
                                                 FindRequest request) {
    FRESHET_RETURN_IF_ERROR(checkRequest(request));
    FRESHET_ASSIGN_OR_RETURN(auto compiled, Matcher::compile(request.filter.view()));
    std::shared_ptr<const Matcher> matcher = std::move(compiled);
    request.sort = bson::OwnedDocument();
    FRESHET_ASSIGN_OR_RETURN(auto stream, makeStream(collection, matcher, request));
    return std::unique_ptr<CountOp>(
        new Counter(store, std::move(stream), request.skip, request.limit));
}

}  // namespace freshet::query
