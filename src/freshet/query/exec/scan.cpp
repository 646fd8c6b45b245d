// SPDX-License-Identifier: Apache-2.0
/// Scan of a collection, and look-up by _id.
#include "freshet/query/exec/scan.h"

#include "freshet/engine/range_count.h"
#include "freshet/query/exec/held_document.h"
#include "freshet/query/exec/index_scan.h"

#include <optional>

namespace freshet::query {

namespace {

/// All documents in the order of their record ids.
class CollectionScan final : public Scan {
public:
    CollectionScan(catalog::CollectionRef collection, bool backward)
        : collection_(std::move(collection)), backward_(backward) {}

    void attach(engine::Txn& txn) override {
        txn_ = &txn;
        cursor_.emplace(txn, collection_->records);
    }
    void detach() override {
        cursor_.reset();
        positioned_ = false;
    }
    bool isAtEnd() const override { return atEnd_; }
    engine::ValueShare share() const override { return cursor_->share(kBorrowBytesMin); }

    Status passOver(uint64_t most, uint64_t* passed) override {
        *passed = 0;
        if (backward_ || atEnd_) {
            return Status::ok();
        }
        engine::RangeCount range(*txn_, collection_->records, start(), "");
        const Status status = range.run(most);
        *passed = range.count();
        counts_.given += *passed;
        if (*passed > 0) {
            positioned_ = false;
            atEnd_ = range.isDone();
            behindPassed_ = atEnd_ ? std::string() : range.rest();
        }
        return status;
    }

    Status advance(Row* row) override {
        if (atEnd_) {
            return Status::ok();
        }
        FRESHET_RETURN_IF_ERROR(move());
        positioned_ = true;
        atEnd_ = !cursor_->valid();
        if (atEnd_) {
            return Status::ok();
        }
        last_ = catalog::recordIdOf(cursor_->key());
        behindPassed_.clear();
        ++counts_.docsExamined;
        ++counts_.given;
        *row = {last_, bson::Document(cursor_->value())};
        return Status::ok();
    }

private:
    Status move() {
        if (positioned_) {
            return backward_ ? cursor_->prev() : cursor_->next();
        }
        if (!backward_) {
            return cursor_->seek(start());
        }
        return last_ == 0 ? cursor_->last() : cursor_->seekBefore(catalog::recordKey(last_ - 1));
    }
    /// Forward scans: where the next records begin.
    std::string start() const {
        if (!behindPassed_.empty()) {
            return behindPassed_;
        }
        return last_ == 0 ? std::string() : std::string(catalog::recordKey(last_ + 1));
    }

    catalog::CollectionRef collection_;
    bool backward_;
    engine::Txn* txn_ = nullptr;
    std::optional<engine::Cursor> cursor_;
    bool positioned_ = false;   // the cursor is at last_
    std::string behindPassed_;  // forward: entries up to here were skipped since last_
    bool atEnd_ = false;
    catalog::RecordId last_ = 0;  // the last one given; 0 before the first
};

/// The one document with an _id.
class IdLookup final : public Scan {
public:
    IdLookup(catalog::CollectionRef collection, std::string key)
        : collection_(std::move(collection)), key_(std::move(key)) {}

    void attach(engine::Txn& txn) override { txn_ = &txn; }
    void detach() override {
        txn_ = nullptr;
        document_.clear();
    }
    bool isAtEnd() const override { return done_; }
    engine::ValueShare share() const override { return document_.share(); }

    Status advance(Row* row) override {
        if (given_) {
            done_ = true;
            return Status::ok();
        }
        const catalog::Index& index = *collection_->indexes[0];
        std::string value;
        Status status = txn_->get(*index.tree, key_, &value);
        catalog::RecordId id = 0;
        if (status.isOk()) {
            FRESHET_ASSIGN_OR_RETURN(id, catalog::recordIdOfEntry(index, key_, value));
            status = document_.read(*txn_, *collection_, id);
        }
        if (status.code() == Code::kNotFound) {
            done_ = true;
            return Status::ok();
        }
        FRESHET_RETURN_IF_ERROR(status);
        given_ = true;
        counts_ = {1, 1, 1};
        *row = {id, document_.view()};
        return Status::ok();
    }

private:
    catalog::CollectionRef collection_;
    std::string key_;
    engine::Txn* txn_ = nullptr;
    HeldDocument document_;
    bool given_ = false;
    bool done_ = false;
};

class NoScan final : public Scan {
public:
    void attach(engine::Txn&) override {}
    void detach() override {}
    Status advance(Row*) override { return Status::ok(); }
    bool isAtEnd() const override { return true; }
};

}  // namespace

std::unique_ptr<Scan> makeScan(const Plan& plan, catalog::CollectionRef collection, bool fetches) {
    switch (plan.kind) {
        case PlanKind::kCollection:
            return std::make_unique<CollectionScan>(std::move(collection), plan.backward);
        case PlanKind::kId:
            return std::make_unique<IdLookup>(std::move(collection), plan.idKey);
        case PlanKind::kIndex:
        case PlanKind::kUnion:
            return std::make_unique<IndexScans>(std::move(collection), plan.scans, fetches);
        case PlanKind::kNothing:
            break;
    }
    return std::make_unique<NoScan>();
}

}  // namespace freshet::query
