// SPDX-License-Identifier: Apache-2.0
/// $sort: holds its input, or with a limit only the best of it. Equal keys keep their order.
#include "freshet/query/aggregate/stages.h"

#include <algorithm>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;

class SortStage final : public Stage {
public:
    SortStage(SortPattern pattern, int64_t limit)
        : pattern_(std::move(pattern)), limit_(static_cast<size_t>(limit)) {}

    Status push(Document document, Documents*) override {
        std::string key = pattern_.keyOf(document);
        appendBe64(key, arrived_++);  // makes the order stable
        const bool full = limit_ != 0 && rows_.size() == limit_;
        if (full) {
            if (key > rows_.front().key) {
                return Status::ok();
            }
            std::pop_heap(rows_.begin(), rows_.end(), before);
            bytesHeld_ -= rows_.back().bytes();
            rows_.pop_back();
        }
        rows_.push_back({std::move(key), OwnedDocument(document)});
        bytesHeld_ += rows_.back().bytes();
        if (limit_ != 0) {
            std::push_heap(rows_.begin(), rows_.end(), before);
        }
        return bytesHeld_ > kStageBytesMax ? exceededMemory("$sort") : Status::ok();
    }

    Status finish(Documents* out) override {
        std::sort(rows_.begin(), rows_.end(), before);
        out->reserve(out->size() + rows_.size());
        for (Row& row : rows_) {
            out->push_back(std::move(row.document));
        }
        rows_.clear();
        return Status::ok();
    }

private:
    struct Row {
        std::string key;
        OwnedDocument document;
        size_t bytes() const { return sizeof(Row) + key.size() + document.bytes().size(); }
    };
    static bool before(const Row& a, const Row& b) { return a.key < b.key; }

    SortPattern pattern_;
    size_t limit_;  // 0: none; otherwise rows_ is a heap with the worst row in front
    uint64_t arrived_ = 0;
    size_t bytesHeld_ = 0;
    std::vector<Row> rows_;
};

}  // namespace

StatusOr<SortPattern> parseSortPattern(const Element& spec) {
    if (!spec.isObject()) {
        return invalid(Reason::kSortSpecInvalid, "the $sort key specification must be an object");
    }
    if (spec.document().isEmpty()) {
        return invalid(Reason::kSortSpecInvalid, "$sort stage must have at least one sort key");
    }
    return SortPattern::compile(spec.document());
}

StagePtr makeSort(SortPattern pattern, int64_t limit) {
    return std::make_unique<SortStage>(std::move(pattern), limit);
}

}  // namespace freshet::query
