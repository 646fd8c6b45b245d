// SPDX-License-Identifier: Apache-2.0
/// Makes a chain of stages from a pipeline's text.
#include "freshet/query/aggregate.h"
#include "freshet/query/aggregate/counted_stage.h"
#include "freshet/query/aggregate/stages.h"
#include "freshet/query/aggregate/step.h"
#include "freshet/query/language.h"

#include <algorithm>
#include <iterator>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;

struct StageParser {
    std::string_view name;
    StageOr (*make)(const PipelineMaker& maker, const Element& spec, StagePtr input);
};

constexpr StageParser kStages[] = {
    {"$match", makeMatch},
    {"$group", makeGroup},
    {"$sortByCount", makeSortByCount},
    {"$skip", makeSkip},
    {"$limit", makeLimit},
    {"$count", makeCount},
    {"$unwind", makeUnwind},
    {"$sample", makeSample},
    {"$redact", makeRedact},
    {"$lookup", makeLookup},
    {"$graphLookup", makeGraphLookup},
    {"$facet", makeFacet},
    {"$unionWith", makeUnionWith},
    {"$bucket", makeBucket},
    {"$bucketAuto", makeBucketAuto},
    {"$changeStreamSplitLargeEvent", makeSplitLargeEvent},
};

/// Stages that produce documents, and stages that write them.
constexpr std::string_view kSources[] = {"$documents",
                                         "$collStats",
                                         "$indexStats",
                                         "$currentOp",
                                         "$listLocalSessions",
                                         "$listSessions",
                                         "$geoNear",
                                         "$changeStream",
                                         "$planCacheStats",
                                         "$listSearchIndexes",
                                         "$search",
                                         "$searchMeta",
                                         "$vectorSearch"};
constexpr std::string_view kSinks[] = {"$out", "$merge"};
/// MongoDB's that do not exist here: the reader of the error need not look for a typing error.
constexpr std::string_view kNotYet[] = {
    "$densify", "$fill", "$listSampledQueries", "$setWindowFields", "$shardedDataDistribution"};

bool isSource(std::string_view name) {
    return std::find(std::begin(kSources), std::end(kSources), name) != std::end(kSources);
}

bool isSink(std::string_view name) {
    return std::find(std::begin(kSinks), std::end(kSinks), name) != std::end(kSinks);
}

StageOr makeStage(const PipelineMaker& maker,
                  const std::vector<Element>& specs,
                  size_t at,
                  StagePtr input) {
    const Element& spec = specs[at];
    const std::string name(spec.name());
    if (name == "$sort") {
        FRESHET_ASSIGN_OR_RETURN(SortPattern pattern, parseSortPattern(spec));
        return makeSort(maker.run, std::move(input), std::move(pattern), wantedFrom(specs, at + 1));
    }
    if (isStep(name)) {
        return makeStep(maker, spec, std::move(input));
    }
    for (const StageParser& known : kStages) {
        if (known.name == name) {
            return known.make(maker, spec, std::move(input));
        }
    }
    if (isSource(name)) {
        return invalid(location(40602), name + " is only valid as the first stage in a pipeline.");
    }
    if (isSink(name)) {
        return maker.depth > 0
                   ? invalid(location(51047), name + " is not allowed within an inner pipeline")
                   : invalid(location(40601),
                             name + " can only be the final stage in the pipeline");
    }
    return unknownStage(name);
}

/// Checks a pipeline as far as possible without parsing its stages.
Status checkStages(Document stages, size_t* made) {
    for (const Element& stage : stages) {
        FRESHET_RETURN_IF_ERROR(specOf(stage).status());
        if (++*made > kStagesMax) {
            return tooManyStages();
        }
    }
    return Status::ok();
}

OwnedDocument bothOf(const OwnedDocument& a, const OwnedDocument& b) {
    if (a.view().isEmpty() || b.view().isEmpty()) {
        return a.view().isEmpty() ? b : a;
    }
    bson::Builder builder;
    {
        bson::Builder members = builder.array("$and");
        members.push(a.view());
        members.push(b.view());
    }
    return OwnedDocument(builder.finish());
}

/// Makes the stages from `specs[at]` on.
StageOr chain(const PipelineMaker& maker,
              const std::vector<Element>& specs,
              size_t at,
              StagePtr source) {
    for (; at < specs.size(); ++at) {
        FRESHET_ASSIGN_OR_RETURN(source, makeStage(maker, specs, at, std::move(source)));
    }
    return source;
}

}  // namespace

StatusOr<ExprPtr> PipelineMaker::expression(const Element& element) const {
    ExprScope names(variables);
    return parseExpression(element, &names);
}

