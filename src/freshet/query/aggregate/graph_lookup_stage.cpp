// SPDX-License-Identifier: Apache-2.0
/// $graphLookup: all documents that can be reached from a value, level by level.
#include "freshet/bson/json.h"
#include "freshet/query/aggregate/inner_pipeline.h"
#include "freshet/query/aggregate/nested_field.h"
#include "freshet/query/expression/value_set.h"
#include "freshet/query/match/tree.h"

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;

struct GraphSpec {
    catalog::CollectionRef from;
    ExprPtr startWith;
    std::vector<std::string> connectFrom;
    std::string connectTo;
    std::vector<std::string> as;
    std::vector<std::string> depthField;  // empty: not wanted
    int64_t maxDepth = INT64_MAX;
    OwnedDocument restriction;
};

class GraphLookupStage final : public ChainedStage {
public:
    GraphLookupStage(PipelineRun& run, StagePtr input, GraphSpec spec, OwnedDocument variables)
        : ChainedStage(run, std::move(input)),
          spec_(std::move(spec)),
          variables_(std::move(variables)) {}

    Status next(Output* out) override {
        if (!hasLocal_) {
            Output in;
            FRESHET_RETURN_IF_ERROR(input().next(&in));
            if (in.isEnd) {
                return out->end();
            }
            local_.assign(in.document.bytes());
            FRESHET_RETURN_IF_ERROR(start());
            hasLocal_ = true;
        }
        while (level_ != nullptr || beginLevel()) {
            FRESHET_RETURN_IF_ERROR(levelStatus_);
            FRESHET_RETURN_IF_ERROR(runLevel());
        }
        FRESHET_RETURN_IF_ERROR(levelStatus_);
        hasLocal_ = false;
        const Value found = Value::ofArray(found_->finish());
        if (!context_.allowsNesting(found.element(), static_cast<int>(spec_.as.size()))) {
            return context_.error;
        }
        bson::Builder builder;
        writeReplaced(Document(local_), spec_.as, found.element(), &builder);
        bytes_ = builder.finish();
        return out->give(Document(bytes_));
    }

private:
    Status start() {
        context_.root = Document(local_);
        const Value first = spec_.startWith->evaluate(context_);
        if (context_.failed()) {
            return context_.error;
        }
        found_ = std::make_unique<bson::Builder>();
        visitedIds_.clear();
        asked_.clear();
        frontier_.clear();
        depth_ = 0;
        bytesHeld_ = 0;
        reach(first);
        return Status::ok();
    }

    /// Adds a value, or each member of an array, to the next level unless it has been looked up
    /// before.
    void reach(const Value& value) {
        if (value.isMissing()) {
            return;
        }
        if (value.element().isArray()) {
            for (const Element& member : value.element().document()) {
                reachOne(Value(member).own());
            }
        } else {
            reachOne(value.own());
        }
    }
    void reachOne(const Value& value) {
        if (asked_.insert(value).second) {
            bytesHeld_ += 2 * value.heldBytes();
            frontier_.push_back(value);
        }
    }

    /// False if there is nothing left to look up.
    bool beginLevel() {
        if (frontier_.empty() || depth_ > spec_.maxDepth) {
            return false;
        }
        CollectionRequest request;
        request.collection = spec_.from;
        request.filter = levelFilter();
        frontier_.clear();
        auto level = makeCollectionStage(run_, std::move(request), variables_.view());
        if (!level.isOk()) {
            levelStatus_ = level.status();
            return false;
        }
        level_ = *std::move(level);
        return true;
    }

    OwnedDocument levelFilter() const {
        OwnedDocument reached = valueFilter(spec_.connectTo, frontier_);
        if (spec_.restriction.view().isEmpty()) {
            return reached;
        }
        bson::Builder builder;
        {
            bson::Builder both = builder.array("$and");
            both.push(reached.view());
            both.push(spec_.restriction.view());
        }
        return OwnedDocument(builder.finish());
    }

    Status runLevel() {
        for (;;) {
            Output in;
            FRESHET_RETURN_IF_ERROR(level_->next(&in));
            if (in.isEnd) {
                level_.reset();
                ++depth_;
                return Status::ok();
            }
            FRESHET_RETURN_IF_ERROR(visit(in.document));
        }
    }

