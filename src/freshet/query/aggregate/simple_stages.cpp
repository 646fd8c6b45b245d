// SPDX-License-Identifier: Apache-2.0
/// Stages that hold nothing: one document in, at most one out.
#include "freshet/bson/json.h"
#include "freshet/platform/clock.h"
#include "freshet/query/aggregate/stages.h"

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;

class MatchStage final : public Stage {
public:
    explicit MatchStage(std::unique_ptr<Matcher> matcher) : matcher_(std::move(matcher)) {}
    Status push(Document document, Documents* out) override {
        bool matched = false;
        FRESHET_RETURN_IF_ERROR(matcher_->test(document, &matched));
        if (matched) {
            out->emplace_back(document);
        }
        return Status::ok();
    }
    Status finish(Documents*) override { return Status::ok(); }

private:
    std::unique_ptr<Matcher> matcher_;
};

class LimitStage final : public Stage {
public:
    explicit LimitStage(int64_t limit) : left_(limit) {}
    Status push(Document document, Documents* out) override {
        if (left_ > 0) {
            --left_;
            out->emplace_back(document);
        }
        return Status::ok();
    }
    Status finish(Documents*) override { return Status::ok(); }
    bool isSatisfied() const override { return left_ == 0; }

private:
    int64_t left_;
};

class SkipStage final : public Stage {
public:
    explicit SkipStage(int64_t count) : left_(count) {}
    Status push(Document document, Documents* out) override {
        if (left_ > 0) {
            --left_;
        } else {
            out->emplace_back(document);
        }
        return Status::ok();
    }
    Status finish(Documents*) override { return Status::ok(); }

private:
    int64_t left_;
};

class CountStage final : public Stage {
public:
    explicit CountStage(std::string name) : name_(std::move(name)) {}
    Status push(Document, Documents*) override {
        ++count_;
        return Status::ok();
    }
    Status finish(Documents* out) override {
        if (count_ > 0) {
            bson::Builder builder;
            builder.addAs(name_, Value::ofInteger(count_).element());
            out->emplace_back(builder.finish());
        }
        return Status::ok();
    }

private:
    std::string name_;
    int64_t count_ = 0;
};

class ProjectStage final : public Stage {
public:
    explicit ProjectStage(ProjectTree tree) : tree_(std::move(tree)) {
        context_.nowMillis = platform::wallMillis();
    }
    Status push(Document document, Documents* out) override {
        bson::Builder builder;
        projectDocument(tree_, document, nullptr, &context_, &builder);
        std::string bytes = builder.finish();
        if (context_.failed()) {
            return context_.error;
        }
        out->emplace_back(std::move(bytes));
        return Status::ok();
    }
    Status finish(Documents*) override { return Status::ok(); }

private:
    ProjectTree tree_;
    ExprContext context_;
};

class ReplaceRootStage final : public Stage {
public:
    explicit ReplaceRootStage(ExprPtr newRoot) : newRoot_(std::move(newRoot)) {
        context_.nowMillis = platform::wallMillis();
    }
    Status push(Document document, Documents* out) override {
        context_.root = document;
        const Value value = newRoot_->evaluate(context_);
        if (context_.failed()) {
            return context_.error;
        }
        if (!value.element().isObject()) {
            const std::string shown =
                value.isMissing() ? "MISSING" : bson::toShellText(value.element());
            return invalid(Reason::kTypeMismatch,
                           "'newRoot' expression  must evaluate to an object, but resulting value "
                           "was: " +
                               shown + ". Type of resulting value: '" +
                               std::string(bson::typeName(value.type())) +
                               "'. Input document: " + bson::toShellText(document));
        }
        out->emplace_back(value.element().document());
        return Status::ok();
    }
    Status finish(Documents*) override { return Status::ok(); }

private:
    ExprPtr newRoot_;
    ExprContext context_;
};

}  // namespace

Status exceededMemory(const char* stage) {
    return Status(Code::kLimit,
                  Reason::kExceededMemoryLimit,
                  std::string("Exceeded memory limit for ") + stage + ": it may hold " +
                      std::to_string(kStageBytesMax) +
                      " bytes, and this server does not spill to disk");
}

Status parseMatch(const Element& spec, std::vector<StagePtr>* out) {
    if (!spec.isObject()) {
        return invalid(Reason::kSpecNotObject,
                       "the match filter must be an expression in an object");
    }
    FRESHET_ASSIGN_OR_RETURN(auto matcher, Matcher::compile(spec.document()));
    out->push_back(std::make_unique<MatchStage>(std::move(matcher)));
    return Status::ok();
}

Status parseProject(const Element& spec, std::vector<StagePtr>* out) {
    constexpr std::string_view kPrefix = "Invalid $project :: caused by :: ";
    if (!spec.isObject()) {
        return invalid(Reason::kSpecNotObject, "$project specification must be an object");
    }
    if (spec.document().isEmpty()) {
        return invalid(
            Reason::kProjectEmpty,
            std::string(kPrefix) + "projection specification must have at least one field");
    }
    auto tree = parseProjection(spec.document(), ProjectStyle::kStage);
    if (!tree.isOk()) {
        return tree.status().withContext("Invalid $project :: caused by :");
    }
    out->push_back(std::make_unique<ProjectStage>(*std::move(tree)));
    return Status::ok();
}

