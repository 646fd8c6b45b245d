// SPDX-License-Identifier: Apache-2.0
/// Arrays as sets ($setUnion ...), sorted ($sortArray) and side by side ($zip).
#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/query/expression/operators.h"
#include "freshet/query/expression/value_set.h"
#include "freshet/query/transform.h"

#include <algorithm>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;

bool needArray(ExprContext& context, const Value& value, uint32_t number, const std::string& text) {
    if (value.element().isArray()) {
        return true;
    }
    context.fail(location(number), text + typeText(value));
    return false;
}

ValueSet setOf(const Value& array) {
    ValueSet set;
    for (const Element& member : array.element().document()) {
        set.insert(array.part(member));
    }
    return set;
}

/// In the order of values, in which mongod returns sets.
Value sortedArray(const ValueSet& set) {
    std::vector<Value> members(set.begin(), set.end());
    std::sort(members.begin(), members.end(), [](const Value& a, const Value& b) {
        return bson::compareValues(a.element(), b.element()) < 0;
    });
    bson::Builder builder;
    for (const Value& member : members) {
        builder.pushElement(member.element());
    }
    return Value::ofArray(builder.finish());
}

Value setUnion(ExprContext& context, Arguments arguments) {
    ValueSet all;
    for (const Value& argument : arguments) {
        if (argument.isNullish()) {
            return Value::null();
        }
        if (!needArray(context,
                       argument,
                       17043,
                       "All operands of $setUnion must be arrays. One argument is of type: ")) {
            return {};
        }
        for (const Element& member : argument.element().document()) {
            all.insert(argument.part(member));
        }
    }
    return sortedArray(all);
}

Value setIntersection(ExprContext& context, Arguments arguments) {
    ValueSet common;
    bool isFirst = true;
    for (const Value& argument : arguments) {
        if (argument.isNullish()) {
            return Value::null();
        }
        if (!needArray(
                context,
                argument,
                17047,
                "All operands of $setIntersection must be arrays. One argument is of type: ")) {
            return {};
        }
        ValueSet next = setOf(argument);
        if (!isFirst) {
            absl::erase_if(next, [&](const Value& member) { return !common.contains(member); });
        }
        common = std::move(next);
        isFirst = false;
    }
    return sortedArray(common);
}

Value setDifference(ExprContext& context, Arguments arguments) {
    for (uint32_t i = 0; i < 2; ++i) {
        if (arguments[i].isNullish()) {
            return Value::null();
        }
        if (!needArray(context,
                       arguments[i],
                       17048 + i,
                       "both operands of $setDifference must be arrays. " +
                           std::string(i == 0 ? "First" : "Second") + " argument is of type: ")) {
            return {};
        }
    }
    ValueSet seen = setOf(arguments[1]);
    bson::Builder builder;
    for (const Element& member : arguments[0].element().document()) {
        if (seen.insert(arguments[0].part(member)).second) {
            builder.pushElement(member);
        }
    }
    return Value::ofArray(builder.finish());
}

Value setEquals(ExprContext& context, Arguments arguments) {
    ValueSet first;
    for (size_t i = 0; i < arguments.size(); ++i) {
        if (!needArray(context,
                       arguments[i],
                       17044,
                       "All operands of $setEquals must be arrays. " + std::to_string(i + 1) +
                           "-th argument is of type: ")) {
            return {};
        }
        ValueSet next = setOf(arguments[i]);
        if (i == 0) {
            first = std::move(next);
            continue;
        }
        const bool same = next.size() == first.size() &&
                          std::all_of(next.begin(), next.end(), [&](const Value& member) {
                              return first.contains(member);
                          });
        if (!same) {
            return Value::of(false);
        }
    }
    return Value::of(true);
}

Value setIsSubset(ExprContext& context, Arguments arguments) {
    if (!needArray(context,
                   arguments[0],
                   17046,
                   "both operands of $setIsSubset must be arrays. First argument is of type: ") ||
        !needArray(context,
                   arguments[1],
                   17042,
                   "both operands of $setIsSubset must be arrays. Second argument is of type: ")) {
        return {};
    }
    const ValueSet all = setOf(arguments[1]);
    for (const Element& member : arguments[0].element().document()) {
        if (!all.contains(Value(member))) {
            return Value::of(false);
        }
    }
    return Value::of(true);
}

