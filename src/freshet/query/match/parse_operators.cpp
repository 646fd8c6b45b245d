// SPDX-License-Identifier: Apache-2.0
/// Parses a filter into a tree: the operators on one path, {a: {$gt: 1, $in: [...]}}.
#include "freshet/query/language.h"
#include "freshet/query/match/tree.h"

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::Type;

NodePtr negate(NodePtr child) {
    auto node = std::make_unique<MatchNode>();
    node->op = MatchOp::kNot;
    node->path = child->path;
    node->children.push_back(std::move(child));
    return node;
}

StatusOr<NodePtr> comparisonNode(std::string_view path, MatchOp op, const Element& operand) {
    if (operand.type() == Type::kUndefined) {
        return badValue("cannot compare to undefined");
    }
    if (operand.type() == Type::kRegex && op != MatchOp::kEq) {
        return badValue("Can't have RegEx as arg to predicate over field '" + std::string(path) +
                        "'.");
    }
    NodePtr node = makeNode(op, path, nullptr);
    node->operand = operand;
    return node;
}

StatusOr<NodePtr> notEqualNode(std::string_view path, const Element& operand) {
    if (operand.type() == Type::kRegex) {
        return badValue("Can't have regex as arg to $ne.");
    }
    FRESHET_ASSIGN_OR_RETURN(NodePtr node, comparisonNode(path, MatchOp::kEq, operand));
    return negate(std::move(node));
}

Status addInMember(std::string_view path,
                   const Element& member,
                   MatchNode* node,
                   MatchNode::Extra* extra) {
    if (member.isObject() && isOperatorObject(member.document())) {
        return badValue("cannot nest $ under $in");
    }
    if (member.type() == Type::kUndefined) {
        return badValue("InMatchExpression equality cannot be undefined");
    }
    if (member.type() == Type::kRegex) {
        const bson::RegexView regex = member.regexValue();
        FRESHET_ASSIGN_OR_RETURN(NodePtr child, makeRegexNode(path, regex.pattern, regex.options));
        node->children.push_back(std::move(child));
        return Status::ok();
    }
    extra->hasNull |= member.isNull();
    node->operands.push_back(member);
    return Status::ok();
}

StatusOr<NodePtr> inNode(std::string_view path, const Element& operand) {
    if (!operand.isArray()) {
        return badValue("$in needs an array");
    }
    std::shared_ptr<MatchNode::Extra> extra;
    NodePtr node = makeNode(MatchOp::kIn, path, &extra);
    for (const Element& member : operand.document()) {
        FRESHET_RETURN_IF_ERROR(addInMember(path, member, node.get(), extra.get()));
    }
    sortOperands(&node->operands);
    return node;
}

StatusOr<NodePtr> elemMatchNode(std::string_view path, const Element& operand) {
    if (!operand.isObject()) {
        return badValue("$elemMatch needs an Object");
    }
    const Document object = operand.document();
    const bool onValues = isOperatorObject(object) && !isDocumentOperator(object.begin()->name());
    NodePtr node =
        makeNode(onValues ? MatchOp::kElemMatchValue : MatchOp::kElemMatchObject, path, nullptr);
    FRESHET_ASSIGN_OR_RETURN(NodePtr child,
                             onValues ? parseValueCondition(object) : parseFilter(object));
    FRESHET_RETURN_IF_ERROR(refuseExpr(*child));
    node->children.push_back(std::move(child));
    return node;
}

bool isElemMatch(const Element& member) {
    return member.isObject() && !member.document().isEmpty() &&
           member.document().begin()->name() == "$elemMatch";
}

Status addAllMember(std::string_view path, const Element& member, std::vector<NodePtr>* members) {
    if (isElemMatch(member)) {
        return parsePathOperators(path, member.document(), members);
    }
    if (member.isObject() && isOperatorObject(member.document())) {
        return badValue("no $ expressions in $all");
    }
    if (member.type() == Type::kRegex) {
        const bson::RegexView regex = member.regexValue();
        FRESHET_ASSIGN_OR_RETURN(NodePtr node, makeRegexNode(path, regex.pattern, regex.options));
        members->push_back(std::move(node));
        return Status::ok();
    }
    FRESHET_ASSIGN_OR_RETURN(NodePtr node, comparisonNode(path, MatchOp::kEq, member));
    members->push_back(std::move(node));
    return Status::ok();
}

StatusOr<NodePtr> allNode(std::string_view path, const Element& operand) {
    if (!operand.isArray()) {
        return badValue("$all needs an array");
    }
    std::vector<NodePtr> members;
    const Document array = operand.document();
    const bool elemMatches = !array.isEmpty() && isElemMatch(*array.begin());
    for (const Element& member : array) {
        if (isElemMatch(member) != elemMatches) {
            return badValue(elemMatches ? "$all/$elemMatch has to be consistent"
                                        : "no $ expressions in $all");
        }
        FRESHET_RETURN_IF_ERROR(addAllMember(path, member, &members));
    }
    if (members.empty()) {
        return makeNode(MatchOp::kAlwaysFalse, path, nullptr);
    }
    return combine(MatchOp::kAnd, std::move(members));
}

StatusOr<NodePtr> notNode(std::string_view path, const Element& operand) {
    if (operand.type() == Type::kRegex) {
        const bson::RegexView regex = operand.regexValue();
        FRESHET_ASSIGN_OR_RETURN(NodePtr node, makeRegexNode(path, regex.pattern, regex.options));
        return negate(std::move(node));
    }
    if (!operand.isObject()) {
        return badValue("$not needs a regex or a document");
    }
    if (operand.document().isEmpty()) {
        return badValue("$not cannot be empty");
    }
    std::vector<NodePtr> parts;
    FRESHET_RETURN_IF_ERROR(parsePathOperators(path, operand.document(), &parts));
    return negate(combine(MatchOp::kAnd, std::move(parts)));
}

