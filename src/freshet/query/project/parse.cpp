// SPDX-License-Identifier: Apache-2.0
/// Parses a projection's specification into its tree.
#include "freshet/bson/json.h"
#include "freshet/bson/path.h"
#include "freshet/query/expression/operators.h"
#include "freshet/query/language.h"
#include "freshet/query/limits.h"
#include "freshet/query/project/tree.h"

#include <algorithm>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::Type;

/// What has been seen so far; it decides between inclusion and exclusion.
struct ModeChoice {
    bool includes = false;
    bool excludes = false;
};

// find's own operators.
constexpr std::string_view kElemMatch = "$elemMatch";
constexpr std::string_view kSlice = "$slice";

/// The position of a field in the specification: its name within the object at `above`. The whole
/// path is built only for messages, since it may be long and end in many different fields.
struct SpecPosition {
    SpecPosition* above = nullptr;
    std::string_view name;
    size_t parts = 0;             // of the whole path
    ProjectNode* node = nullptr;  // of an object with fields, once one of them is in the tree

    SpecPosition() = default;
    SpecPosition(SpecPosition* outer, std::string_view fieldName)
        : above(outer), name(fieldName), parts(outer->parts + bson::pathParts(fieldName)) {}
    bool isTop() const { return above->above == nullptr; }
    std::string path() const {
        return isTop() ? std::string(name) : above->path() + "." + std::string(name);
    }
};

class ProjectionParser {
public:
    explicit ProjectionParser(ProjectStyle style, Document variables = {})
        : style_(style), scope_(variables) {}

    StatusOr<ProjectTree> parse(Document spec) {
        SpecPosition root;
        root.node = &tree_.root;
        FRESHET_RETURN_IF_ERROR(parseFields(spec, &root));
        noteComputing(&tree_.root);
        chooseMode();
        return std::move(tree_);
    }

    Status addExclusion(std::string_view path) {
        SpecPosition root;
        root.node = &tree_.root;
        SpecPosition position(&root, path);
        FRESHET_RETURN_IF_ERROR(bson::checkPathParts(position.parts));
        return insert(&root, position, ProjectNode::kExclude);
    }

    ProjectTree finish() { return std::move(tree_); }

private:
    Status parseFields(Document fields, SpecPosition* object) {
        for (const Element& field : fields) {
            SpecPosition position(object, field.name());
            FRESHET_RETURN_IF_ERROR(mayGoOn());
            FRESHET_RETURN_IF_ERROR(bson::checkPathParts(position.parts));
            FRESHET_RETURN_IF_ERROR(parseField(object, &position, field));
        }
        return Status::ok();
    }

    Status parseField(SpecPosition* object, SpecPosition* position, const Element& value) {
        if (style_ == ProjectStyle::kFind) {
            FRESHET_RETURN_IF_ERROR(checkPositional(*position, value));
        }
        if (style_ == ProjectStyle::kAddFields) {
            return parseAdded(object, position, value);
        }
        if (value.isNumber() || value.type() == Type::kBool) {
            return value.isTruthy() ? parseInclusion(object, *position)
                                    : parseExclusion(object, *position);
        }
        if (!value.isObject()) {
            return parseComputed(object, *position, value);
        }
        const Document inside = value.document();
        if (inside.isEmpty()) {
            return invalid(location(51270),
                           "An empty sub-projection is not a valid value. Found empty object at "
                           "path");
        }
        if (!inside.begin()->name().starts_with('$')) {
            return parseFields(inside, position);
        }
        return style_ == ProjectStyle::kFind ? parseFindOperator(object, *position, value)
                                             : parseComputed(object, *position, value);
    }

    /// The offset after the first positional operator in the name; 0 if there is none.
    static size_t positionalEnd(const SpecPosition& position) {
        const std::string_view name = position.name;
        const auto endsAt = [name](size_t at) {
            return at == name.size() || name[at] == '.' ? at : 0;
        };
        if (!position.isTop() && name.starts_with('$')) {
            return endsAt(1);
        }
        const size_t at = name.find(".$");
        return at == name.npos ? 0 : endsAt(at + 2);
    }

