// SPDX-License-Identifier: Apache-2.0
/// Finds an operator by name and parses its arguments.
#include "freshet/query/expression/operators.h"

#include "freshet/bson/json.h"
#include "freshet/platform/clock.h"
#include "freshet/query/language.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <algorithm>

namespace freshet::query {
namespace {

using bson::Element;

using Call = Value (*)(ExprContext& context, Arguments arguments);

class FunctionExpression final : public Expression {
public:
    FunctionExpression(Call call, std::vector<ExprPtr> arguments)
        : call_(call), arguments_(std::move(arguments)) {}
    Value evaluate(ExprContext& context) const override {
        absl::InlinedVector<Value, 3> values;
        size_t bytes = 0;
        values.reserve(arguments_.size());
        for (const ExprPtr& argument : arguments_) {
            values.push_back(argument == nullptr ? Value() : argument->evaluate(context));
            bytes += values.back().valueBytes();
        }
        // Most results are about as large as all arguments together.
        const bool fits = context.allows(bytes) && !context.failed();
        return !fits ? Value() : call_(context, Arguments(values.data(), values.size()));
    }

private:
    Call call_;
    std::vector<ExprPtr> arguments_;
};

/// The call, or its value if all arguments are constant.
StatusOr<ExprPtr> makeCall(Call call, std::vector<ExprPtr> arguments) {
    bool constant = true;
    for (const ExprPtr& argument : arguments) {
        constant &= argument == nullptr || argument->isConstant();
    }
    ExprPtr expression = std::make_shared<FunctionExpression>(call, std::move(arguments));
    if (!constant) {
        return expression;
    }
    FRESHET_ASSIGN_OR_RETURN(Value value, evaluateOnce(*expression, bson::Document()));
    return makeLiteral(std::move(value));
}

Status arityError(const FunctionSpec& spec, size_t passed) {
    const std::string name(spec.name);
    const std::string count = std::to_string(passed);
    if (spec.argumentsMin == spec.argumentsMax) {
        return invalid(Reason::kExpressionArity,
                       "Expression " + name + " takes exactly " +
                           std::to_string(spec.argumentsMin) + " arguments. " + count +
                           " were passed in.");
    }
    if (spec.argumentsMax == kAnyNumber) {
        return invalid(location(17045), name + " needs at least two arguments had: " + count);
    }
    return invalid(location(28667),
                   "Expression " + name + " takes at least " + std::to_string(spec.argumentsMin) +
                       " arguments, and at most " + std::to_string(spec.argumentsMax) + ", but " +
                       count + " were passed in.");
}

StatusOr<ExprPtr> parseCall(const FunctionSpec& spec, const Element& operand, ExprScope* scope) {
    std::vector<ExprPtr> arguments;
    if (operand.isArray()) {
        for (const Element& member : operand.document()) {
            FRESHET_ASSIGN_OR_RETURN(ExprPtr argument, parseExpression(member, scope));
            arguments.push_back(std::move(argument));
        }
    } else {
        FRESHET_ASSIGN_OR_RETURN(ExprPtr argument, parseExpression(operand, scope));
        arguments.push_back(std::move(argument));
    }
    const auto count = static_cast<int>(arguments.size());
    if (count < spec.argumentsMin || count > spec.argumentsMax) {
        return arityError(spec, arguments.size());
    }
    return makeCall(spec.call, std::move(arguments));
}

StatusOr<ExprPtr> parseNamedCall(const NamedFunctionSpec& spec,
                                 const Element& operand,
                                 ExprScope* scope) {
    const std::string name(spec.name);
    if (!operand.isObject()) {
        return invalid(Reason::kFailedToParse,
                       name + " only supports an object as an argument, found " +
                           std::string(bson::typeName(operand.type())));
    }
    std::vector<ExprPtr> arguments(spec.names.size());
    for (const Element& field : operand.document()) {
        size_t at = 0;
        while (at < spec.names.size() && spec.names[at] != field.name()) {
            ++at;
        }
        if (at == spec.names.size()) {
            return invalid(Reason::kFailedToParse,
                           name + " found an unknown argument: " + std::string(field.name()));
        }
        FRESHET_ASSIGN_OR_RETURN(arguments[at], parseExpression(field, scope));
    }
    for (size_t i = 0; i < spec.required; ++i) {
        if (arguments[i] == nullptr) {
            return invalid(Reason::kFailedToParse,
                           name + " requires a '" + std::string(spec.names[i]) + "' argument");
        }
    }
    return makeCall(spec.call, std::move(arguments));
}

/// All operators by name, built once.
struct Registry {
    absl::flat_hash_map<std::string_view, const FunctionSpec*> functions;
    absl::flat_hash_map<std::string_view, const NamedFunctionSpec*> named;
    absl::flat_hash_map<std::string_view, const ParsedSpec*> parsed;

