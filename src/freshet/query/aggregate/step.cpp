// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/aggregate/step.h"

#include "freshet/bson/json.h"
#include "freshet/query/project/tree.h"

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using StepOr = StatusOr<std::unique_ptr<DocumentStep>>;

class ProjectStep final : public DocumentStep {
public:
    explicit ProjectStep(ProjectTree tree) : tree_(std::move(tree)) {}
    Status apply(Document document, ExprContext* context, std::string* out) const override {
        out->clear();
        {
            bson::Builder builder(out);
            projectDocument(tree_, document, nullptr, context, &builder);
        }
        return context->failed() ? context->error : Status::ok();
    }

private:
    ProjectTree tree_;
};

class ReplaceRootStep final : public DocumentStep {
public:
    explicit ReplaceRootStep(ExprPtr newRoot) : newRoot_(std::move(newRoot)) {}
    Status apply(Document document, ExprContext* context, std::string* out) const override {
        context->root = document;
        const Value value = newRoot_->evaluate(*context);
        if (context->failed()) {
            return context->error;
        }
        if (!value.element().isObject()) {
            const std::string shown =
                value.isMissing() ? "MISSING" : bson::toShellText(value.element());
            return invalid(location(40228),
                           "PlanExecutor error during aggregation :: caused by :: 'newRoot' "
                           "expression  must evaluate to an object, but resulting value was: " +
                               shown + ". Type of resulting value: '" + typeOf(value.element()) +
                               "'. Input document: " + bson::toShellText(document));
        }
        if (!bson::nestsWithin(value.element(), kComputedNestingMax)) {
            return nestsTooDeeply();
        }
        out->assign(value.element().document().bytes());
        return Status::ok();
    }

private:
    ExprPtr newRoot_;
};

StepOr makeProject(StatusOr<ProjectTree> tree, std::string_view stage) {
    if (!tree.isOk()) {
        return tree.status().withContext("Invalid " + std::string(stage) + " :: caused by :");
    }
    return std::unique_ptr<DocumentStep>(std::make_unique<ProjectStep>(*std::move(tree)));
}

StepOr parseProject(const Element& spec, Document variables) {
    if (!spec.isObject()) {
        return invalid(location(15969), "$project specification must be an object");
    }
    if (spec.document().isEmpty()) {
        return invalid(location(51272),
                       "Invalid $project :: caused by :: projection specification must have at "
                       "least one field");
    }
    return makeProject(parseProjection(spec.document(), ProjectStyle::kStage, variables),
                       "$project");
}

StepOr parseAddFields(const Element& spec, Document variables) {
    const std::string name(spec.name());
    if (!spec.isObject()) {
        return invalid(location(40272),
                       name + " specification stage must be an object, got " + typeOf(spec));
    }
    if (spec.document().isEmpty()) {
        return invalid(
            location(40177),
            "Invalid " + name + " :: caused by :: specification must have at least one field");
    }
    return makeProject(parseProjection(spec.document(), ProjectStyle::kAddFields, variables), name);
}

StepOr parseUnset(const Element& spec, Document) {
    std::vector<std::string> paths;
    if (spec.isString()) {
        paths.emplace_back(spec.stringValue());
    } else if (!spec.isArray()) {
        return invalid(location(31002), "$unset specification must be a string or an array");
    } else if (spec.document().isEmpty()) {
        return invalid(location(31119),
                       "$unset specification must be a string or an array with at least one field");
    } else {
        for (const Element& member : spec.document()) {
            if (!member.isString()) {
                return invalid(location(31120),
                               "$unset specification must be a string or an array containing only "
                               "string values");
            }
            paths.emplace_back(member.stringValue());
        }
    }
    return makeProject(makeExclusion(paths), "$unset");
}

StepOr parseReplaceRoot(const Element& spec, Document variables) {
    Element newRoot = spec;
    if (spec.name() == "$replaceRoot") {
        if (!spec.isObject()) {
            return invalid(
                location(40229),
                "expected an object as specification for $replaceRoot stage, got " + typeOf(spec));
        }
        newRoot = spec.document().find("newRoot");
        for (const Element& option : spec.document()) {
            if (option.name() != "newRoot") {
                return invalid(location(40415),
                               "BSON field '$replaceRoot." + std::string(option.name()) +
                                   "' is an unknown field.");
            }
        }
        if (newRoot.isMissing()) {
            return invalid(location(40414),
                           "BSON field '$replaceRoot.newRoot' is missing but a required field");
        }
    }
    ExprScope scope(variables);
    FRESHET_ASSIGN_OR_RETURN(ExprPtr expression, parseExpression(newRoot, &scope));
    return makeReplaceRoot(std::move(expression));
}

struct StepParser {
    std::string_view name;
    StepOr (*parse)(const Element& spec, Document variables);
};

constexpr StepParser kSteps[] = {
    {"$project", parseProject},
    {"$addFields", parseAddFields},
    {"$set", parseAddFields},
    {"$unset", parseUnset},
    {"$replaceRoot", parseReplaceRoot},
    {"$replaceWith", parseReplaceRoot},
};

const StepParser* findStep(std::string_view name) {
    for (const StepParser& known : kSteps) {
        if (known.name == name) {
            return &known;
        }
    }
    return nullptr;
}

}  // namespace

std::string typeOf(const Element& element) {
    return std::string(bson::typeName(element.type()));
}

bool isStep(std::string_view stageName) {
    return findStep(stageName) != nullptr;
}

Words stepWords() {
    Words words;
    addWords(kSteps, &words);
    return words;
}

StepOr parseStep(const Element& spec, Document variables) {
    const StepParser* parser = findStep(spec.name());
    invariant(parser != nullptr);
    return parser->parse(spec, variables);
}

std::unique_ptr<DocumentStep> makeReplaceRoot(ExprPtr newRoot) {
    return std::make_unique<ReplaceRootStep>(std::move(newRoot));
}

}  // namespace freshet::query
