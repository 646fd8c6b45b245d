// SPDX-License-Identifier: Apache-2.0
/// find: a RowStream, then skip, limit and projection.
#include "freshet/query/cursor.h"
#include "freshet/query/exec/attached_cursor.h"
#include "freshet/query/exec/held_document.h"
#include "freshet/query/exec/id_cursor.h"

#include <algorithm>

namespace freshet::query {

namespace {

bson::OwnedDocument oneField(const char* name, int64_t value) {
    bson::Builder builder;
    builder.add(name, value);
    return bson::OwnedDocument(builder.finish());
}

/// The name of the projection's stage in explain, which depends on what it costs.
const char* projectionStage(bson::Document spec) {
    for (const bson::Element& field : spec) {
        const bool isFlag = field.isNumber() || field.type() == bson::Type::kBool;
        if (!isFlag || field.name().find('.') != std::string_view::npos) {
            return "PROJECTION_DEFAULT";
        }
    }
    return "PROJECTION_SIMPLE";
}

class FindCursor final : public AttachedCursor {
public:
    FindCursor(const WorkUnit& unit,
               std::unique_ptr<RowStream> stream,
               std::shared_ptr<const Matcher> matcher,
               std::unique_ptr<Projection> projection,
               FindRequest request)
        : AttachedCursor(unit, std::move(stream)),
          matcher_(std::move(matcher)),
          projection_(std::move(projection)),
          request_(std::move(request)),
          toSkip_(request_.skip),
          toGive_(request_.limit == 0 ? INT64_MAX : request_.limit) {}

    bool isExhausted() const override { return atEnd_ && pending_.isEmpty(); }
    uint64_t heldBytes() const override {
        return kCursorBytes + heldBytesOf(request_) + pending_.bytes() +
               (stream_ == nullptr ? 0 : stream_->heldBytes());
    }

    bson::OwnedDocument describePlan() const override { return describeTree(stages(), false); }
    bson::OwnedDocument describeExecution(uint64_t elapsedMillis) const override {
        return describeRun(stages(), elapsedMillis);
    }

private:
    StageNode stages() const {
        StageNode tree;
        tree.name = "EOF";
        if (stream_ != nullptr) {
            tree = stream_->stages();
        }
        if (stream_ != nullptr && request_.skip > 0) {
            tree =
                stageAbove("SKIP", oneField("skipAmount", request_.skip), given_, std::move(tree));
        }
        if (stream_ != nullptr && request_.returnsKey) {
            tree = stageAbove("RETURN_KEY", {}, given_, std::move(tree));
        } else if (stream_ != nullptr && projection_ != nullptr) {
            bson::Builder builder;
            builder.add("transformBy", request_.projection.view());
            tree = stageAbove(projectionStage(request_.projection.view()),
                              bson::OwnedDocument(builder.finish()),
                              given_,
                              std::move(tree));
        }
        return stream_ != nullptr && request_.limit > 0
                   ? stageAbove(
                         "LIMIT", oneField("limitAmount", request_.limit), given_, std::move(tree))
                   : tree;
    }

    Status fill(Batch* batch) override {
        if (!pending_.isEmpty()) {
            if (!batch->add(pending_.view(), pending_.share())) {
                return Status::ok();
            }
            pending_.clear();
        }
        if (toSkip_ > 0 && !atEnd_) {
            uint64_t passed = 0;
            const Status status = stream_->passOver(static_cast<uint64_t>(toSkip_), &passed);
            toSkip_ -= static_cast<int64_t>(passed);
            FRESHET_RETURN_IF_ERROR(status);
        }
        while (!atEnd_ && !batch->isFull()) {
            Row row;
            FRESHET_RETURN_IF_ERROR(stream_->next(&row));
            if (row.id == 0) {
                atEnd_ = true;
            } else if (toSkip_ > 0) {
                --toSkip_;
            } else {
                FRESHET_RETURN_IF_ERROR(give(row, batch));
                atEnd_ = --toGive_ == 0;
            }
        }
        return Status::ok();
    }

    Status give(const Row& row, Batch* batch) {
        ++given_;
        if (givesAsStored()) {
            const bool isLarge = row.document.size() >= kBorrowBytesMin;
            give(row.document, isLarge ? stream_->share() : engine::ValueShare(), batch);
            return Status::ok();
        }
        bson::OwnedDocument made;
        bson::Document document = row.document;
        if (request_.returnsKey) {
            made = keyOf(row.document);
            document = made.view();
        } else if (projection_ != nullptr) {
            FRESHET_ASSIGN_OR_RETURN(made, projection_->apply(row.document, matcher_.get()));
            document = made.view();
        }
        if (request_.showsRecordId && !request_.returnsKey) {  // a returned key has no other fields
            bson::Builder builder;
            builder.addFields(document);
            builder.add("$recordId", static_cast<int64_t>(row.id));
            made = bson::OwnedDocument(builder.finish());
            document = made.view();
        }
        give(document, {}, batch);
        return Status::ok();
    }

    bool givesAsStored() const {
        return projection_ == nullptr && !request_.returnsKey && !request_.showsRecordId;
    }
    void give(bson::Document document, engine::ValueShare share, Batch* batch) {
        if (!batch->add(document, std::move(share))) {
            pending_.hold(document, std::move(share));
        }
    }