    Registry() {
        for (const auto& table : {arithmeticFunctions(),
                                  comparisonFunctions(),
                                  stringFunctions(),
                                  arrayFunctions(),
                                  objectFunctions(),
                                  conversionFunctions(),
                                  dateFunctions(),
                                  trigonometricFunctions(),
                                  mathFunctions(),
                                  setFunctions(),
                                  sizeFunctions(),
                                  accumulatorFunctions()}) {
            for (const FunctionSpec& spec : table) {
                functions[spec.name] = &spec;
            }
        }
        for (const auto& table : {namedStringFunctions(),
                                  namedDateFunctions(),
                                  dateMathFunctions(),
                                  namedConversionFunctions()}) {
            for (const NamedFunctionSpec& spec : table) {
                named[spec.name] = &spec;
            }
        }
        for (const auto& table : {controlOperators(),
                                  regexOperators(),
                                  arrayOperators(),
                                  fieldOperators(),
                                  scriptOperators()}) {
            for (const ParsedSpec& spec : table) {
                parsed[spec.name] = &spec;
            }
        }
    }
};

const Registry& registry() {
    static const Registry instance;
    return instance;
}

}  // namespace

bool isOperator(std::string_view name) {
    return registry().functions.contains(name) || registry().parsed.contains(name) ||
           registry().named.contains(name);
}

StatusOr<ExprPtr> parseOperator(const Element& operand, ExprScope* scope) {
    const std::string_view name = operand.name();
    if (const auto at = registry().functions.find(name); at != registry().functions.end()) {
        return parseCall(*at->second, operand, scope);
    }
    if (const auto at = registry().parsed.find(name); at != registry().parsed.end()) {
        return at->second->parse(operand, scope);
    }
    // Dates can also be given as a bare expression, which the plain table handles.
    if (const auto at = registry().named.find(name); at != registry().named.end()) {
        return parseNamedCall(*at->second, operand, scope);
    }
    return invalid(Reason::kUnknownExpression,
                   "Unrecognized expression '" + std::string(name) + "'");
}

Words expressionWords() {
    Words words;
    for (const auto& [name, spec] : registry().functions) {
        words.push_back({name, {}, spec->argumentsMin, spec->argumentsMax});
    }
    for (const auto& [name, spec] : registry().named) {
        words.push_back({name,
                         spec->names,
                         static_cast<int>(spec->required),
                         static_cast<int>(spec->names.size())});
    }
    for (const auto& [name, spec] : registry().parsed) {
        words.push_back({.name = name});
    }
    std::sort(
        words.begin(), words.end(), [](const Word& a, const Word& b) { return a.name < b.name; });
    return words;
}

std::string typeText(const Value& value) {
    return std::string(bson::typeName(value.type()));
}

bool integerArgument(ExprContext& context,
                     uint32_t number,
                     const Value& value,
                     const std::string& errorText,
                     int64_t* out) {
    if (!value.element().isNumber() || !value.element().toExactInt64(out) || *out > INT32_MAX ||
        *out < INT32_MIN) {
        context.fail(location(number), errorText + bson::toShellText(value.element()));
        return false;
    }
    return true;
}

}  // namespace freshet::query
