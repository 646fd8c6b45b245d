// SPDX-License-Identifier: Apache-2.0
/// aggregate: pipelines over collections, read through a QueryCursor. The caller carries out $out
/// and $merge.
#pragma once

#include "freshet/query/cursor.h"
#include "freshet/query/tail.h"

#include <functional>
#include <memory>
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
    /// Looks up the collections that stages name ($lookup ...). Empty: stages see no other
    /// collections.
    std::function<catalog::CollectionRef(std::string_view db, std::string_view collection)> find;
    /// The documents of callersStage(). Absent: a pipeline with such a stage is refused.
    std::optional<std::vector<bson::OwnedDocument>> source;
    /// Read instead of a collection, as long as it is not dry; null: none.
    std::unique_ptr<TailSource> entries;
    /// The events of a pipeline that begins with $changeStream; null for any other. Each has its
    /// resume token as its _id. The cursor then reads no collection.
    std::unique_ptr<TailSource> tail;
    /// How many parts of its first event the client already has: it resumes behind one of them.
    /// Until that event is given, resumeToken() of `tail` is what the client resumes with.
    int32_t skipParts = 0;
};

/// The first stage, if its documents describe the server ($currentOp, $collStats ...) and so must
/// come from the caller. Missing for any other first stage.
bson::Element callersStage(bson::Document pipeline);

/// The first stage is $changeStream.
bool isChangeStream(bson::Document pipeline);
/// Checks which stages follow $changeStream, before its source is made: kIllegalOperation for those
/// that it does not permit ($out among them). REQUIRES: isChangeStream().
Status checkChangeStream(bson::Document pipeline);

/// The error of $listSearchIndexes and of the commands for search indexes: those of MongoDB's
/// server when it runs without the search service.
Status searchIndexesNotEnabled();

/// $match, $sort and $limit at the start use indexes; so does a $match behind stages that do not
/// touch its fields. kInvalid with MongoDB's code and text for a bad pipeline.
StatusOr<std::unique_ptr<QueryCursor>> makeAggregate(const WorkUnit& unit,
                                                     AggregateRequest request);

/// Checks an aggregate without a collection ({aggregate: 1}): its first stage must produce
/// documents.
Status checkWithoutCollection(bson::Document pipeline);

/// Checks a pipeline before its stages are parsed: each member must be a stage, and each stage must
/// exist. A command whose pipeline fails here fails as a whole.
Status checkStageNames(bson::Document pipeline);

/// The last stage is $out or $merge.
bool writesResult(bson::Document pipeline);

/// The same pipeline without its last stage.
bson::OwnedDocument withoutLastStage(bson::Document pipeline);

}  // namespace freshet::query
