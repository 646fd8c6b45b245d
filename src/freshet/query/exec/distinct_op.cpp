// SPDX-License-Identifier: Apache-2.0
/// distinct: a RowStream whose documents put their values into a set.
#include "freshet/bson/keyform.h"
#include "freshet/query/cursor.h"
#include "freshet/query/exec/row_stream.h"
#include "freshet/query/match/path.h"

#include "absl/container/flat_hash_set.h"

#include <optional>

namespace freshet::query {

namespace {

constexpr size_t kValuesBytesMax = bson::kDocumentBytesMax;

/// Values in the order in which they were first met, each once.
class ValueSet {
public:
    Status add(const bson::Element& value) {
        std::string form;
        bson::appendKeyForm(value, false, &form, nullptr);
        if (!seen_.insert(std::move(form)).second) {
            return Status::ok();
        }
        if (values_.size() + value.value().size() > kValuesBytesMax) {
            return invalid(location(17217), "distinct too big, 16mb cap");
        }
        values_.pushElement(value);
        return Status::ok();
    }
    std::string take() { return values_.finish(); }

private:
    absl::flat_hash_set<std::string> seen_;
    bson::Builder values_;
};

class Distinct final : public DistinctOp {
public:
    Distinct(const WorkUnit& unit, std::unique_ptr<RowStream> stream, std::string_view path)
        : unit_(unit), stream_(std::move(stream)), path_(path) {}

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
        for (;;) {
            Row row;
            FRESHET_RETURN_IF_ERROR(stream_->next(&row));
            if (row.id == 0) {
                return Status::ok();
            }
            FRESHET_RETURN_IF_ERROR(addValues(row.document));
        }
    }
    const sync::WaitToken& token() const override { return stream_->token(); }
    std::string takeValues() override { return values_.take(); }
    WorkDone work() const override { return workOf(stream_.get()); }

private:
    Status addValues(bson::Document document) {
        Status status;
        path_.visit(document, LeafArray::kKeep, [&](const bson::Element& element, int) {
            status = addElement(element);
            return !status.isOk();
        });
        return status;
    }

    Status addElement(const bson::Element& element) {
        if (element.isMissing()) {
            return Status::ok();
        }
        if (!element.isArray()) {
            return values_.add(element);
        }
        for (const bson::Element& member : element.document()) {
            FRESHET_RETURN_IF_ERROR(values_.add(member));
        }
        return Status::ok();
    }

    const WorkUnit unit_;
    UnitTxn txn_{unit_};  // must outlive the stream's cursors
    std::unique_ptr<RowStream> stream_;
    MatchPath path_;
    ValueSet values_;
};

}  // namespace

StatusOr<std::unique_ptr<DistinctOp>> DistinctOp::make(const WorkUnit& unit,
                                                       catalog::CollectionRef collection,
                                                       FindRequest request,
                                                       std::string_view path) {
    FRESHET_ASSIGN_OR_RETURN(auto matcher,
                             Matcher::compile(request.filter.view(), request.variables.view()));
    std::unique_ptr<RowStream> stream;
    if (collection != nullptr) {
        StreamRequest streamRequest;
        streamRequest.collection = std::move(collection);
        streamRequest.matcher = std::move(matcher);
        streamRequest.hint = std::move(request.hint);
        FRESHET_ASSIGN_OR_RETURN(stream, RowStream::make(std::move(streamRequest)));
    }
    return std::unique_ptr<DistinctOp>(new Distinct(unit, std::move(stream), path));
}

}  // namespace freshet::query