StatusOr<NodePtr> existsNode(std::string_view path, const Element& operand) {
    NodePtr node = makeNode(MatchOp::kExists, path, nullptr);
    node->flag = operand.isTruthy();
    return node;
}

StatusOr<NodePtr> notInNode(std::string_view path, const Element& operand) {
    if (!operand.isArray()) {
        return badValue("$nin needs an array");
    }
    FRESHET_ASSIGN_OR_RETURN(NodePtr node, inNode(path, operand));
    return negate(std::move(node));
}

template <MatchOp op>
StatusOr<NodePtr> compareNode(std::string_view path, const Element& operand) {
    return comparisonNode(path, op, operand);
}

/// $regex and $options are one predicate, in either order.
Status parseRegexOperators(std::string_view path, Document object, std::vector<NodePtr>* out) {
    std::string_view pattern;
    std::string_view flags;
    bool flagsInRegex = false;
    bool hasPattern = false;
    for (const Element& element : object) {
        if (element.name() == "$regex") {
            hasPattern = true;
            if (element.type() == Type::kRegex) {
                pattern = element.regexValue().pattern;
                if (!element.regexValue().options.empty()) {
                    if (!flags.empty()) {
                        return invalid(location(51074), "options set in both $regex and $options");
                    }
                    flags = element.regexValue().options;
                    flagsInRegex = true;
                }
            } else if (element.isString()) {
                pattern = element.stringValue();
            } else {
                return badValue("$regex has to be a string");
            }
        } else if (element.name() == "$options") {
            if (!element.isString()) {
                return badValue("$options has to be a string");
            }
            if (flagsInRegex) {
                return invalid(location(51075), "options set in both $regex and $options");
            }
            flags = element.stringValue();
        }
    }
    if (!hasPattern) {
        return badValue("$options needs a $regex");
    }
    FRESHET_ASSIGN_OR_RETURN(NodePtr node, makeRegexNode(path, pattern, flags));
    out->push_back(std::move(node));
    return Status::ok();
}

struct PathOperator {
    std::string_view name;
    StatusOr<NodePtr> (*parse)(std::string_view path, const Element& operand);
};

constexpr PathOperator kPathOperators[] = {
    {"$eq", compareNode<MatchOp::kEq>},
    {"$gt", compareNode<MatchOp::kGt>},
    {"$gte", compareNode<MatchOp::kGte>},
    {"$lt", compareNode<MatchOp::kLt>},
    {"$lte", compareNode<MatchOp::kLte>},
    {"$ne", notEqualNode},
    {"$in", inNode},
    {"$nin", notInNode},
    {"$exists", existsNode},
    {"$not", notNode},
    {"$elemMatch", elemMatchNode},
    {"$all", allNode},
    {"$type", parseTypeNode},
    {"$mod", parseModNode},
    {"$size", parseSizeNode},
    {"$bitsAllSet", parseBitsNode},
    {"$bitsAllClear", parseBitsNode},
    {"$bitsAnySet", parseBitsNode},
    {"$bitsAnyClear", parseBitsNode},
};

// Two operators that make one node together, and one that makes none.
constexpr std::string_view kOtherOperators[] = {"$regex", "$options", "$comment"};

}  // namespace

NodePtr makeNode(MatchOp op, std::string_view path, std::shared_ptr<MatchNode::Extra>* extra) {
    auto node = std::make_unique<MatchNode>();
    auto made = std::make_shared<MatchNode::Extra>(path);
    node->op = op;
    node->path = std::string(path);
    node->extra = made;
    if (extra != nullptr) {
        *extra = std::move(made);
    }
    return node;
}

StatusOr<NodePtr> makeRegexNode(std::string_view path,
                                std::string_view pattern,
                                std::string_view flags) {
    std::shared_ptr<MatchNode::Extra> extra;
    NodePtr node = makeNode(MatchOp::kRegex, path, &extra);
    FRESHET_ASSIGN_OR_RETURN(extra->regex, Regex::compile(pattern, flags));
    bson::Builder builder;
    builder.add("", bson::Regex{pattern, flags});
    extra->bytes = builder.finish();
    node->operand = *Document(extra->bytes).begin();
    return node;
}

Status parsePathOperator(std::string_view path, const Element& element, std::vector<NodePtr>* out) {
    const std::string_view name = element.name();
    for (const PathOperator& known : kPathOperators) {
        if (known.name == name) {
            FRESHET_ASSIGN_OR_RETURN(NodePtr node, known.parse(path, element));
            out->push_back(std::move(node));
            return Status::ok();
        }
    }
    if (name == "$comment") {
        return Status::ok();
    }
    return badValue("unknown operator: " + std::string(name));
}

Words filterWords() {
    Words words;
    addWords(kPathOperators, &words);
    for (const std::string_view name : kOtherOperators) {
        words.push_back({.name = name});
    }
    return words;
}

Status parsePathOperators(std::string_view path, Document object, std::vector<NodePtr>* out) {
    bool regexDone = false;
    for (const Element& element : object) {
        if (element.name() == "$regex" || element.name() == "$options") {
            if (!regexDone) {
                FRESHET_RETURN_IF_ERROR(parseRegexOperators(path, object, out));
                regexDone = true;
            }
            continue;
        }
        FRESHET_RETURN_IF_ERROR(parsePathOperator(path, element, out));
    }
    return Status::ok();
}

}  // namespace freshet::query