/// {$sortArray: {input: array, sortBy: 1 | -1 | {field: direction, ...}}}
class SortArray final : public Expression {
public:
    ExprPtr input;
    std::optional<SortPattern> pattern;  // none: whole values
    bool descending = false;

    Value evaluate(ExprContext& context) const override {
        const Value array = input->evaluate(context);
        if (array.isNullish() || context.failed()) {
            return Value::null();
        }
        if (!array.element().isArray()) {
            return context.fail(
                location(2942504),
                "The input argument to $sortArray must be an array, but was of type: " +
                    typeText(array));
        }
        std::vector<std::pair<std::string, Element>> members;
        for (const Element& member : array.element().document()) {
            members.emplace_back(keyOf(member), member);
        }
        std::stable_sort(members.begin(), members.end(), [this](const auto& a, const auto& b) {
            const int order = pattern.has_value() ? a.first.compare(b.first)
                                                  : bson::compareValues(a.second, b.second);
            return descending ? order > 0 : order < 0;
        });
        bson::Builder builder;
        for (const auto& [key, member] : members) {
            builder.pushElement(member);
        }
        return Value::ofArray(builder.finish());
    }

private:
    std::string keyOf(const Element& member) const {
        if (!pattern.has_value()) {
            return {};
        }
        return pattern->keyOf(member.isObject() ? member.document() : Document());
    }
};

StatusOr<ExprPtr> parseSortArray(const Element& operand, ExprScope* scope) {
    if (!operand.isObject()) {
        return invalid(location(2942500),
                       "$sortArray requires an object as an argument, found: " +
                           std::string(bson::typeName(operand.type())));
    }
    auto result = std::make_shared<SortArray>();
    Element sortBy;
    for (const Element& field : operand.document()) {
        if (field.name() == "input") {
            FRESHET_ASSIGN_OR_RETURN(result->input, parseExpression(field, scope));
        } else if (field.name() == "sortBy") {
            sortBy = field;
        } else {
            return invalid(location(2942501),
                           "$sortArray found an unknown argument: " + std::string(field.name()));
        }
    }
    if (result->input == nullptr || sortBy.isMissing()) {
        return invalid(location(result->input == nullptr ? 2942502 : 2942503),
                       std::string("$sortArray requires '") +
                           (result->input == nullptr ? "input" : "sortBy") + "' to be specified");
    }
    if (sortBy.isObject()) {
        FRESHET_ASSIGN_OR_RETURN(result->pattern, SortPattern::compile(sortBy.document()));
        return ExprPtr(std::move(result));
    }
    int64_t direction = 0;
    if (!sortBy.toExactInt64(&direction) || (direction != 1 && direction != -1)) {
        return invalid(location(2942505),
                       "Illegal key in $sort specification: sortBy: " + bson::toShellText(sortBy));
    }
    result->descending = direction < 0;
    return ExprPtr(std::move(result));
}

/// {$zip: {inputs: [...], useLongestLength: bool, defaults: [...]}}
class Zip final : public Expression {
public:
    std::vector<ExprPtr> inputs;
    std::vector<ExprPtr> defaults;
    bool useLongest = false;

