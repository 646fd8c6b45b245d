// SPDX-License-Identifier: Apache-2.0
/// $sort: holds its input, or with a limit only the best of it. Equal keys keep their order.
#include "freshet/query/aggregate/stages.h"

#include <algorithm>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;

class SortStage final : public BlockingStage {
public:
    SortStage(PipelineRun& run, StagePtr input, SortPattern pattern, int64_t limit)
        : BlockingStage(run, std::move(input)),
          pattern_(std::move(pattern)),
          limit_(static_cast<size_t>(limit)) {}

private:
    struct Row {
        std::string key;
        std::string document;
        size_t bytes() const { return sizeof(Row) + key.size() + document.size(); }
    };
    static bool before(const Row& a, const Row& b) { return a.key < b.key; }

    Status consume(Document document) override {
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
        rows_.push_back({std::move(key), std::string(document.bytes())});
        bytesHeld_ += rows_.back().bytes();
        if (limit_ != 0) {
            std::push_heap(rows_.begin(), rows_.end(), before);
        }
        return bytesHeld_ > kStageBytesMax ? exceededMemory(run_, "$sort") : Status::ok();
    }

    Status finish() override {
        std::sort(rows_.begin(), rows_.end(), before);
        return Status::ok();
    }

    Status give(Output* out) override {
        if (next_ > 0) {
            std::string().swap(rows_[next_ - 1].document);  // given and done with
        }
        return next_ == rows_.size() ? out->end() : out->give(Document(rows_[next_++].document));
    }

    SortPattern pattern_;
    size_t limit_;  // 0: none; otherwise rows_ is a heap with the worst row in front
    uint64_t arrived_ = 0;
    size_t bytesHeld_ = 0;
    size_t next_ = 0;
    std::vector<Row> rows_;
};

}  // namespace

StatusOr<SortPattern> parseSortPattern(const Element& spec) {
    if (!spec.isObject()) {
        return invalid(location(15973), "the $sort key specification must be an object");
    }
    if (spec.document().isEmpty()) {
        return invalid(Reason::kSortSpecInvalid, "$sort stage must have at least one sort key");
    }
    return SortPattern::compile(spec.document());
}

StagePtr makeSort(PipelineRun& run, StagePtr input, SortPattern pattern, int64_t limit) {
    return std::make_unique<SortStage>(run, std::move(input), std::move(pattern), limit);
}

StageOr makeSortStage(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    FRESHET_ASSIGN_OR_RETURN(SortPattern pattern, parseSortPattern(spec));
    return makeSort(maker.run, std::move(input), std::move(pattern), 0);
}

}  // namespace freshet::query
