// SPDX-License-Identifier: Apache-2.0
/// $sort: holds its input, or with a limit only the first documents. Equal keys keep their order.
#include "freshet/query/aggregate/sorting_stage.h"
#include "freshet/query/aggregate/stages.h"

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;

class SortStage final : public SortingStage {
public:
    SortStage(PipelineRun& run, StagePtr input, SortPattern pattern, int64_t limit)
        : SortingStage(
              run, std::move(input), static_cast<uint64_t>(limit), run.memory().limits.sort),
          pattern_(std::move(pattern)) {}

private:
    Status consume(Document document) override {
        return sort(pattern_.keyOf(document), document.bytes());
    }

    SortPattern pattern_;
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
