// SPDX-License-Identifier: Apache-2.0
/// The start of a pipeline that wants only the number of documents.
#pragma once

#include "freshet/query/aggregate/stages.h"

#include <optional>

namespace freshet::query {

/// $skip, $limit and a $group into one group; all but the $group optional.
struct CountedStart {
    size_t stages = 0;  // how many stages of the pipeline it covers
    uint64_t skip = 0;
    uint64_t limit = INT64_MAX;
    bson::OwnedDocument key;  // {_id: ...} of the group
    std::string name;         // the name of the count's field
};

/// Nothing if the pipeline starts differently.
std::optional<CountedStart> countedStart(const PipelineMaker& maker,
                                         const ArrangedPipeline& pipeline);
/// Replaces the collection's documents and those stages.
StagePtr makeCounted(PipelineRun& run, std::unique_ptr<RowStream> stream, CountedStart start);

}  // namespace freshet::query
