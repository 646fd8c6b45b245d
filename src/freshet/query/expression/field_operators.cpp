// SPDX-License-Identifier: Apache-2.0
/// $setField and $unsetField, sizes, parts of timestamps, random numbers.
#include "freshet/bson/json.h"
#include "freshet/platform/thread.h"
#include "freshet/query/expression/accumulator.h"
#include "freshet/query/expression/operators.h"

#include <random>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::Type;

/// Sets a field, by its literal name, to a value; removes it if the value is missing.
class SetField final : public Expression {
public:
    std::string field;
    ExprPtr input;
    ExprPtr value;  // null: $unsetField
    std::string name;

    Value evaluate(ExprContext& context) const override {
        const Value holder = input->evaluate(context);
        if (holder.isNullish()) {
            return Value::null();
        }
        if (!holder.element().isObject()) {
            return context.fail(location(4161105),
                                name + " requires 'input' to evaluate to type Object");
        }
        const Value replacement = value == nullptr ? Value() : value->evaluate(context);
        bson::Builder builder;
        bool placed = false;
        for (const Element& member : holder.element().document()) {
            if (member.name() != field) {
                builder.add(member);
            } else if (!replacement.isMissing()) {
                builder.addAs(field, replacement.element());
                placed = true;
            }
        }
        if (!placed && !replacement.isMissing()) {
            builder.addAs(field, replacement.element());
        }
        return context.allows(builder.size()) ? Value::ofDocument(builder.finish()) : Value();
    }
};

StatusOr<ExprPtr> parseSetField(const Element& operand, ExprScope* scope) {
    auto result = std::make_shared<SetField>();
    const bool isUnset = operand.name() == "$unsetField";
    result->name = std::string(operand.name());
    if (!operand.isObject()) {
        return invalid(location(4161100),
                       result->name + " only supports an object as its argument");
    }
    ExprPtr field;
    for (const Element& argument : operand.document()) {
        if (argument.name() == "field") {
            FRESHET_ASSIGN_OR_RETURN(field, parseExpression(argument, scope));
        } else if (argument.name() == "input") {
            FRESHET_ASSIGN_OR_RETURN(result->input, parseExpression(argument, scope));
        } else if (argument.name() == "value" && !isUnset) {
            FRESHET_ASSIGN_OR_RETURN(result->value, parseExpression(argument, scope));
        } else {
            return invalid(
                location(4161101),
                result->name + " found an unknown argument: " + std::string(argument.name()));
        }
    }
    const char* absent = field == nullptr                       ? "field"
                         : result->input == nullptr             ? "input"
                         : result->value == nullptr && !isUnset ? "value"
                                                                : nullptr;
    if (absent != nullptr) {
        return invalid(location(4161102),
                       result->name + " requires '" + absent + "' to be specified");
    }
    if (!field->isConstant()) {
        return invalid(location(4161106),
                       result->name + " requires 'field' to evaluate to a constant");
    }
    FRESHET_ASSIGN_OR_RETURN(const Value text, evaluateOnce(*field, Document()));
    if (!text.element().isString()) {
        return invalid(location(4161107),
                       result->name + " requires 'field' to evaluate to type String, but got " +
                           typeText(text));
    }
    result->field = std::string(text.element().stringValue());
    if (result->field.find('\0') != std::string::npos) {
        return invalid(location(9423101),
                       result->name + ": 'field' must not contain an embedded null byte");
    }
    return ExprPtr(std::move(result));
}

Value bsonSize(ExprContext& context, Arguments arguments) {
    if (arguments[0].isNullish()) {
        return Value::null();
    }
    if (!arguments[0].element().isObject()) {
        return context.fail(
            location(31393),
            "$bsonSize requires a document input, found: " + typeText(arguments[0]));
    }
    return Value::of(static_cast<int32_t>(arguments[0].element().document().size()));
}

Value binarySize(ExprContext& context, Arguments arguments) {
    const Element& value = arguments[0].element();
    if (arguments[0].isNullish()) {
        return Value::null();
    }
    if (value.isString()) {
        return Value::of(static_cast<int32_t>(value.stringValue().size()));
    }
    if (value.type() != Type::kBinary) {
        return context.fail(
            location(51276),
            "$binarySize requires a string or BinData argument, found: " + typeText(arguments[0]));
    }
    return Value::of(static_cast<int32_t>(value.binaryValue().bytes.size()));
}

template <bool seconds>
Value timestampPart(ExprContext& context, Arguments arguments) {
    const Element& value = arguments[0].element();
    if (arguments[0].isNullish()) {
        return Value::null();
    }
    if (value.type() != Type::kTimestamp) {
        return context.fail(location(seconds ? 5687301 : 5687302),
                            std::string("Argument to ") + (seconds ? "$tsSecond" : "$tsIncrement") +
                                " must be a timestamp, but is " + typeText(arguments[0]));
    }
    const uint64_t whole = value.timestampValue();
    return Value::of(static_cast<int64_t>(seconds ? whole >> 32 : whole & 0xffffffff));
}

class Rand final : public Expression {
public:
    Value evaluate(ExprContext&) const override {
        static thread_local std::mt19937_64 random(platform::randomSeed());
        return Value::of(std::uniform_real_distribution<double>(0, 1)(random));
    }
};

StatusOr<ExprPtr> parseRand(const Element& operand, ExprScope*) {
    if (!(operand.isObject() || operand.isArray()) || !operand.document().isEmpty()) {
        return invalid(location(3040501), "$rand does not currently accept arguments");
    }
    return ExprPtr(std::make_shared<Rand>());
}

StatusOr<ExprPtr> refuseMeta(const Element&, ExprScope*) {
    return invalid(location(40218), "query requires metadata that is not available");
}

constexpr FunctionSpec kSizes[] = {
    {"$bsonSize", 1, 1, bsonSize},
    {"$binarySize", 1, 1, binarySize},
    {"$tsSecond", 1, 1, timestampPart<true>},
    {"$tsIncrement", 1, 1, timestampPart<false>},
};

constexpr ParsedSpec kFieldOperators[] = {
    {"$setField", parseSetField},
    {"$unsetField", parseSetField},
    {"$rand", parseRand},
    {"$meta", refuseMeta},
    {"$firstN", parseRankedOperator},
    {"$lastN", parseRankedOperator},
    {"$minN", parseRankedOperator},
    {"$maxN", parseRankedOperator},
    {"$median", parsePercentileOperator},
    {"$percentile", parsePercentileOperator},
};

}  // namespace

std::span<const FunctionSpec> sizeFunctions() {
    return kSizes;
}

std::span<const ParsedSpec> fieldOperators() {
    return kFieldOperators;
}

}  // namespace freshet::query