    Status visit(Document document) {
        const Value id = Value(document.find("_id")).own();
        if (!visitedIds_.insert(id).second) {
            return Status::ok();
        }
        if (spec_.depthField.empty()) {
            found_->push(document);
        } else {
            bson::Builder builder;
            writeReplaced(document, spec_.depthField, Value::of(depth_).element(), &builder);
            const std::string bytes = builder.finish();
            found_->push(Document(bytes));
        }
        const Value next =
            followPath(Value(document.find(spec_.connectFrom[0])), spec_.connectFrom, 1);
        reach(next);
        bytesHeld_ += document.size() + id.heldBytes();
        if (bytesHeld_ > kStageBytesMax) {
            return Status(
                Code::kLimit, location(40099), "$graphLookup reached maximum memory consumption");
        }
        return Status::ok();
    }

    uint64_t ownBytes() const override {
        return bytesHeld_ + local_.capacity() + bytes_.capacity();
    }

    GraphSpec spec_;
    OwnedDocument variables_;
    bool hasLocal_ = false;
    std::string local_;
    std::unique_ptr<bson::Builder> found_;
    ValueSet visitedIds_;
    ValueSet asked_;
    std::vector<Value> frontier_;  // to look up in the next level
    int64_t depth_ = 0;
    size_t bytesHeld_ = 0;
    StagePtr level_;  // the level being read; null between two levels
    Status levelStatus_;
    std::string bytes_;
};

Status readPath(const Element& option, std::string* out) {
    if (!option.isString()) {
        return invalid(location(40103),
                       "expected string as argument for " + std::string(option.name()) +
                           ", found: " + bson::toShellText(option));
    }
    FRESHET_RETURN_IF_ERROR(checkFieldPath(option.stringValue()));
    *out = std::string(option.stringValue());
    return Status::ok();
}

Status readOption(const PipelineMaker& maker, const Element& option, GraphSpec* spec) {
    const std::string_view name = option.name();
    std::string path;
    if (name == "startWith") {
        FRESHET_ASSIGN_OR_RETURN(spec->startWith, maker.expression(option));
    } else if (name == "maxDepth") {
        if (!option.isNumber()) {
            return invalid(location(40100),
                           "maxDepth requires numeric argument, found type: " +
                               std::string(bson::typeName(option.type())));
        }
        if (!option.toExactInt64(&spec->maxDepth)) {
            return invalid(
                location(40102),
                "maxDepth could not be represented as a long long: " + bson::toShellText(option));
        }
        if (spec->maxDepth < 0) {
            return invalid(location(40101),
                           "maxDepth requires a nonnegative argument, found: " +
                               std::to_string(spec->maxDepth));
        }
    } else if (name == "restrictSearchWithMatch") {
        if (!option.isObject()) {
            return invalid(location(40185),
                           "restrictSearchWithMatch must be an object, found " +
                               std::string(bson::typeName(option.type())));
        }
        FRESHET_ASSIGN_OR_RETURN(const auto matcher,
                                 Matcher::compile(option.document(), maker.variables));
        FRESHET_RETURN_IF_ERROR(refuseWhere(matcher->root()));
        spec->restriction = OwnedDocument(option.document());
    } else if (name == "from") {
        FRESHET_ASSIGN_OR_RETURN(spec->from, collectionOf(maker, option));
    } else if (name == "connectToField") {
        FRESHET_RETURN_IF_ERROR(readPath(option, &spec->connectTo));
    } else if (name == "as" || name == "connectFromField" || name == "depthField") {
        FRESHET_RETURN_IF_ERROR(readPath(option, &path));
        auto& where = name == "as"                 ? spec->as
                      : name == "connectFromField" ? spec->connectFrom
                                                   : spec->depthField;
        where = splitPath(path);
    } else {
        return invalid(location(40104), "Unknown argument to $graphLookup: " + std::string(name));
    }
    return Status::ok();
}

}  // namespace

StageOr makeGraphLookup(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    if (!spec.isObject()) {
        return invalid(location(40327),
                       "the $graphLookup stage specification must be an object, but found " +
                           std::string(bson::typeName(spec.type())));
    }
    GraphSpec parsed;
    for (const Element& option : spec.document()) {
        FRESHET_RETURN_IF_ERROR(readOption(maker, option, &parsed));
    }
    const bool isComplete = spec.document().has("from") && !parsed.as.empty() &&
                            parsed.startWith != nullptr && !parsed.connectFrom.empty() &&
                            !parsed.connectTo.empty();
    if (!isComplete) {
        return invalid(location(40105),
                       "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and "
                       "'connectToField' to be specified.");
    }
    return StagePtr(std::make_unique<GraphLookupStage>(
        maker.run, std::move(input), std::move(parsed), OwnedDocument(maker.variables)));
}

}  // namespace freshet::query
