// SPDX-License-Identifier: Apache-2.0
/// Parses a filter into a tree: the level of whole documents ($and, $or, $nor, $expr, fields).
#include "freshet/bson/path.h"
#include "freshet/query/expression/expression.h"
#include "freshet/query/javascript/scripts.h"
#include "freshet/query/language.h"
#include "freshet/query/limits.h"
#include "freshet/query/match/json_schema.h"
#include "freshet/query/match/tree.h"

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;

StatusOr<NodePtr> parseScoped(Document filter, ExprScope* scope);

StatusOr<std::vector<NodePtr>> parseMembers(const Element& element, ExprScope* scope) {
    if (!element.isArray()) {
        return badValue(std::string(element.name()) + " must be an array");
    }
    std::vector<NodePtr> members;
    for (const Element& member : element.document()) {
        if (!member.isObject()) {
            return badValue("$or/$and/$nor entries need to be full objects");
        }
        FRESHET_ASSIGN_OR_RETURN(NodePtr node, parseScoped(member.document(), scope));
        members.push_back(std::move(node));
    }
    if (members.empty()) {
        return badValue("$and/$or/$nor must be a nonempty array");
    }
    return members;
}

Status parseLogical(const Element& element, ExprScope* scope, std::vector<NodePtr>* out) {
    FRESHET_ASSIGN_OR_RETURN(std::vector<NodePtr> members, parseMembers(element, scope));
    if (element.name() == "$nor") {
        auto nor = std::make_unique<MatchNode>();
        nor->op = MatchOp::kNor;
        nor->children = std::move(members);
        out->push_back(std::move(nor));
    } else {
        out->push_back(
            combine(element.name() == "$and" ? MatchOp::kAnd : MatchOp::kOr, std::move(members)));
    }
    return Status::ok();
}

Status parseConstant(const Element& element, ExprScope*, std::vector<NodePtr>* out) {
    int64_t one = 0;
    if (!element.toExactInt64(&one) || one != 1) {
        return invalid(Reason::kFailedToParse,
                       std::string(element.name()) + " must be an integer value of 1");
    }
    auto node = std::make_unique<MatchNode>();
    node->op = element.name() == "$alwaysTrue" ? MatchOp::kAlwaysTrue : MatchOp::kAlwaysFalse;
    out->push_back(std::move(node));
    return Status::ok();
}

Status parseExpr(const Element& element, ExprScope* scope, std::vector<NodePtr>* out) {
    std::shared_ptr<MatchNode::Extra> extra;
    NodePtr node = makeNode(MatchOp::kExpr, "", &extra);
    FRESHET_ASSIGN_OR_RETURN(extra->expression, parseExpression(element, scope));
    out->push_back(std::move(node));
    return Status::ok();
}

Status parseSchema(const Element& element, ExprScope*, std::vector<NodePtr>* out) {
    if (!element.isObject()) {
        return invalid(Reason::kTypeMismatch, "$jsonSchema must be an object");
    }
    std::shared_ptr<MatchNode::Extra> extra;
    NodePtr node = makeNode(MatchOp::kJsonSchema, "", &extra);
    FRESHET_ASSIGN_OR_RETURN(extra->schema, JsonSchema::compile(element.document()));
    out->push_back(std::move(node));
    return Status::ok();
}

Status parseWhere(const Element& element, ExprScope*, std::vector<NodePtr>* out) {
    FRESHET_RETURN_IF_ERROR(checkScriptsAllowed(ScriptUse::kWhere));
    if (!element.isString() && element.type() != bson::Type::kCode) {
        return badValue("$where got bad type");
    }
    std::shared_ptr<MatchNode::Extra> extra;
    NodePtr node = makeNode(MatchOp::kWhere, "", &extra);
    extra->script = whereSource(element.stringValue());
    FRESHET_RETURN_IF_ERROR(prepareScript(extra->script));
    out->push_back(std::move(node));
    return Status::ok();
}

/// {$sampleRate: 0.1} is {$expr: {$lt: [{$rand: {}}, 0.1]}}.
Status parseSampleRate(const Element& element, ExprScope* scope, std::vector<NodePtr>* out) {
    if (!element.isNumber()) {
        return badValue("argument to $sampleRate must be a numeric type");
    }
    const double rate = element.toDouble();
    if (!(rate >= 0.0 && rate <= 1.0)) {
        return badValue("numeric argument to $sampleRate must be in [0, 1]");
    }
    bson::Builder builder;
    {
        auto compare = builder.object("$expr");
        auto sides = compare.array("$lt");
        {
            auto random = sides.object(sides.nextIndex());
            random.object("$rand");
        }
        sides.push(rate);
    }
    const bson::OwnedDocument sample(builder.finish());
    return parseExpr(*sample.view().begin(), scope, out);
}

Status skipComment(const Element&, ExprScope*, std::vector<NodePtr>*) {
    return Status::ok();
}

Status refuseText(const Element&, ExprScope*, std::vector<NodePtr>*) {
    return invalid(Reason::kIndexNotFound, "text index required for $text query");
}

struct TopOperator {
    std::string_view name;
    Status (*parse)(const Element& element, ExprScope* scope, std::vector<NodePtr>* out);
    bool isCondition = true;  // allowed in an $elemMatch, for documents in an array
};

