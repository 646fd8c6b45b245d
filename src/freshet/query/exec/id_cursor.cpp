// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/exec/id_cursor.h"

#include "freshet/bson/keyform.h"
#include "freshet/query/plan/stage_tree.h"
#include "freshet/query/point_reader.h"

#include <optional>

namespace freshet::query {
namespace {

class IdCursor final : public QueryCursor {
public:
    IdCursor(const WorkUnit& unit, catalog::CollectionRef collection, const FindRequest& request)
        : unit_(unit), collection_(std::move(collection)), limit_(request.limit) {
        bson::appendKeyForm(*request.filter.view().begin(), false, &key_, nullptr);
    }

    void attach() override {
        if (!txn_.isOpen()) {
            txn_.open();
        }
    }
    void detach() override { txn_.close(); }

    Status next(Batch* batch) override {
        if (done_ || batch->isFull()) {
            return Status::ok();
        }
        sync::Slice slice(unit_.store.epochs());
        dcheck(txn_.isOpen());
        engine::SharedRead read{kBorrowBytesMin};
        Status status = readById(*txn_, *collection_, key_, &read);
        if (status.isOk()) {
            done_ = given_ = batch->add(bson::Document(read.bytes), std::move(read.share));
        } else if (status.code() == Code::kNotFound) {
            done_ = true;
            status = Status::ok();
        }
        return status;
    }

    const sync::WaitToken& token() const override { return txn_->token(); }
    bool isExhausted() const override { return done_; }

    WorkDone work() const override { return workOfIdRead(*collection_, given_); }
    bson::OwnedDocument describePlan() const override { return describeTree(stages(), false); }
    bson::OwnedDocument describeExecution(uint64_t elapsedMillis) const override {
        return describeRun(stages(), elapsedMillis);
    }

private:
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

    const WorkUnit unit_;
    const catalog::CollectionRef collection_;
    const int64_t limit_;
    std::string key_;
    UnitTxn txn_{unit_};
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
    if (id->name() != "_id" || !PointReader::isPlain(*id) ||
        id->whole().size() + 5 != filter.size()) {  // more fields
        return false;
    }
    return request.projection.view().isEmpty() && request.sort.view().isEmpty() &&
           request.hint.view().isEmpty() && request.min.view().isEmpty() &&
           request.max.view().isEmpty() && request.skip == 0 && request.limit >= 0 &&
           !request.returnsKey && !request.showsRecordId;
}

std::unique_ptr<QueryCursor> makeIdCursor(const WorkUnit& unit,
                                          catalog::CollectionRef collection,
                                          const FindRequest& request) {
    return std::make_unique<IdCursor>(unit, std::move(collection), request);
}

}  // namespace freshet::query
