// SPDX-License-Identifier: Apache-2.0
/// aggregate: pipelines over collections, read through a QueryCursor. What $out and $merge do with
/// the documents is the caller's part.
#pragma once

#include "freshet/query/cursor.h"

#include <functional>
#include <optional>
#include <vector>

namespace freshet::query {

struct AggregateRequest {
    std::string db;
    catalog::CollectionRef collection;  // may be null: no such collection
    bson::OwnedDocument pipeline;       // the array of stages
    bson::OwnedDocument variables;      // as evaluateLet() makes them; {} none
    bson::OwnedDocument hint;           // as FindRequest::hint
    std::optional<bool> allowDiskUse;   // as FindRequest::allowDiskUse
    SpillSpace* spill = nullptr;
    /// Collections that stages name ($lookup ...); none are seen when it is empty.
    std::function<catalog::CollectionRef(std::string_view db, std::string_view collection)> find;
    /// What callersStage() gives; it is refused without.
    std::optional<std::vector<bson::OwnedDocument>> source;
};

/// The first stage when it tells of the server ($currentOp, $collStats ...): its documents are for
/// the caller to bring. Missing when it is another one.
bson::Element callersStage(bson::Document pipeline);

/// A leading $match (also one behind stages that do not touch its fields), $sort and $limit use
/// indexes. kInvalid with MongoDB's code and text for a bad pipeline.
StatusOr<std::unique_ptr<QueryCursor>> makeAggregate(engine::Store& store,
                                                     AggregateRequest request);

/// Checks an aggregate without a collection ({aggregate: 1}): its first stage must bring documents.
Status checkWithoutCollection(bson::Document pipeline);

/// What is wrong with a pipeline before its stages are looked into: members that are no stages, and
/// stages that do not exist. A command with such a pipeline fails as a whole.
Status checkStageNames(bson::Document pipeline);

/// The last stage is $out or $merge.
bool writesResult(bson::Document pipeline);

/// The same pipeline without its last stage.
bson::OwnedDocument withoutLastStage(bson::Document pipeline);

}  // namespace freshet::query
