// SPDX-License-Identifier: Apache-2.0
/// From a projection's specification to its tree.
#include "freshet/bson/json.h"
#include "freshet/query/expression/operators.h"
#include "freshet/query/language.h"
#include "freshet/query/project/tree.h"

#include <algorithm>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::Type;

/// What has been seen so far decides between inclusion and exclusion.
struct ModeChoice {
    bool includes = false;
    bool excludes = false;
};

// find's own operators.
constexpr std::string_view kElemMatch = "$elemMatch";
constexpr std::string_view kSlice = "$slice";

class ProjectionParser {
public:
    explicit ProjectionParser(ProjectStyle style, Document variables = {})
        : style_(style), scope_(variables) {}

    StatusOr<ProjectTree> parse(Document spec) {
        for (const Element& field : spec) {
            FRESHET_RETURN_IF_ERROR(parseField(std::string(field.name()), field));
        }
        chooseMode();
        return std::move(tree_);
    }

    Status addExclusion(const std::string& path) {
        auto node = std::make_unique<ProjectNode>();
        node->kind = ProjectNode::kExclude;
        return insert(path, std::move(node));
    }

    ProjectTree finish() { return std::move(tree_); }

private:
    Status parseField(const std::string& path, const Element& value) {
        if (style_ == ProjectStyle::kFind) {
            FRESHET_RETURN_IF_ERROR(checkPositional(path, value));
        }
        if (style_ == ProjectStyle::kAddFields) {
            return parseAdded(path, value);
        }
        if (value.isNumber() || value.type() == Type::kBool) {
            return value.isTruthy() ? parseInclusion(path) : parseExclusion(path);
        }
        if (!value.isObject()) {
            return parseComputed(path, value);
        }
        const Document object = value.document();
        if (object.isEmpty()) {
            return invalid(location(51270),
                           "An empty sub-projection is not a valid value. Found empty object at "
                           "path");
        }
        if (!object.begin()->name().starts_with('$')) {
            return parseNested(path, object);
        }
        return style_ == ProjectStyle::kFind ? parseFindOperator(path, value)
                                             : parseComputed(path, value);
    }

    /// Where a positional operator may stand, and what it may be given.
    static Status checkPositional(const std::string& path, const Element& value) {
        const size_t at = path.find(".$");
        const bool isPart = at != path.npos && (at + 2 == path.size() || path[at + 2] == '.');
        if (!isPart) {
            return Status::ok();
        }
        if (at + 2 != path.size()) {
            return invalid(location(31394),
                           "As of 4.4, it's illegal to specify positional operator in the middle "
                           "of a path. Positional projection may only be used at the end, for "
                           "example: a.b.$. If the query previously used a form like a.b.$.d, "
                           "remove the parts following the '$' and the results will be "
                           "equivalent.");
        }
        if (value.isObject()) {
            return invalid(location(31271),
                           "positional projection cannot be used with an expression or sub object");
        }
        if (!value.isNumber() && value.type() != Type::kBool) {
            return invalid(location(31308), "positional projection cannot be used with a literal");
        }
        return value.isTruthy() ? Status::ok()
                                : invalid(location(31395),
                                          "positional projection cannot be used with exclusion");
    }

    Status parseNested(const std::string& path, Document object) {
        for (const Element& field : object) {
            FRESHET_RETURN_IF_ERROR(parseField(path + "." + std::string(field.name()), field));
        }
        return Status::ok();
    }

    Status parseAdded(const std::string& path, const Element& value) {
        if (value.isObject() && value.document().isEmpty()) {
            return invalid(
                Reason::kProjectEmpty,
                "an empty object is not a valid value. Found empty object at path " + path);
        }
        if (value.isObject() && !value.document().begin()->name().starts_with('$')) {
            return parseNested(path, value.document());
        }
        return insertComputed(path, value);
    }

    Status parseInclusion(const std::string& path) {
        if (style_ == ProjectStyle::kFind && path.ends_with(".$")) {
            return parsePositional(path.substr(0, path.size() - 2));
        }
        if (path != "_id") {
            FRESHET_RETURN_IF_ERROR(choose(true, path));
        }
        auto node = std::make_unique<ProjectNode>();
        node->kind = ProjectNode::kInclude;
        return insert(path, std::move(node));
    }

