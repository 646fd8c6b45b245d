// SPDX-License-Identifier: Apache-2.0
/// The beginning of a pipeline that asks for the number of documents and for nothing else of them.
#pragma once

#include "freshet/query/aggregate/stages.h"

#include <optional>

namespace freshet::query {

/// $skip, $limit and a $group into one, all but the last as they like.
struct CountedStart {
    size_t stages = 0;  // so many of the pipeline's
    uint64_t skip = 0;
    uint64_t limit = INT64_MAX;
    bson::OwnedDocument key;  // {_id: ...} of the group
    std::string name;         // of the number
};

/// Nothing when the pipeline begins in another way.
std::optional<CountedStart> countedStart(const PipelineMaker& maker,
                                         const ArrangedPipeline& pipeline);
/// In place of the collection's documents and of those stages.
StagePtr makeCounted(PipelineRun& run, std::unique_ptr<RowStream> stream, CountedStart start);

}  // namespace freshet::query