    static bool endsPositional(const SpecPosition& position) {
        const size_t end = positionalEnd(position);
        return end != 0 && end == position.name.size();
    }

    /// Checks the position and the value of a positional operator.
    static Status checkPositional(const SpecPosition& position, const Element& value) {
        const size_t end = positionalEnd(position);
        if (end == 0) {
            return Status::ok();
        }
        if (end != position.name.size()) {
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

    Status parseAdded(SpecPosition* object, SpecPosition* position, const Element& value) {
        if (value.isObject() && value.document().isEmpty()) {
            return invalid(Reason::kProjectEmpty,
                           "an empty object is not a valid value. Found empty object at path " +
                               position->path());
        }
        if (value.isObject() && !value.document().begin()->name().starts_with('$')) {
            return parseFields(value.document(), position);
        }
        return insertComputed(object, *position, value);
    }

    static bool isId(const SpecPosition& position) {
        return position.isTop() && position.name == "_id";
    }

    Status parseInclusion(SpecPosition* object, const SpecPosition& position) {
        if (style_ == ProjectStyle::kFind && endsPositional(position)) {
            return parsePositional(position);
        }
        if (!isId(position)) {
            FRESHET_RETURN_IF_ERROR(choose(true, position));
        }
        return insert(object, position, ProjectNode::kInclude);
    }

    Status parseExclusion(SpecPosition* object, const SpecPosition& position) {
        if (!isId(position)) {
            FRESHET_RETURN_IF_ERROR(choose(false, position));
        }
        return insert(object, position, ProjectNode::kExclude);
    }

    Status parsePositional(const SpecPosition& position) {
        if (hasPositional_) {
            return invalid(location(31276),
                           "Cannot specify more than one positional projection per query.");
        }
        hasPositional_ = true;
        if (hasElemMatch_) {
            return invalid(location(31256), "Cannot specify positional operator and $elemMatch.");
        }
        const std::string path = position.path();
        auto node = std::make_unique<ProjectNode>(ProjectNode::kPositional);
        node->special->path = path.substr(0, path.size() - 2);
        SpecPosition root;
        root.node = &tree_.root;
        const SpecPosition array(&root, node->special->path);
        FRESHET_RETURN_IF_ERROR(choose(true, array));
        return insert(&root, array, std::move(node));
    }

    Status parseComputed(SpecPosition* object, const SpecPosition& position, const Element& value) {
        if (choice_.excludes) {
            return invalid(location(31252),
                           "Cannot use expression other than $meta in exclusion projection");
        }
        choice_.includes = true;
        return insertComputed(object, position, value);
    }

    /// An unknown operator directly in the projection has a different error code than one nested
    /// deeper.
    static Status unknownOperator(const Element& value, Status status) {
        if (status.reason() != Reason::kUnknownExpression || !value.isObject()) {
            return status;
        }
        const std::string name(value.document().begin()->name());
        return !name.starts_with('$') || isOperator(name)
                   ? status
                   : invalid(location(31325), "Unknown expression " + name);
    }

    Status insertComputed(SpecPosition* object,
                          const SpecPosition& position,
                          const Element& value) {
        auto node = std::make_unique<ProjectNode>(ProjectNode::kComputed);
        node->computes = true;
        auto expression = parseExpression(value, &scope_);
        if (!expression.isOk()) {
            return style_ == ProjectStyle::kAddFields
                       ? std::move(expression).status()
                       : unknownOperator(value, std::move(expression).status());
        }
        node->expression = std::move(*expression);
        return insert(object, position, std::move(node));
    }

    Status parseFindOperator(SpecPosition* object,
                             const SpecPosition& position,
                             const Element& value) {
        const Element operand = *value.document().begin();
        if (operand.name() == kElemMatch) {
            return parseElemMatch(object, position, operand);
        }
        const bool isSlice = operand.name() == kSlice && isFindSlice(operand);
        return isSlice ? parseSlice(object, position, operand)
                       : parseComputed(object, position, value);
    }

    Status parseElemMatch(SpecPosition* object,
                          const SpecPosition& position,
                          const Element& operand) {
        hasElemMatch_ = true;
        if (hasPositional_) {
            return invalid(location(31255), "Cannot specify positional operator and $elemMatch.");
        }
        if (!operand.isObject()) {
            return invalid(location(31274),
                           "elemMatch: Invalid argument, object required, but got " +
                               std::string(bson::typeName(operand.type())));
        }
        if (position.parts > 1) {
            return invalid(location(31275), "Cannot use $elemMatch projection on a nested field");
        }
        FRESHET_RETURN_IF_ERROR(choose(true, position));
        auto node = std::make_unique<ProjectNode>(ProjectNode::kElemMatch);
        FRESHET_ASSIGN_OR_RETURN(node->special->elemMatch, compileValueMatcher(operand.document()));
        return insert(object, position, std::move(node));
    }

    /// One or two numbers: find's own operator. Otherwise the expression of the same name.
    static bool isFindSlice(const Element& operand) {
        if (!operand.isArray()) {
            return operand.isNumber();
        }
        const Document array = operand.document();
        return array.fieldCount() == 2 && array.find("0").isNumber() && array.find("1").isNumber();
    }

    Status parseSlice(SpecPosition* object, const SpecPosition& position, const Element& operand) {
        auto node = std::make_unique<ProjectNode>(ProjectNode::kSlice);
        if (operand.isNumber()) {
            node->special->limit = clampToInt(operand.toInt64());
        } else {
            node->special->skip = clampToInt(operand.document().find("0").toInt64());
            node->special->limit = clampToInt(operand.document().find("1").toInt64());
            if (node->special->limit <= 0) {
                return badValue(
                    "First argument to $slice must be an array, or its limit must be "
                    "positive: " +
                    std::to_string(node->special->limit));
            }
        }
        return insert(object, position, std::move(node));
    }

    static int64_t clampToInt(int64_t value) {
        return std::clamp<int64_t>(value, -INT32_MAX, INT32_MAX);
    }

    Status choose(bool include, const SpecPosition& position) {
        if (include ? choice_.excludes : choice_.includes) {
            const std::string what = include ? "inclusion" : "exclusion";
            const std::string where = include ? "exclusion" : "inclusion";
            return invalid(include ? location(31253) : Reason::kProjectionMixed,
                           "Cannot do " + what + " on field " + position.path() + " in " + where +
                               " projection");
        }
        (include ? choice_.includes : choice_.excludes) = true;
        return Status::ok();
    }

    Status insert(SpecPosition* object, const SpecPosition& position, ProjectNode::Kind kind) {
        return insert(object, position, std::make_unique<ProjectNode>(kind));
    }

    /// Inserts a leaf at `position`, a field of `object`, into the tree.
    Status insert(SpecPosition* object,
                  const SpecPosition& position,
                  std::unique_ptr<ProjectNode> leaf) {
        FRESHET_RETURN_IF_ERROR(reach(object, position));
        const size_t lastDot = position.name.rfind('.');
        ProjectNode* node = object->node;
        std::string_view last = position.name;
        if (lastDot != last.npos) {
            FRESHET_ASSIGN_OR_RETURN(node,
                                     follow(node, position, last.substr(0, lastDot), position));
            last.remove_prefix(lastDot + 1);
        }
        FRESHET_RETURN_IF_ERROR(checkPart(last, position));
        if (node->indexOf(last) != ProjectNode::kNone) {
            return invalid(Reason::kPathCollision, "Path collision at " + position.path());
        }
        node->add(last, std::move(leaf));
        return Status::ok();
    }

    /// Finds or makes the tree node of an object. `leaf`: the field that needs it.
    static Status reach(SpecPosition* object, const SpecPosition& leaf) {
        if (object->node != nullptr) {
            return Status::ok();
        }
        FRESHET_RETURN_IF_ERROR(reach(object->above, leaf));
        FRESHET_ASSIGN_OR_RETURN(object->node,
                                 follow(object->above->node, *object, object->name, leaf));
        return Status::ok();
    }

    /// Follows `parts`, a prefix of the name of `position` or all of it, down from `node`; makes
    /// missing nodes.
    static StatusOr<ProjectNode*> follow(ProjectNode* node,
                                         const SpecPosition& position,
                                         std::string_view parts,
                                         const SpecPosition& leaf) {
        for (size_t start = 0; start != parts.npos;) {
            const size_t dot = parts.find('.', start);
            const std::string_view part =
                parts.substr(start, dot != parts.npos ? dot - start : dot);
            FRESHET_RETURN_IF_ERROR(checkPart(part, leaf));
            const size_t at = node->indexOf(part);
            if (at == ProjectNode::kNone) {
                node = node->add(part, std::make_unique<ProjectNode>());
            } else if (node->children[at]->kind == ProjectNode::kFields) {
                node = node->children[at].get();
            } else {
                const size_t bytes =
                    position.path().size() - position.name.size() + start + part.size();
                const std::string path = leaf.path();
                return invalid(
                    location(31249),
                    "Path collision at " + path + " remaining portion " + path.substr(bytes + 1));
            }
            start = dot == parts.npos ? dot : dot + 1;
        }
        return node;
    }

    static Status checkPart(std::string_view part, const SpecPosition& leaf) {
        if (part.empty()) {
            return invalid(Reason::kFieldPathInvalid,
                           leaf.name.ends_with('.')
                               ? "FieldPath must not end with a '.'."
                               : "FieldPath field names may not be empty strings.");
        }
        if (part[0] == '$' && !bson::isDbRefPart(part)) {
            return invalid(Reason::kFieldPathInvalid,
                           "FieldPath field names may not start with '$'. Consider using "
                           "$getField or $setField.");
        }
        return Status::ok();
    }

    /// Sets in each node whether something below it computes.
    static bool noteComputing(ProjectNode* node) {
        for (const auto& child : node->children) {
            node->computes |= noteComputing(child.get());
        }
        return node->computes;
    }

    /// Chooses the mode and the treatment of _id, which may differ from that of other fields.
    void chooseMode() {
        if (style_ == ProjectStyle::kAddFields) {
            tree_.mode = ProjectMode::kAddFields;
            return;
        }
        ProjectNode& root = tree_.root;
        const size_t id = root.indexOf("_id");
        const bool isThere = id != ProjectNode::kNone;
        const bool idIncluded = isThere && root.children[id]->kind == ProjectNode::kInclude;
        const bool idExcluded = isThere && root.children[id]->kind == ProjectNode::kExclude;
        const bool onlyIdIncluded = idIncluded && !choice_.excludes && root.children.size() == 1;
        if (!choice_.includes && !onlyIdIncluded) {
            tree_.mode = ProjectMode::kExclude;
            if (idIncluded) {
                root.erase(id);
            }
            return;
        }
        tree_.mode = ProjectMode::kInclude;
        if (idExcluded) {
            root.erase(id);
        } else if (!isThere) {
            root.insertFirst("_id", std::make_unique<ProjectNode>(ProjectNode::kInclude));
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

ProjectNode* ProjectNode::add(std::string_view childName, std::unique_ptr<ProjectNode> child) {
    child->name = childName;
    children.push_back(std::move(child));
    if (children.size() == kWalkedMax + 1) {
        index();
    } else if (children.size() > kWalkedMax) {
        positions_->emplace(children.back()->name, static_cast<uint32_t>(children.size() - 1));
    }
    return children.back().get();
}

void ProjectNode::erase(size_t position) {
    children.erase(children.begin() + static_cast<ptrdiff_t>(position));
    index();
}

void ProjectNode::insertFirst(std::string_view childName, std::unique_ptr<ProjectNode> child) {
    child->name = childName;
    children.insert(children.begin(), std::move(child));
    index();
}

size_t ProjectNode::lookUp(std::string_view childName) const {
    const auto at = positions_->find(childName);
    return at == positions_->end() ? kNone : at->second;
}

void ProjectNode::index() {
    positions_ = children.size() > kWalkedMax ? std::make_unique<Positions>() : nullptr;
    for (size_t at = 0; positions_ != nullptr && at < children.size(); ++at) {
        positions_->emplace(children[at]->name, static_cast<uint32_t>(at));
    }
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