    Status parseExclusion(const std::string& path) {
        if (path != "_id") {
            FRESHET_RETURN_IF_ERROR(choose(false, path));
        }
        return addExclusion(path);
    }

    Status parsePositional(const std::string& path) {
        if (hasPositional_) {
            return invalid(location(31276),
                           "Cannot specify more than one positional projection per query.");
        }
        hasPositional_ = true;
        if (hasElemMatch_) {
            return invalid(location(31256), "Cannot specify positional operator and $elemMatch.");
        }
        FRESHET_RETURN_IF_ERROR(choose(true, path));
        auto node = std::make_unique<ProjectNode>();
        node->kind = ProjectNode::kPositional;
        node->path = path;
        return insert(path, std::move(node));
    }

    Status parseComputed(const std::string& path, const Element& value) {
        if (choice_.excludes) {
            return invalid(location(31252),
                           "Cannot use expression other than $meta in exclusion projection");
        }
        choice_.includes = true;
        return insertComputed(path, value);
    }

    /// A projection's own operator that nobody knows has another number than one further inside.
    static Status unknownOperator(const Element& value, Status status) {
        if (status.reason() != Reason::kUnknownExpression || !value.isObject()) {
            return status;
        }
        const std::string name(value.document().begin()->name());
        return !name.starts_with('$') || isOperator(name)
                   ? status
                   : invalid(location(31325), "Unknown expression " + name);
    }

    Status insertComputed(const std::string& path, const Element& value) {
        auto node = std::make_unique<ProjectNode>();
        node->kind = ProjectNode::kComputed;
        node->computes = true;
        auto expression = parseExpression(value, &scope_);
        if (!expression.isOk()) {
            return unknownOperator(value, std::move(expression).status());
        }
        node->expression = std::move(*expression);
        return insert(path, std::move(node));
    }

    Status parseFindOperator(const std::string& path, const Element& value) {
        const Element operand = *value.document().begin();
        if (operand.name() == kElemMatch) {
            return parseElemMatch(path, operand);
        }
        const bool isSlice = operand.name() == kSlice && isFindSlice(operand);
        return isSlice ? parseSlice(path, operand) : parseComputed(path, value);
    }

    Status parseElemMatch(const std::string& path, const Element& operand) {
        hasElemMatch_ = true;
        if (hasPositional_) {
            return invalid(location(31255), "Cannot specify positional operator and $elemMatch.");
        }
        if (!operand.isObject()) {
            return invalid(location(31274),
                           "elemMatch: Invalid argument, object required, but got " +
                               std::string(bson::typeName(operand.type())));
        }
        if (path.find('.') != path.npos) {
            return invalid(location(31275), "Cannot use $elemMatch projection on a nested field");
        }
        FRESHET_RETURN_IF_ERROR(choose(true, path));
        auto node = std::make_unique<ProjectNode>();
        node->kind = ProjectNode::kElemMatch;
        FRESHET_ASSIGN_OR_RETURN(node->elemMatch, compileValueMatcher(operand.document()));
        return insert(path, std::move(node));
    }

    /// A number or two: find's own operator. Otherwise the expression of the same name.
    static bool isFindSlice(const Element& operand) {
        if (!operand.isArray()) {
            return operand.isNumber();
        }
        const Document array = operand.document();
        return array.fieldCount() == 2 && array.find("0").isNumber() && array.find("1").isNumber();
    }

    Status parseSlice(const std::string& path, const Element& operand) {
        auto node = std::make_unique<ProjectNode>();
        node->kind = ProjectNode::kSlice;
        if (operand.isNumber()) {
            node->limit = clampToInt(operand.toInt64());
        } else {
            node->skip = clampToInt(operand.document().find("0").toInt64());
            node->limit = clampToInt(operand.document().find("1").toInt64());
            if (node->limit <= 0) {
                return badValue(
                    "First argument to $slice must be an array, or its limit must be "
                    "positive: " +
                    std::to_string(node->limit));
            }
        }
        return insert(path, std::move(node));
    }

    static int64_t clampToInt(int64_t value) {
        return std::clamp<int64_t>(value, -INT32_MAX, INT32_MAX);
    }

    Status choose(bool include, const std::string& path) {
        if (include ? choice_.excludes : choice_.includes) {
            const std::string what = include ? "inclusion" : "exclusion";
            const std::string where = include ? "exclusion" : "inclusion";
            return invalid(
                include ? location(31253) : Reason::kProjectionMixed,
                "Cannot do " + what + " on field " + path + " in " + where + " projection");
        }
        (include ? choice_.includes : choice_.excludes) = true;
        return Status::ok();
    }

