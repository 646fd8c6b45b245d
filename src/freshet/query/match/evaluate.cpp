// SPDX-License-Identifier: Apache-2.0
/// Evaluates a tree on a document's bytes. Loops end early if the operation must end, with any
/// result: the caller asks mayGoOn().
#include "freshet/bson/compare.h"
#include "freshet/platform/clock.h"
#include "freshet/query/expression/expression.h"
#include "freshet/query/javascript/scripts.h"
#include "freshet/query/limits.h"
#include "freshet/query/match/json_schema.h"
#include "freshet/query/match/tree.h"

#include <algorithm>
#include <cmath>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::Type;

bool isNullish(const Element& element) {
    return element.isMissing() || element.isNull() || element.type() == Type::kUndefined;
}

bool isNan(const Element& element) {
    return (element.type() == Type::kDouble || element.type() == Type::kDecimal) &&
           std::isnan(element.toDouble());
}

bool includesEqual(MatchOp op) {
    return op == MatchOp::kEq || op == MatchOp::kGte || op == MatchOp::kLte;
}

bool compares(MatchOp op, int order) {
    switch (op) {
        case MatchOp::kEq:
            return order == 0;
        case MatchOp::kGt:
            return order > 0;
        case MatchOp::kGte:
            return order >= 0;
        case MatchOp::kLt:
            return order < 0;
        default:
            return order <= 0;
    }
}

/// Comparisons apply only within the operand's canonical class, except for MinKey and MaxKey, which
/// compare with everything.
bool matchComparison(MatchOp op, const Element& operand, const Element& element) {
    if (operand.isNull()) {
        return includesEqual(op) && isNullish(element);
    }
    if (operand.type() == Type::kMinKey || operand.type() == Type::kMaxKey) {
        return compares(op, bson::compareValues(element, operand));
    }
    if (element.isMissing() ||
        bson::canonicalClass(element.type()) != bson::canonicalClass(operand.type())) {
        return false;
    }
    if (isNan(operand) || isNan(element)) {
        return includesEqual(op) && isNan(operand) && isNan(element);
    }
    return compares(op, bson::compareValues(element, operand));
}

bool matchIn(const MatchNode& node, const Element& element, MatchRun* run) {
    if (isNullish(element)) {
        return node.extra->hasNull;
    }
    const bool found = std::binary_search(
        node.operands.begin(),
        node.operands.end(),
        element,
        [](const Element& a, const Element& b) { return bson::compareValues(a, b) < 0; });
    return found || std::any_of(node.children.begin(), node.children.end(), [&](const auto& regex) {
               return matchSingle(*regex, element, run);
           });
}

bool matchRegex(const MatchNode& node, const Element& element) {
    switch (element.type()) {
        case Type::kString:
        case Type::kSymbol:
            return node.extra->regex->matches(element.stringValue());
        case Type::kRegex:
            return bson::equalValues(element, node.operand);
        default:
            return false;
    }
}

bool matchMod(const MatchNode::Extra& extra, const Element& element) {
    if (!element.isNumber()) {
        return false;
    }
    if (!element.isInteger()) {
        const double value = element.toDouble();
        if (!std::isfinite(value) || std::fabs(value) >= 0x1p63) {
            return false;
        }
    }
    if (extra.divisor == -1) {
        return extra.remainder == 0;  // INT64_MIN % -1 traps
    }
    return element.toInt64() % extra.divisor == extra.remainder;
}

bool bitOf(const Element& element, int64_t number, uint32_t position) {
    if (element.type() == Type::kBinary) {
        const ByteView bytes = element.binaryValue().bytes;
        return position / 8 < bytes.size() &&
               ((static_cast<uint8_t>(bytes[position / 8]) >> (position % 8)) & 1);
    }
    return (number >> std::min(position, 63u)) & 1;  // the sign extends infinitely
}

bool matchBits(const MatchNode::Extra& extra, const Element& element) {
    int64_t number = 0;
    if (element.type() != Type::kBinary && !element.toExactInt64(&number)) {
        return false;
    }
    // Bits that decide: a wrong one if all must fit, a right one if any may.
    const auto decides = [&](uint32_t position) {
        return (bitOf(element, number, position) == extra.bitsWanted) != extra.bitsAll;
    };
    for (size_t i = 0; i < extra.mask.size() * 8; ++i) {
        const auto position = static_cast<uint32_t>(i);
        if (((static_cast<uint8_t>(extra.mask[i / 8]) >> (i % 8)) & 1) != 0 && decides(position)) {
            return !extra.bitsAll;
        }
    }
    const bool decided = std::any_of(extra.bits.begin(), extra.bits.end(), decides);
    return decided != extra.bitsAll;
}

/// The index of the first element of the array that fulfils the condition; -1 if none does.
int findElement(const MatchNode& node, const Element& array, MatchRun* run) {
    const MatchNode& condition = *node.children.front();
    const bool recording = std::exchange(run->recording, false);
    int index = 0;
    int found = -1;
    for (const Element& element : array.document()) {
        if (!mayGoOn().isOk()) {
            break;
        }
        const bool hit = node.op == MatchOp::kElemMatchValue
                             ? matchSingle(condition, element, run)
                             : (element.isObject() || element.isArray()) &&
                                   matchDocument(condition, element.document(), run);
        if (hit) {
            found = index;
            break;
        }
        ++index;
    }
    run->recording = recording;
    return found;
}