StatusOr<PipelineMaker> PipelineMaker::inner(Document innerVariables) const {
    if (depth == kInnerPipelinesMax) {
        return invalid(location(232),
                       "Maximum number of nested sub-pipelines exceeded. Limit is " +
                           std::to_string(kInnerPipelinesMax));
    }
    return PipelineMaker{run, depth + 1, stagesMade, innerVariables};
}

StageOr PipelineMaker::makeBehind(Document stages, StagePtr source) const {
    FRESHET_RETURN_IF_ERROR(checkStages(stages, stagesMade));
    std::vector<Element> specs;
    for (const Element& stage : stages) {
        specs.push_back(*stage.document().begin());
    }
    return chain(*this, specs, 0, std::move(source));
}

StageOr PipelineMaker::makeOver(Document stages,
                                CollectionRequest request,
                                PipelineFacts* facts) const {
    FRESHET_RETURN_IF_ERROR(checkStages(stages, stagesMade));
    const Element first = stages.isEmpty() ? Element() : *stages.begin()->document().begin();
    if (!first.isMissing() && isSource(first.name())) {
        const bool isChangeStream = query::isChangeStream(stages);
        if (isChangeStream) {
            FRESHET_RETURN_IF_ERROR(checkChangeStream(stages));
        }
        FRESHET_ASSIGN_OR_RETURN(StagePtr source, makeSource(*this, first));
        std::vector<Element> specs;
        for (const Element& stage : stages) {
            specs.push_back(*stage.document().begin());
        }
        if (facts != nullptr) {
            facts->stages = specs;
        }
        specs.erase(specs.begin());
        FRESHET_ASSIGN_OR_RETURN(StagePtr last, chain(*this, specs, 0, std::move(source)));
        return isChangeStream ? endChangeStream(run, stages, std::move(last))
                              : StageOr(std::move(last));
    }
    FRESHET_ASSIGN_OR_RETURN(ArrangedPipeline arranged, arrange(stages, variables));
    request.filter = bothOf(request.filter, arranged.filter);
    request.sort = arranged.sort;
    request.keep = arranged.keep;
    std::optional<CountedStart> counted = countedStart(*this, arranged);
    request.needsDocuments = !counted.has_value();
    OwnedDocument* plan = facts == nullptr ? nullptr : &facts->plan;
    FRESHET_ASSIGN_OR_RETURN(auto stream,
                             makeCollectionStream(run, std::move(request), variables, plan));
    const size_t done = counted.has_value() && stream != nullptr ? counted->stages : 0;
    StagePtr source = done > 0 ? makeCounted(run, std::move(stream), std::move(*counted))
                               : makeStreamStage(run, std::move(stream));
    FRESHET_ASSIGN_OR_RETURN(StagePtr last, chain(*this, arranged.rest, done, std::move(source)));
    if (facts != nullptr) {
        facts->filter = std::move(arranged.filter);
        facts->stages = std::move(arranged.rest);
        facts->held = std::move(arranged.held);
    }
    return last;
}

StatusOr<Element> specOf(const Element& stage) {
    if (!stage.isObject()) {
        return invalid(Reason::kTypeMismatch,
                       "Each element of the 'pipeline' array must be an object");
    }
    if (stage.document().fieldCount() != 1) {
        return invalid(Reason::kStageNotSingleField,
                       "A pipeline stage specification object must contain exactly one field.");
    }
    return *stage.document().begin();
}

bool isStage(std::string_view name) {
    return name == "$sort" || isStep(name) || isSource(name) || isSink(name) ||
           std::any_of(std::begin(kStages), std::end(kStages), [name](const StageParser& known) {
               return known.name == name;
           });
}

Words stageWords() {
    Words words = stepWords();
    words.push_back({.name = "$sort"});
    addWords(kStages, &words);
    for (const std::string_view name : kSources) {
        words.push_back({.name = name});
    }
    for (const std::string_view name : kSinks) {
        words.push_back({.name = name});
    }
    return words;
}

Status unknownStage(std::string_view name) {
    const bool isKnown =
        std::find(std::begin(kNotYet), std::end(kNotYet), name) != std::end(kNotYet);
    return invalid(Reason::kUnknownStage,
                   isKnown ? "The " + std::string(name) + " stage is not supported yet by Freshet"
                           : "Unrecognized pipeline stage name: '" + std::string(name) + "'");
}

Status checkStageNames(Document pipeline) {
    for (const Element& stage : pipeline) {
        FRESHET_ASSIGN_OR_RETURN(const Element spec, specOf(stage));
        if (!isStage(spec.name())) {
            return unknownStage(spec.name());
        }
    }
    return Status::ok();
}

Status tooManyStages() {
    return invalid(
        location(7749501),
        "Pipeline length must be no longer than " + std::to_string(kStagesMax) + " stages.");
}

}  // namespace freshet::query