    Status insert(const std::string& path, std::unique_ptr<ProjectNode> leaf) {
        ProjectNode* node = &tree_.root;
        const std::vector<std::string> parts = splitPath(path);
        for (size_t i = 0; i < parts.size(); ++i) {
            FRESHET_RETURN_IF_ERROR(checkPart(parts[i], path));
            const bool last = i + 1 == parts.size();
            node->computes |= leaf->computes;
            auto at = std::find_if(node->children.begin(),
                                   node->children.end(),
                                   [&](const auto& child) { return child.name == parts[i]; });
            if (at != node->children.end() && (last || at->node->kind != ProjectNode::kFields)) {
                return collision(path, parts, i, last);
            }
            if (at == node->children.end()) {
                node->children.push_back(
                    {parts[i], last ? std::move(leaf) : std::make_unique<ProjectNode>()});
                if (last) {
                    return Status::ok();
                }
                at = node->children.end() - 1;
            }
            node = at->node.get();
        }
        return Status::ok();
    }

    static Status checkPart(const std::string& part, const std::string& path) {
        if (part.empty()) {
            return invalid(Reason::kFieldPathInvalid,
                           path.ends_with('.') ? "FieldPath must not end with a '.'."
                                               : "FieldPath field names may not be empty strings.");
        }
        if (part[0] == '$') {
            return invalid(Reason::kFieldPathInvalid,
                           "FieldPath field names may not start with '$'. Consider using "
                           "$getField or $setField.");
        }
        return Status::ok();
    }

    static Status collision(const std::string& path,
                            const std::vector<std::string>& parts,
                            size_t at,
                            bool last) {
        std::string text = "Path collision at " + path;
        if (!last) {
            std::string rest;
            for (size_t i = at + 1; i < parts.size(); ++i) {
                rest += (rest.empty() ? "" : ".") + parts[i];
            }
            text += " remaining portion " + rest;
        }
        return invalid(last ? Reason::kPathCollision : location(31249), std::move(text));
    }

    /// The mode, and what it says about _id, which may be treated unlike the other fields.
    void chooseMode() {
        if (style_ == ProjectStyle::kAddFields) {
            tree_.mode = ProjectMode::kAddFields;
            return;
        }
        auto& children = tree_.root.children;
        const auto id = std::find_if(
            children.begin(), children.end(), [](const auto& c) { return c.name == "_id"; });
        const bool idIncluded = id != children.end() && id->node->kind == ProjectNode::kInclude;
        const bool idExcluded = id != children.end() && id->node->kind == ProjectNode::kExclude;
        const bool onlyIdIncluded = idIncluded && !choice_.excludes && children.size() == 1;
        if (!choice_.includes && !onlyIdIncluded) {
            tree_.mode = ProjectMode::kExclude;
            if (idIncluded) {
                children.erase(id);
            }
            return;
        }
        tree_.mode = ProjectMode::kInclude;
        if (idExcluded) {
            children.erase(id);
        } else if (id == children.end()) {
            auto node = std::make_unique<ProjectNode>();
            node->kind = ProjectNode::kInclude;
            children.insert(children.begin(), {"_id", std::move(node)});
        }
    }

    ProjectStyle style_;
    ExprScope scope_;
    ProjectTree tree_;
    ModeChoice choice_;
    bool hasPositional_ = false;
    bool hasElemMatch_ = false;
};

}  // namespace

const ProjectNode* ProjectNode::find(std::string_view name) const {
    for (const Child& child : children) {
        if (child.name == name) {
            return child.node.get();
        }
    }
    return nullptr;
}

StatusOr<ProjectTree> parseProjection(Document spec, ProjectStyle style, Document variables) {
    return ProjectionParser(style, variables).parse(spec);
}

Words projectionWords() {
    return {{.name = kElemMatch}, {.name = kSlice}};
}

StatusOr<ProjectTree> makeExclusion(const std::vector<std::string>& paths) {
    ProjectionParser parser(ProjectStyle::kStage);
    for (const std::string& path : paths) {
        FRESHET_RETURN_IF_ERROR(parser.addExclusion(path));
    }
    return parser.finish();
}

}  // namespace freshet::query