/// Conditions on an array as a whole do not enter it at the end of the path.
LeafArray leafArrayOf(MatchOp op) {
    const bool whole =
        op == MatchOp::kSize || op == MatchOp::kElemMatchObject || op == MatchOp::kElemMatchValue;
    return whole ? LeafArray::kKeep : LeafArray::kEnter;
}

void recordIndex(const MatchNode& node, int index, MatchRun* run) {
    if (index < 0) {
        return;
    }
    run->indexAnywhere = index;
    const std::string_view path = node.path;
    if (path.starts_with(run->arrayPath) &&
        (path.size() == run->arrayPath.size() || path[run->arrayPath.size()] == '.')) {
        run->indexOnPath = index;
    }
}

bool matchLeaf(const MatchNode& node, Document document, MatchRun* run) {
    const auto visitor = [&](const Element& element, int index) {
        if (!matchSingle(node, element, run)) {
            return index >= 0 && !mayGoOn().isOk();  // true ends the walk
        }
        if (run->recording) {
            const bool inArray = index < 0 && (node.op == MatchOp::kElemMatchObject ||
                                               node.op == MatchOp::kElemMatchValue);
            recordIndex(node, inArray ? findElement(node, element, run) : index, run);
        }
        return true;
    };
    return node.extra->path.visit(document, leafArrayOf(node.op), visitor, run->fields);
}

bool matchExpression(const MatchNode& node, MatchRun* run) {
    ExprContext context;
    context.root = run->root;
    context.nowMillis = platform::wallMillis();
    const bool result = isTrue(node.extra->expression->evaluate(context));
    if (context.failed() && run->error.isOk()) {
        run->error = std::move(context.error);
    }
    return result;
}

bool matchScript(const MatchNode& node, MatchRun* run) {
    if (!run->error.isOk()) {
        return false;
    }
    bson::Builder holder;
    holder.add("", run->root);
    const bson::OwnedDocument self(holder.finish());
    const StatusOr<Value> result = callScript(node.extra->script, *self.view().begin(), Document());
    if (!result.isOk()) {
        run->error = result.status();
        return false;
    }
    return isTrueInJavaScript(*result);
}

bool unrecorded(const MatchNode& node, Document document, MatchRun* run) {
    const bool recording = std::exchange(run->recording, false);
    const bool result = matchDocument(node, document, run);
    run->recording = recording;
    return result;
}

}  // namespace

bool matchSingle(const MatchNode& node, const Element& element, MatchRun* run) {
    const auto holds = [&](const NodePtr& child) { return matchSingle(*child, element, run); };
    switch (node.op) {
        case MatchOp::kEq:
        case MatchOp::kGt:
        case MatchOp::kGte:
        case MatchOp::kLt:
        case MatchOp::kLte:
            return matchComparison(node.op, node.operand, element);
        case MatchOp::kIn:
            return matchIn(node, element, run);
        case MatchOp::kExists:
            return element.isMissing() != node.flag;
        case MatchOp::kRegex:
            return matchRegex(node, element);
        case MatchOp::kType:
            return !element.isMissing() &&
                   node.extra->types.test(static_cast<uint8_t>(element.type()));
        case MatchOp::kSize:
            return element.isArray() && element.document().fieldCount() == node.extra->size;
        case MatchOp::kMod:
            return matchMod(*node.extra, element);
        case MatchOp::kBits:
            return matchBits(*node.extra, element);
        case MatchOp::kElemMatchObject:
        case MatchOp::kElemMatchValue:
            return element.isArray() && findElement(node, element, run) >= 0;
        case MatchOp::kAnd:
            return std::all_of(node.children.begin(), node.children.end(), holds);
        case MatchOp::kOr:
            return std::any_of(node.children.begin(), node.children.end(), holds);
        case MatchOp::kNor:
        case MatchOp::kNot:
            return std::none_of(node.children.begin(), node.children.end(), holds);
        case MatchOp::kAlwaysFalse:
        case MatchOp::kExpr:  // refused in a condition on values
        case MatchOp::kWhere:
        case MatchOp::kJsonSchema:
            return false;
        case MatchOp::kAlwaysTrue:
            return true;
    }
    return false;
}

bool matchDocument(const MatchNode& node, Document document, MatchRun* run) {
    switch (node.op) {
        case MatchOp::kAnd:
            return std::all_of(node.children.begin(), node.children.end(), [&](const auto& child) {
                return matchDocument(*child, document, run);
            });
        case MatchOp::kOr:
            return std::any_of(node.children.begin(), node.children.end(), [&](const auto& child) {
                return matchDocument(*child, document, run);
            });
        case MatchOp::kNor:
        case MatchOp::kNot:
            return std::none_of(node.children.begin(), node.children.end(), [&](const auto& child) {
                return unrecorded(*child, document, run);
            });
        case MatchOp::kExists:  // absent means absent in every element
            if (!node.flag) {
                return !node.extra->path.visit(
                    document,
                    LeafArray::kKeep,
                    [](const Element& element, int) { return !element.isMissing(); },
                    run->fields);
            }
            return matchLeaf(node, document, run);
        case MatchOp::kExpr:
            return matchExpression(node, run);
        case MatchOp::kWhere:
            return matchScript(node, run);
        case MatchOp::kJsonSchema:
            return node.extra->schema->accepts(document);
        case MatchOp::kAlwaysTrue:
            return true;
        case MatchOp::kAlwaysFalse:
            return false;
        default:
            return matchLeaf(node, document, run);
    }
}

}  // namespace freshet::query