    Value evaluate(ExprContext& context) const override {
        std::vector<Value> arrays;
        std::vector<std::vector<Element>> columns;
        size_t rows = useLongest ? 0 : SIZE_MAX;
        for (const ExprPtr& input : inputs) {
            arrays.push_back(input->evaluate(context));
            if (arrays.back().isNullish()) {
                return Value::null();
            }
            if (!arrays.back().element().isArray()) {
                return context.fail(location(34468),
                                    "$zip found a non-array expression in input: " +
                                        bson::toShellText(arrays.back().element()));
            }
        }
        for (const Value& array : arrays) {
            std::vector<Element>& column = columns.emplace_back();
            for (const Element& member : array.element().document()) {
                column.push_back(member);
            }
            rows = useLongest ? std::max(rows, column.size()) : std::min(rows, column.size());
        }
        return rowsOf(context, columns, rows);
    }

private:
    Value rowsOf(ExprContext& context,
                 const std::vector<std::vector<Element>>& columns,
                 size_t rows) const {
        std::vector<Value> fillers;
        for (const ExprPtr& filler : defaults) {
            fillers.push_back(filler->evaluate(context));
        }
        bson::Builder builder;
        for (size_t row = 0; row < rows; ++row) {
            bson::Builder one = builder.array(builder.nextIndex());
            for (size_t i = 0; i < columns.size(); ++i) {
                if (row < columns[i].size()) {
                    one.pushElement(columns[i][row]);
                } else if (i < fillers.size() && !fillers[i].isMissing()) {
                    one.pushElement(fillers[i].element());
                } else {
                    one.push(bson::Null{});
                }
            }
            one.close();
            if (!context.allows(builder.size())) {
                return {};
            }
        }
        return Value::ofArray(builder.finish());
    }
};

StatusOr<std::vector<ExprPtr>> parseMembers(const Element& array,
                                            uint32_t number,
                                            const std::string& text,
                                            ExprScope* scope) {
    if (!array.isArray()) {
        return invalid(location(number), text + std::string(bson::typeName(array.type())));
    }
    std::vector<ExprPtr> members;
    for (const Element& member : array.document()) {
        FRESHET_ASSIGN_OR_RETURN(ExprPtr expression, parseExpression(member, scope));
        members.push_back(std::move(expression));
    }
    return members;
}

StatusOr<ExprPtr> parseZip(const Element& operand, ExprScope* scope) {
    if (!operand.isObject()) {
        return invalid(location(34460),
                       "$zip only supports an object as an argument, found " +
                           std::string(bson::typeName(operand.type())));
    }
    auto result = std::make_shared<Zip>();
    for (const Element& field : operand.document()) {
        if (field.name() == "inputs") {
            FRESHET_ASSIGN_OR_RETURN(
                result->inputs,
                parseMembers(
                    field, 34461, "inputs must be an array of expressions, found ", scope));
        } else if (field.name() == "defaults") {
            FRESHET_ASSIGN_OR_RETURN(
                result->defaults,
                parseMembers(
                    field, 34462, "defaults must be an array of expressions, found ", scope));
        } else if (field.name() == "useLongestLength") {
            if (field.type() != bson::Type::kBool) {
                return invalid(location(34463),
                               "useLongestLength must be a bool, found " +
                                   std::string(bson::typeName(field.type())));
            }
            result->useLongest = field.boolValue();
        } else {
            return invalid(location(34464),
                           "$zip found an unknown argument: " + std::string(field.name()));
        }
    }
    if (result->inputs.empty()) {
        return invalid(location(34465), "$zip requires at least one input array");
    }
    if (!result->defaults.empty() && !result->useLongest) {
        return invalid(location(34466), "cannot specify defaults unless useLongestLength is true");
    }
    if (!result->defaults.empty() && result->defaults.size() != result->inputs.size()) {
        return invalid(location(34467), "defaults and inputs must have the same length");
    }
    return ExprPtr(std::move(result));
}

constexpr FunctionSpec kSets[] = {
    {"$setUnion", 0, kAnyNumber, setUnion},
    {"$setIntersection", 0, kAnyNumber, setIntersection},
    {"$setDifference", 2, 2, setDifference},
    {"$setEquals", 2, kAnyNumber, setEquals},
    {"$setIsSubset", 2, 2, setIsSubset},
};

constexpr ParsedSpec kShapes[] = {
    {"$sortArray", parseSortArray},
    {"$zip", parseZip},
};

}  // namespace

std::span<const FunctionSpec> setFunctions() {
    return kSets;
}

std::span<const ParsedSpec> arrayOperators() {
    return kShapes;
}

}  // namespace freshet::query