    /// The fields of the index that led to the document; empty if there was none.
    bson::OwnedDocument keyOf(bson::Document document) const {
        bson::Builder builder;
        const Plan& plan = stream_->plan();
        if (plan.kind == PlanKind::kId) {
            builder.add(document.find("_id"));
        }
        if (plan.kind == PlanKind::kIndex) {
            for (const catalog::KeyField& field : plan.scans[0].index->fields) {
                const bson::Element value = document.findPath(field.path);
                if (value.isMissing()) {
                    builder.add(field.path, bson::Null{});
                } else {
                    builder.addAs(field.path, value);
                }
            }
        }
        return bson::OwnedDocument(builder.finish());
    }

    std::shared_ptr<const Matcher> matcher_;
    std::unique_ptr<Projection> projection_;
    const FindRequest request_;
    int64_t toSkip_;
    int64_t toGive_;
    uint64_t given_ = 0;
    HeldDocument pending_;  // a document that did not fit into the last batch
};

/// How many documents of the order are needed; 0: all.
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
    StreamRequest streamRequest;
    streamRequest.collection = collection;
    streamRequest.matcher = matcher;
    streamRequest.sort = request.sort;
    streamRequest.hint = request.hint;
    streamRequest.keep = keepFor(request.skip, request.limit);
    streamRequest.min = request.min;
    streamRequest.max = request.max;
    streamRequest.needsDocuments = request.needsDocuments;
    if (!request.sort.view().isEmpty()) {
        streamRequest.memory = memoryRules(request.spill, request.allowDiskUse);
    }
    return RowStream::make(std::move(streamRequest));
}

class Counter final : public CountOp {
public:
    Counter(const WorkUnit& unit, std::unique_ptr<RowStream> stream, int64_t skip, int64_t limit)
        : unit_(unit),
          stream_(std::move(stream)),
          toSkip_(skip),
          limit_(limit == 0 ? INT64_MAX : limit) {}

    Status run() override {
        if (stream_ == nullptr) {
            return Status::ok();
        }
        sync::Slice slice(unit_.store.epochs());
        if (!txn_.isOpen()) {
            txn_.open();
            stream_->attach(*txn_);
        }
        stream_->startTurn();
        uint64_t passed = 0;
        const Status status = stream_->passOver(left(), &passed);
        take(passed);
        FRESHET_RETURN_IF_ERROR(status);
        while (count_ < limit_) {
            Row row;
            FRESHET_RETURN_IF_ERROR(stream_->next(&row));
            if (row.id == 0) {
                break;
            }
            take(1);
        }
        return Status::ok();
    }
    const sync::WaitToken& token() const override { return stream_->token(); }
    int64_t count() const override { return count_; }
    WorkDone work() const override { return workOf(stream_.get()); }

private:
    /// How many documents are still wanted, including those to skip.
    uint64_t left() const {
        return static_cast<uint64_t>(toSkip_) + static_cast<uint64_t>(limit_ - count_);
    }
    void take(uint64_t documents) {
        const auto skipped = std::min(documents, static_cast<uint64_t>(toSkip_));
        toSkip_ -= static_cast<int64_t>(skipped);
        count_ += static_cast<int64_t>(documents - skipped);
    }

    const WorkUnit unit_;
    UnitTxn txn_{unit_};  // must outlive the stream's cursors
    std::unique_ptr<RowStream> stream_;
    int64_t toSkip_;
    int64_t limit_;
    int64_t count_ = 0;
};

}  // namespace

uint64_t heldBytesOf(const FindRequest& request) {
    uint64_t bytes = 0;
    for (const bson::OwnedDocument* part :
         {&request.filter, &request.projection, &request.sort, &request.variables}) {
        bytes += part->bytes().size();
    }
    return 4 * bytes;
}

StatusOr<std::unique_ptr<QueryCursor>> makeFind(const WorkUnit& unit,
                                                catalog::CollectionRef collection,
                                                FindRequest&& request) {
    if (collection != nullptr && asksForOneId(request)) {
        return makeIdCursor(unit, std::move(collection), request);
    }
    FRESHET_RETURN_IF_ERROR(checkRequest(request));
    FRESHET_ASSIGN_OR_RETURN(auto compiled,
                             Matcher::compile(request.filter.view(), request.variables.view()));
    std::shared_ptr<const Matcher> matcher = std::move(compiled);
    std::unique_ptr<Projection> projection;
    if (!request.projection.view().isEmpty()) {
        FRESHET_ASSIGN_OR_RETURN(
            projection, Projection::compile(request.projection.view(), request.variables.view()));
    }
    FRESHET_ASSIGN_OR_RETURN(auto stream, makeStream(collection, matcher, request));
    return std::unique_ptr<QueryCursor>(new FindCursor(
        unit, std::move(stream), std::move(matcher), std::move(projection), std::move(request)));
}

StatusOr<std::unique_ptr<CountOp>> CountOp::make(const WorkUnit& unit,
                                                 catalog::CollectionRef collection,
                                                 FindRequest request) {
    FRESHET_RETURN_IF_ERROR(checkRequest(request));
    FRESHET_ASSIGN_OR_RETURN(auto compiled,
                             Matcher::compile(request.filter.view(), request.variables.view()));
    std::shared_ptr<const Matcher> matcher = std::move(compiled);
    request.sort = bson::OwnedDocument();
    request.needsDocuments = false;
    FRESHET_ASSIGN_OR_RETURN(auto stream, makeStream(collection, matcher, request));
    return std::unique_ptr<CountOp>(
        new Counter(unit, std::move(stream), request.skip, request.limit));
}

}  // namespace freshet::query
