// SPDX-License-Identifier: Apache-2.0
/// The stages of a pipeline, each made from its specification.
#pragma once

#include "freshet/query/aggregate/stage.h"
#include "freshet/query/transform.h"

namespace freshet::query {

inline constexpr size_t kStageBytesMax = 100u * 1024 * 1024;
inline constexpr size_t kStagesMax = 1000;     // of a pipeline and all inside it
inline constexpr int kInnerPipelinesMax = 20;  // nested in each other
/// What a member of a pipeline specifies: its one field. An error unless it is an object with one.
StatusOr<bson::Element> specOf(const bson::Element& stage);
bool isStage(std::string_view name);
Status unknownStage(std::string_view name);
Status tooManyStages();

/// What explain tells of a pipeline. `stages` point into the pipeline's text or into `held`.
struct PipelineFacts {
    bson::OwnedDocument filter;  // by which documents are found
    bson::OwnedDocument plan;    // how; empty when they do not come from a collection
    std::vector<bson::Element> stages;
    std::vector<std::unique_ptr<bson::OwnedDocument>> held;
};

/// Where a pipeline is being made.
struct PipelineMaker {
    PipelineRun& run;
    int depth = 0;       // of inner pipelines
    size_t* stagesMade;  // shared by inner pipelines
    bson::Document variables;

    /// A pipeline whose first stage reads from `source`. `stages` must live while it is made only.
    StatusOr<StagePtr> makeBehind(bson::Document stages, StagePtr source) const;
    /// A pipeline over the request's collection (its filter and sort are made here). `facts` may be
    /// null.
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
#undef FRESHET_STAGE

/// A $group's fields; `id`: what to group by when `fields` has no _id, else null.
StageOr makeGroupBy(const PipelineMaker& maker, ExprPtr id, bson::Document fields, StagePtr input);
StatusOr<SortPattern> parseSortPattern(const bson::Element& spec);
/// `limit`: only that many are asked for; 0 for all.
StagePtr makeSort(PipelineRun& run, StagePtr input, SortPattern pattern, int64_t limit);
/// {$limit: n} or {$skip: n}.
StatusOr<int64_t> parseStageNumber(const bson::Element& spec);
/// {$documents: expression}: its documents.
StatusOr<std::vector<bson::OwnedDocument>> evaluateDocuments(const PipelineMaker& maker,
                                                             const bson::Element& spec);
/// The stages that documents come from, other than collections.
StatusOr<StagePtr> makeSource(const PipelineMaker& maker, const bson::Element& spec);

/// The $match stages that may run first, and what is left. `specs` point into the pipeline's text
/// or into *held.
struct ArrangedPipeline {
    bson::OwnedDocument filter;       // to find documents by; {} when none
    bson::OwnedDocument sort;         // their order; {} when none
    uint64_t keep = 0;                // only the first so many of that order; 0: all
    std::vector<bson::Element> rest;  // stages that come after these
    std::vector<std::unique_ptr<bson::OwnedDocument>> held;
};
/// REQUIRES: every stage is an object of one field.
StatusOr<ArrangedPipeline> arrange(bson::Document stages, bson::Document variables);
/// How many documents the $skip and $limit from `specs[at]` on let through, behind stages that give
/// one document for one; 0 for all.
int64_t wantedFrom(const std::vector<bson::Element>& specs, size_t at);

}  // namespace freshet::query