constexpr TopOperator kTopOperators[] = {
    {"$and", parseLogical},
    {"$or", parseLogical},
    {"$nor", parseLogical},
    {"$expr", parseExpr},
    {"$where", parseWhere},
    {"$alwaysTrue", parseConstant},
    {"$alwaysFalse", parseConstant},
    {"$jsonSchema", parseSchema},
    {"$sampleRate", parseSampleRate},
    {"$comment", skipComment, false},
    {"$text", refuseText, false},
};

const TopOperator* findTopOperator(std::string_view name) {
    for (const TopOperator& known : kTopOperators) {
        if (known.name == name) {
            return &known;
        }
    }
    return nullptr;
}

Status parseTopOperator(const Element& element, ExprScope* scope, std::vector<NodePtr>* out) {
    const std::string_view name = element.name();
    if (const TopOperator* known = findTopOperator(name); known != nullptr) {
        return known->parse(element, scope, out);
    }
    return badValue("unknown top level operator: " + std::string(name) +
                    ". If you have a field name that starts with a '$' symbol, consider using "
                    "$getField or $setField.");
}

Status parseField(const Element& element, std::vector<NodePtr>* out) {
    if (!bson::checkPathLength(element.name()).isOk()) {
        return invalid(location(5729100), "FieldPath is too long");
    }
    if (element.isObject() && isOperatorObject(element.document())) {
        return parsePathOperators(element.name(), element.document(), out);
    }
    if (element.type() == bson::Type::kRegex) {
        const bson::RegexView regex = element.regexValue();
        FRESHET_ASSIGN_OR_RETURN(NodePtr node,
                                 makeRegexNode(element.name(), regex.pattern, regex.options));
        out->push_back(std::move(node));
        return Status::ok();
    }
    if (element.type() == bson::Type::kUndefined) {
        return badValue("cannot compare to undefined");
    }
    NodePtr node = makeNode(MatchOp::kEq, element.name(), nullptr);
    node->operand = element;
    out->push_back(std::move(node));
    return Status::ok();
}

StatusOr<NodePtr> parseScoped(Document filter, ExprScope* scope) {
    FRESHET_RETURN_IF_ERROR(mayGoOn());
    std::vector<NodePtr> parts;
    for (const Element& element : filter) {
        const bool isOperator = !element.name().empty() && element.name()[0] == '$' &&
                                element.name() != "$ref" && element.name() != "$id" &&
                                element.name() != "$db";
        FRESHET_RETURN_IF_ERROR(isOperator ? parseTopOperator(element, scope, &parts)
                                           : parseField(element, &parts));
    }
    return combine(MatchOp::kAnd, std::move(parts));
}

}  // namespace

bool isDocumentOperator(std::string_view name) {
    const TopOperator* known = findTopOperator(name);
    return known != nullptr && known->isCondition;
}

Words documentFilterWords() {
    Words words;
    addWords(kTopOperators, &words);
    return words;
}

bool isOperatorObject(Document object) {
    const Element first = *object.begin();
    if (first.isMissing() || first.name().empty() || first.name()[0] != '$') {
        return false;
    }
    return first.name() != "$ref" && first.name() != "$id" && first.name() != "$db";
}

NodePtr combine(MatchOp op, std::vector<NodePtr> children) {
    auto node = std::make_unique<MatchNode>();
    for (NodePtr& child : children) {
        if (op == MatchOp::kAnd && child->op == MatchOp::kAlwaysTrue) {
            continue;
        }
        if (child->op == op) {
            for (NodePtr& grandchild : child->children) {
                node->children.push_back(std::move(grandchild));
            }
        } else {
            node->children.push_back(std::move(child));
        }
    }
    if (node->children.empty()) {
        return node;  // kAlwaysTrue
    }
    if (node->children.size() == 1) {
        NodePtr only = std::move(node->children.front());
        return only;
    }
    node->op = op;
    return node;
}

Status refuseExpr(const MatchNode& node) {
    if (node.op == MatchOp::kExpr || node.op == MatchOp::kJsonSchema ||
        node.op == MatchOp::kWhere) {
        const char* name = node.op == MatchOp::kExpr    ? "$expr"
                           : node.op == MatchOp::kWhere ? "$where"
                                                        : "$jsonSchema";
        return badValue(std::string(name) + " can only be applied to the top-level document");
    }
    for (const NodePtr& child : node.children) {
        FRESHET_RETURN_IF_ERROR(refuseExpr(*child));
    }
    return Status::ok();
}

Status refuseWhere(const MatchNode& node) {
    if (node.op == MatchOp::kWhere) {
        return badValue("$where is not allowed in this context");
    }
    for (const NodePtr& child : node.children) {
        FRESHET_RETURN_IF_ERROR(refuseWhere(*child));
    }
    return Status::ok();
}

StatusOr<NodePtr> parseFilter(Document filter, Document variables) {
    ExprScope scope(variables);
    return parseScoped(filter, &scope);
}

StatusOr<NodePtr> parseValueCondition(Document condition) {
    std::vector<NodePtr> parts;
    FRESHET_RETURN_IF_ERROR(parsePathOperators("", condition, &parts));
    return combine(MatchOp::kAnd, std::move(parts));
}

}  // namespace freshet::query
