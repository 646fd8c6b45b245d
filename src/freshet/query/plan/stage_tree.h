// SPDX-License-Identifier: Apache-2.0
/// What explain shows of a plan: a tree of stages under the protocol's names, with or without
/// execution counts. Values; one thread at a time.
#pragma once

#include "freshet/query/plan/planner.h"

#include <string>
#include <vector>

namespace freshet::query {

struct StageNode {
    std::string name;
    bson::OwnedDocument details;  // fields beyond the common ones
    uint64_t nReturned = 0;
    uint64_t keysExamined = 0;
    uint64_t docsExamined = 0;
    std::vector<StageNode> inputs;
};

/// What a scan has done so far.
struct ScanCounts {
    uint64_t keysExamined = 0;
    uint64_t docsExamined = 0;
    uint64_t given = 0;  // documents, or entries that stand for documents
};

/// {stage, details..., inputStage}; with counts also nReturned, works, ...
bson::OwnedDocument describeTree(const StageNode& root, bool withCounts);
/// {nReturned, executionTimeMillis, totalKeysExamined, totalDocsExamined, executionStages}.
bson::OwnedDocument describeRun(const StageNode& root, uint64_t elapsedMillis);

/// The part of a tree that reads documents; `matched`: how many passed the filter.
StageNode stagesOf(const Plan& plan,
                   bson::Document filter,
                   bool fetches,
                   const ScanCounts& counts,
                   uint64_t matched);

/// One stage above another that passes on `nReturned`.
StageNode stageAbove(std::string name,
                     bson::OwnedDocument details,
                     uint64_t nReturned,
                     StageNode input);

}  // namespace freshet::query
