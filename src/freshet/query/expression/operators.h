// SPDX-License-Identifier: Apache-2.0
/// The operators of expressions. Operators that take evaluated arguments are plain functions in
/// tables, one table per kind of value; operators that evaluate arguments themselves ($cond, $map
/// ...) have a parser.
#pragma once

#include "freshet/query/expression/expression.h"

#include <span>

namespace freshet::query {

using Arguments = std::span<const Value>;

inline constexpr int kAnyNumber = 1 << 20;

struct FunctionSpec {
    std::string_view name;
    int argumentsMin;
    int argumentsMax;
    Value (*call)(ExprContext& context, Arguments arguments);
};

/// Operators with named arguments ({$trim: {input: ..., chars: ...}}): the function gets the
/// arguments in the order of `names`, absent ones as missing. The first `required` must be present.
struct NamedFunctionSpec {
    std::string_view name;
    std::vector<std::string_view> names;
    size_t required;
    Value (*call)(ExprContext& context, Arguments arguments);
};

struct ParsedSpec {
    std::string_view name;
    StatusOr<ExprPtr> (*parse)(const bson::Element& operand, ExprScope* scope);
};

std::span<const FunctionSpec> arithmeticFunctions();
std::span<const FunctionSpec> comparisonFunctions();
std::span<const FunctionSpec> stringFunctions();
std::span<const FunctionSpec> arrayFunctions();
std::span<const FunctionSpec> objectFunctions();
std::span<const FunctionSpec> conversionFunctions();
std::span<const FunctionSpec> dateFunctions();
std::span<const FunctionSpec> accumulatorFunctions();
std::span<const NamedFunctionSpec> namedStringFunctions();
std::span<const NamedFunctionSpec> namedDateFunctions();
std::span<const NamedFunctionSpec> dateMathFunctions();
std::span<const NamedFunctionSpec> namedConversionFunctions();
std::span<const FunctionSpec> trigonometricFunctions();
std::span<const FunctionSpec> mathFunctions();
std::span<const FunctionSpec> setFunctions();
std::span<const FunctionSpec> sizeFunctions();
std::span<const ParsedSpec> regexOperators();
std::span<const ParsedSpec> arrayOperators();
std::span<const ParsedSpec> fieldOperators();
std::span<const ParsedSpec> controlOperators();
std::span<const ParsedSpec> scriptOperators();

/// Whether `{$name: ...}` is an expression.
bool isOperator(std::string_view name);
/// `{$name: operand}`; kUnknownExpression if there is no such operator.
StatusOr<ExprPtr> parseOperator(const bson::Element& operand, ExprScope* scope);

/// $mergeObjects, which is also an accumulator.
Value mergeObjects(ExprContext& context, Arguments arguments);

bool anyNullish(Arguments arguments);
std::string typeText(const Value& value);
/// An integral number in int range; fails the context with the number and text otherwise.
bool integerArgument(ExprContext& context,
                     uint32_t number,
                     const Value& value,
                     const std::string& errorText,
                     int64_t* out);

}  // namespace freshet::query
