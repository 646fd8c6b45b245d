// SPDX-License-Identifier: Apache-2.0
/// From the pipeline's array to what the storage may do and the stages that are left.
#include "freshet/bson/json.h"
#include "freshet/query/aggregate/stages.h"

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;

constexpr size_t kStagesMax = 1000;
// A stage nests its input at most twice as deep as its text is, so this keeps all that recurses
// over documents far from the stack's end.
constexpr int kTotalNestingMax = 4000;

struct StageParser {
    std::string_view name;
    Status (*parse)(const Element& spec, std::vector<StagePtr>* out);
};

constexpr StageParser kStages[] = {
    {"$match", parseMatch},
    {"$project", parseProject},
    {"$addFields", parseAddFields},
    {"$set", parseAddFields},
    {"$unset", parseUnset},
    {"$group", parseGroup},
    {"$sortByCount", parseSortByCount},
    {"$skip", parseSkip},
    {"$limit", parseLimit},
    {"$count", parseCount},
    {"$unwind", parseUnwind},
    {"$replaceRoot", parseReplaceRoot},
    {"$replaceWith", parseReplaceRoot},
};

StatusOr<std::vector<Element>> stageSpecs(Document stages) {
    std::vector<Element> specs;
    int nesting = 0;
    for (const Element& stage : stages) {
        if (!stage.isObject()) {
            return invalid(Reason::kTypeMismatch,
                           "Each element of the 'pipeline' array must be an object");
        }
        if (stage.document().fieldCount() != 1) {
            return invalid(Reason::kStageNotSingleField,
                           "A pipeline stage specification object must contain exactly one "
                           "field.");
        }
        specs.push_back(*stage.document().begin());
        nesting += nestingOf(specs.back());
    }
    if (nesting > kTotalNestingMax) {
        return invalid(Reason::kOverflow, "The pipeline's stages nest too deeply");
    }
    if (specs.size() > kStagesMax) {
        return invalid(
            Reason::kFailedToParse,
            "Pipeline length must be no longer than " + std::to_string(kStagesMax) + " stages");
    }
    return specs;
}

/// How many documents a $sort at `specs[at]` must give for the $skip and $limit behind it; 0 for
/// all.
StatusOr<int64_t> wantedOfSort(const std::vector<Element>& specs, size_t at) {
    int64_t skipped = 0;
    size_t next = at + 1;
    if (next < specs.size() && specs[next].name() == "$skip") {
        FRESHET_ASSIGN_OR_RETURN(skipped, parseStageNumber(specs[next]));
        ++next;
    }
    if (next == specs.size() || specs[next].name() != "$limit") {
        return int64_t{0};
    }
    FRESHET_ASSIGN_OR_RETURN(const int64_t limit, parseStageNumber(specs[next]));
    int64_t wanted = 0;
    return __builtin_add_overflow(skipped, limit, &wanted) ? int64_t{0} : wanted;
}

Status parseStage(const std::vector<Element>& specs, size_t at, std::vector<StagePtr>* out) {
    const Element& spec = specs[at];
    if (spec.name() == "$sort") {
        FRESHET_ASSIGN_OR_RETURN(SortPattern pattern, parseSortPattern(spec));
        FRESHET_ASSIGN_OR_RETURN(const int64_t wanted, wantedOfSort(specs, at));
        out->push_back(makeSort(std::move(pattern), wanted));
        return Status::ok();
    }
    for (const StageParser& known : kStages) {
        if (known.name == spec.name()) {
            return known.parse(spec, out);
        }
    }
    return invalid(Reason::kUnknownStage,
                   "Unrecognized pipeline stage name: '" + std::string(spec.name()) + "'");
}

/// Leading $match stages as one filter; returns how many there are.
StatusOr<size_t> takeLeadingMatch(const std::vector<Element>& specs, OwnedDocument* filter) {
    size_t count = 0;
    while (count < specs.size() && specs[count].name() == "$match") {
        std::vector<StagePtr> checked;
        FRESHET_RETURN_IF_ERROR(parseMatch(specs[count], &checked));
        ++count;
    }
    if (count == 1) {
        *filter = OwnedDocument(specs[0].document());
    } else if (count > 1) {
        bson::Builder builder;
        {
            bson::Builder members = builder.array("$and");
            for (size_t i = 0; i < count; ++i) {
                members.push(specs[i].document());
            }
        }
        *filter = OwnedDocument(builder.finish());
    }
    return count;
}

}  // namespace

StatusOr<Pipeline> compilePipeline(Document stages) {
    FRESHET_ASSIGN_OR_RETURN(const std::vector<Element> specs, stageSpecs(stages));
    Pipeline pipeline;
    FRESHET_ASSIGN_OR_RETURN(size_t at, takeLeadingMatch(specs, &pipeline.leadingMatch));
    if (at < specs.size() && specs[at].name() == "$sort") {
        FRESHET_RETURN_IF_ERROR(parseSortPattern(specs[at]).status());
        pipeline.leadingSort = OwnedDocument(specs[at].document());
        ++at;
    }
    if (at < specs.size() && specs[at].name() == "$limit") {
        FRESHET_ASSIGN_OR_RETURN(pipeline.leadingLimit, parseStageNumber(specs[at]));
        ++at;
    }
    if (at < specs.size()) {
        pipeline.needsNoFields = specs[at].name() == "$count" ||
                                 (specs[at].name() == "$group" && readsNoFields(specs[at]));
    }
    for (; at < specs.size(); ++at) {
        FRESHET_RETURN_IF_ERROR(parseStage(specs, at, &pipeline.stages));
    }
    return pipeline;
}

}  // namespace freshet::query
