// SPDX-License-Identifier: Apache-2.0
/// The stages of a pipeline, each made from its specification.
#pragma once

#include "freshet/query/aggregate/stage.h"
#include "freshet/query/transform.h"

namespace freshet::query {

inline constexpr size_t kStageBytesMax = 100u * 1024 * 1024;
inline constexpr size_t kStagesMax = 1000;     // of a pipeline and its inner ones
inline constexpr int kInnerPipelinesMax = 20;  // nested in each other
/// The specification in a pipeline's member: its one field. An error unless the member is an object
/// with one field.
StatusOr<bson::Element> specOf(const bson::Element& stage);
bool isStage(std::string_view name);
Status unknownStage(std::string_view name);
Status tooManyStages();

/// What explain shows of a pipeline. `stages` point into the pipeline's text or into `held`.
struct PipelineFacts {
    bson::OwnedDocument filter;  // by which documents are found
    bson::OwnedDocument plan;    // how they are found; empty if they do not come from a collection
    std::vector<bson::Element> stages;
    std::vector<std::unique_ptr<bson::OwnedDocument>> held;
};

/// The context in which a pipeline is made.
struct PipelineMaker {
    PipelineRun& run;
    int depth = 0;       // of inner pipelines
    size_t* stagesMade;  // shared by inner pipelines
    bson::Document variables;

    /// A pipeline whose first stage reads from `source`. `stages` must live only during the call.
    StatusOr<StagePtr> makeBehind(bson::Document stages, StagePtr source) const;
    /// A pipeline over the request's collection (the request's filter and sort are set here).
    /// `facts` may be null.
    StatusOr<StagePtr> makeOver(bson::Document stages,
                                CollectionRequest request,
                                PipelineFacts* facts) const;
    /// A maker for pipelines inside this one; kInvalid when they nest too deeply.
    StatusOr<PipelineMaker> inner(bson::Document innerVariables) const;
    /// Parses an expression that sees the pipeline's variables.
    StatusOr<ExprPtr> expression(const bson::Element& element) const;
};

/// Each takes `{$name: operand}` and the stage before it.
using StageOr = StatusOr<StagePtr>;
#define FRESHET_STAGE(function) \
    StageOr function(const PipelineMaker& maker, const bson::Element& spec, StagePtr input)
FRESHET_STAGE(makeMatch);
FRESHET_STAGE(makeStep);
FRESHET_STAGE(makeGroup);
FRESHET_STAGE(makeSortByCount);
FRESHET_STAGE(makeSortStage);
FRESHET_STAGE(makeUnwind);
FRESHET_STAGE(makeCount);
FRESHET_STAGE(makeSkip);
FRESHET_STAGE(makeLimit);
FRESHET_STAGE(makeSample);
FRESHET_STAGE(makeRedact);
FRESHET_STAGE(makeLookup);
FRESHET_STAGE(makeGraphLookup);
FRESHET_STAGE(makeFacet);
FRESHET_STAGE(makeUnionWith);
FRESHET_STAGE(makeBucket);
FRESHET_STAGE(makeBucketAuto);
FRESHET_STAGE(makeSplitLargeEvent);
#undef FRESHET_STAGE

/// The fields of a $group. `id`: what to group by if `fields` has no _id, else null.
StageOr makeGroupBy(const PipelineMaker& maker, ExprPtr id, bson::Document fields, StagePtr input);
StatusOr<SortPattern> parseSortPattern(const bson::Element& spec);
/// `limit`: only that many are wanted; 0: all.
StagePtr makeSort(PipelineRun& run, StagePtr input, SortPattern pattern, int64_t limit);
/// {$limit: n} or {$skip: n}.
StatusOr<int64_t> parseStageNumber(const bson::Element& spec);
/// The documents of a source that exist already.
StagePtr makeEntriesStage(PipelineRun& run, std::unique_ptr<TailSource> source);
/// The documents of {$documents: expression}.
StatusOr<std::vector<bson::OwnedDocument>> evaluateDocuments(const PipelineMaker& maker,
                                                             const bson::Element& spec);
/// Stages that produce documents from something other than a collection.
StatusOr<StagePtr> makeSource(const PipelineMaker& maker, const bson::Element& spec);
/// The stages of a pipeline that begins with $changeStream: the first one, and the checks behind
/// the last one.
StatusOr<StagePtr> makeChangeStream(const PipelineMaker& maker);
StatusOr<StagePtr> endChangeStream(PipelineRun& run, bson::Document stages, StagePtr last);

/// A pipeline's $match stages that may run first, and the remaining stages. `specs` point into the
/// pipeline's text or into *held.
struct ArrangedPipeline {
    bson::OwnedDocument filter;       // to find documents by; {} if none
    bson::OwnedDocument sort;         // their order; {} when none
    uint64_t keep = 0;                // only the first `keep` of that order; 0: all
    std::vector<bson::Element> rest;  // the remaining stages
    std::vector<std::unique_ptr<bson::OwnedDocument>> held;
};
/// REQUIRES: every stage is an object of one field.
StatusOr<ArrangedPipeline> arrange(bson::Document stages, bson::Document variables);
/// How many documents the $skip and $limit stages from `specs[at]` on let through, looking past
/// stages that give one document per document; 0: all.
int64_t wantedFrom(const std::vector<bson::Element>& specs, size_t at);

}  // namespace freshet::query
