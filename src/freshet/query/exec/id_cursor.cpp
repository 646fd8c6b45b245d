// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/exec/id_cursor.h"

#include "freshet/bson/keyform.h"
#include "freshet/catalog/documents.h"
#include "freshet/query/exec/row_stream.h"
#include "freshet/query/plan/stage_tree.h"

#include <optional>

namespace freshet::query {
namespace {

/// Values that stand for themselves in a filter. Objects may be operators, a null also finds what
/// is absent: the general way knows.
bool isPlainValue(const bson::Element& value) {
    switch (value.type()) {
        case bson::Type::kDouble:
        case bson::Type::kString:
        case bson::Type::kBinary:
        case bson::Type::kObjectId:
        case bson::Type::kBool:
        case bson::Type::kDate:
        case bson::Type::kInt32:
        case bson::Type::kInt64:
        case bson::Type::kDecimal:
        case bson::Type::kTimestamp:
            return true;
        default:
            return false;
    }
}

class IdCursor final : public QueryCursor {
public:
    IdCursor(engine::Store& store, catalog::CollectionRef collection, const FindRequest& request)
        : store_(store), collection_(std::move(collection)), limit_(request.limit) {
        bson::appendKeyForm(*request.filter.view().begin(), false, &key_, nullptr);
    }

    void attach() override {
        if (!txn_.has_value()) {
            txn_.emplace(store_);
        }
    }
    void detach() override { txn_.reset(); }

    Status next(Batch* batch) override {
        if (done_ || batch->isFull()) {
            return Status::ok();
        }
        sync::Slice slice(store_.epochs());
        dcheck(txn_.has_value());
        if (collection_->isDropped()) {
            return planKilled(*collection_);
        }
        ByteView document;
        Status status = read(&document);
        if (status.isOk()) {
            done_ = given_ = batch->add(bson::Document(document));
        } else if (status.code() == Code::kNotFound) {
            done_ = true;
            status = Status::ok();
        }
        return status;
    }

    const sync::WaitToken& token() const override { return txn_->token(); }
    bool isExhausted() const override { return done_; }

    WorkDone work() const override {
        WorkDone work;
        work.keysExamined = work.docsExamined = given_ ? 1 : 0;
        work.plan.kind = "IDHACK";
        work.plan.usedTree = idIndex().treeId;
        return work;
    }
    bson::OwnedDocument describePlan() const override { return describeTree(stages(), false); }
    bson::OwnedDocument describeExecution(uint64_t elapsedMillis) const override {
        return describeRun(stages(), elapsedMillis);
    }

private:
    const catalog::Index& idIndex() const { return *collection_->indexes[0]; }

    /// `*document` is good as long as the slice.
    Status read(ByteView* document) {
        ByteView entry;
        FRESHET_RETURN_IF_ERROR(txn_->getInPlace(*idIndex().tree, key_, &entry));
        FRESHET_ASSIGN_OR_RETURN(const catalog::RecordId id,
                                 catalog::recordIdOfEntry(idIndex(), key_, entry));
        return txn_->getInPlace(*collection_->records, catalog::recordKey(id), document);
    }

    StageNode stages() const {
        StageNode node;
        node.name = "IDHACK";
        node.nReturned = node.keysExamined = node.docsExamined = given_ ? 1 : 0;
        if (limit_ == 0) {
            return node;
        }
        bson::Builder details;
        details.add("limitAmount", limit_);
        const uint64_t given = node.nReturned;
        return stageAbove("LIMIT", bson::OwnedDocument(details.finish()), given, std::move(node));
    }

    engine::Store& store_;
    const catalog::CollectionRef collection_;
    const int64_t limit_;
    std::string key_;
    std::optional<engine::Txn> txn_;
    bool given_ = false;
    bool done_ = false;
};

}  // namespace

bool asksForOneId(const FindRequest& request) {
    const bson::Document filter = request.filter.view();
    if (filter.isEmpty()) {
        return false;
    }
    const bson::Document::Iterator id = filter.begin();
    if (id->name() != "_id" || !isPlainValue(*id) ||
        id->whole().size() + 5 != filter.size()) {  // more fields
        return false;
    }
    return request.projection.view().isEmpty() && request.sort.view().isEmpty() &&
           request.hint.view().isEmpty() && request.min.view().isEmpty() &&
           request.max.view().isEmpty() && request.skip == 0 && request.limit >= 0 &&
           !request.returnsKey && !request.showsRecordId;
}

std::unique_ptr<QueryCursor> makeIdCursor(engine::Store& store,
                                          catalog::CollectionRef collection,
                                          const FindRequest& request) {
    return std::make_unique<IdCursor>(store, std::move(collection), request);
}

}  // namespace freshet::query