Status parseAddFields(const Element& spec, std::vector<StagePtr>* out) {
    const std::string name(spec.name());
    if (!spec.isObject()) {
        return invalid(Reason::kSpecNotObject,
                       name + " specification stage must be an object, got " +
                           std::string(bson::typeName(spec.type())));
    }
    if (spec.document().isEmpty()) {
        return invalid(
            Reason::kProjectEmpty,
            "Invalid " + name + " :: caused by :: specification must have at least one field");
    }
    auto tree = parseProjection(spec.document(), ProjectStyle::kAddFields);
    if (!tree.isOk()) {
        return tree.status().withContext("Invalid " + name + " :: caused by :");
    }
    out->push_back(std::make_unique<ProjectStage>(*std::move(tree)));
    return Status::ok();
}

Status parseUnset(const Element& spec, std::vector<StagePtr>* out) {
    std::vector<std::string> paths;
    if (spec.isString()) {
        paths.emplace_back(spec.stringValue());
    } else if (spec.isArray() && !spec.document().isEmpty()) {
        for (const Element& member : spec.document()) {
            if (!member.isString()) {
                return invalid(Reason::kSpecNotObject,
                               "$unset specification must be a string or an array containing only "
                               "string values");
            }
            paths.emplace_back(member.stringValue());
        }
    } else {
        return invalid(Reason::kSpecNotObject,
                       spec.isArray()
                           ? "$unset specification must be a string or an array with at least one "
                             "field"
                           : "$unset specification must be a string or an array");
    }
    auto tree = makeExclusion(paths);
    if (!tree.isOk()) {
        return tree.status().withContext("Invalid $unset :: caused by :");
    }
    out->push_back(std::make_unique<ProjectStage>(*std::move(tree)));
    return Status::ok();
}

Status parseReplaceRoot(const Element& spec, std::vector<StagePtr>* out) {
    Element newRoot = spec;
    if (spec.name() == "$replaceRoot") {
        if (!spec.isObject()) {
            return invalid(Reason::kSpecNotObject,
                           "expected an object as specification for $replaceRoot stage, got " +
                               std::string(bson::typeName(spec.type())));
        }
        newRoot = spec.document().find("newRoot");
        if (newRoot.isMissing()) {
            return invalid(Reason::kMissingField,
                           "BSON field '$replaceRoot.newRoot' is missing but a required field");
        }
    }
    FRESHET_ASSIGN_OR_RETURN(ExprPtr expression, parseExpression(newRoot));
    out->push_back(std::make_unique<ReplaceRootStage>(std::move(expression)));
    return Status::ok();
}

Status parseCount(const Element& spec, std::vector<StagePtr>* out) {
    const auto wrong = [](const char* text) { return invalid(Reason::kCountFieldInvalid, text); };
    if (!spec.isString() || spec.stringValue().empty()) {
        return wrong("the count field must be a non-empty string");
    }
    const std::string name(spec.stringValue());
    if (name[0] == '$') {
        return wrong("the count field cannot be a $-prefixed path");
    }
    if (name.find('\0') != name.npos) {
        return wrong("the count field cannot contain a null byte");
    }
    if (name.find('.') != name.npos) {
        return wrong("the count field cannot contain '.'");
    }
    out->push_back(std::make_unique<CountStage>(name));
    return Status::ok();
}

StatusOr<int64_t> parseStageNumber(const Element& spec) {
    const std::string name(spec.name());
    const std::string shown = name + ": " + bson::toShellText(spec);
    const std::string prefix = "invalid argument to " + name + " stage: ";
    int64_t number = 0;
    if (!spec.isNumber()) {
        return invalid(Reason::kFailedToParse, prefix + "Expected a number in: " + shown);
    }
    if (!spec.toExactInt64(&number)) {
        return invalid(Reason::kFailedToParse, prefix + "Expected an integer: " + shown);
    }
    if (number < 0) {
        return invalid(Reason::kFailedToParse,
                       prefix + "Expected a non-negative number in: " + shown);
    }
    if (number == 0 && name == "$limit") {
        return invalid(Reason::kLimitNotPositive, "the limit must be positive");
    }
    return number;
}

Status parseSkip(const Element& spec, std::vector<StagePtr>* out) {
    FRESHET_ASSIGN_OR_RETURN(const int64_t count, parseStageNumber(spec));
    out->push_back(std::make_unique<SkipStage>(count));
    return Status::ok();
}

Status parseLimit(const Element& spec, std::vector<StagePtr>* out) {
    FRESHET_ASSIGN_OR_RETURN(const int64_t count, parseStageNumber(spec));
    out->push_back(std::make_unique<LimitStage>(count));
    return Status::ok();
}

}  // namespace freshet::query
