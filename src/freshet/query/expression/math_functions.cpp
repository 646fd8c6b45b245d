// SPDX-License-Identifier: Apache-2.0
/// Exponentials, logarithms, trigonometry and bits. Decimals are computed as decimals.
#include "freshet/bson/json.h"
#include "freshet/query/expression/number.h"
#include "freshet/query/expression/operators.h"

#include <cmath>
#include <limits>

namespace freshet::query {
namespace {

using bson::Element;
using bson::Type;

Value numbersOnly(ExprContext& context, const std::string& name, const Value& wrong) {
    return context.fail(location(28765),
                        name + " only supports numeric types, not " + typeText(wrong));
}

double naturalExp(double x) {
    return std::exp(x);
}
double toRadians(double x) {
    return x * (M_PI / 180.0);
}
double toDegrees(double x) {
    return x * (180.0 / M_PI);
}

struct UnaryMath {
    std::string_view name;
    double (*call)(double);
    DecimalFunction decimal;
    double least;  // of the domain; NaN is passed through
    double most;
};

constexpr double kAll = std::numeric_limits<double>::infinity();

constexpr UnaryMath kUnary[] = {
    {"$exp", naturalExp, DecimalFunction::kExp, -kAll, kAll},
    {"$sin", std::sin, DecimalFunction::kSin, -1e308, 1e308},
    {"$cos", std::cos, DecimalFunction::kCos, -1e308, 1e308},
    {"$tan", std::tan, DecimalFunction::kTan, -1e308, 1e308},
    {"$asin", std::asin, DecimalFunction::kAsin, -1, 1},
    {"$acos", std::acos, DecimalFunction::kAcos, -1, 1},
    {"$atan", std::atan, DecimalFunction::kAtan, -kAll, kAll},
    {"$sinh", std::sinh, DecimalFunction::kSinh, -kAll, kAll},
    {"$cosh", std::cosh, DecimalFunction::kCosh, -kAll, kAll},
    {"$tanh", std::tanh, DecimalFunction::kTanh, -kAll, kAll},
    {"$asinh", std::asinh, DecimalFunction::kAsinh, -kAll, kAll},
    {"$acosh", std::acosh, DecimalFunction::kAcosh, 1, kAll},
    {"$atanh", std::atanh, DecimalFunction::kAtanh, -1, 1},
    {"$degreesToRadians", toRadians, DecimalFunction::kToRadians, -kAll, kAll},
    {"$radiansToDegrees", toDegrees, DecimalFunction::kToDegrees, -kAll, kAll},
};

template <size_t index>
Value unary(ExprContext& context, Arguments arguments) {
    const UnaryMath& math = kUnary[index];
    const Value& value = arguments[0];
    if (value.isNullish()) {
        return Value::null();
    }
    if (!value.element().isNumber()) {
        return numbersOnly(context, std::string(math.name), value);
    }
    const double number = value.element().toDouble();
    if (number < math.least || number > math.most) {
        return context.fail(location(50989),
                            "cannot apply " + std::string(math.name) + " to " +
                                bson::toShellText(value.element()) + ", value must be in [" +
                                doubleText(math.least) + "," + doubleText(math.most) + "]");
    }
    if (value.type() == Type::kDecimal) {
        return Value::of(applyDecimal(math.decimal, value.element().decimalValue()));
    }
    return Value::of(math.call(number));
}

Value atan2(ExprContext& context, Arguments arguments) {
    for (const Value& argument : arguments) {
        if (argument.isNullish()) {
            return Value::null();
        }
        if (!argument.element().isNumber()) {
            return context.fail(location(51044),
                                "$atan2 only supports numeric types, not " +
                                    typeText(arguments[0]) + " and " + typeText(arguments[1]));
        }
    }
    const Element& y = arguments[0].element();
    const Element& x = arguments[1].element();
    if (y.type() == Type::kDecimal || x.type() == Type::kDecimal) {
        return Value::of(applyDecimal(DecimalFunction2::kAtan2, toDecimal(y), toDecimal(x)));
    }
    return Value::of(std::atan2(y.toDouble(), x.toDouble()));
}

/// Tests a logarithm's argument; false if the result is already known (null or an error).
bool isPositive(ExprContext& context,
                const std::string& name,
                const Value& value,
                uint32_t number) {
    if (value.element().toDouble() > 0 || isNanNumber(value.element())) {
        return true;
    }
    context.fail(location(number),
                 name + "'s argument must be a positive number, but is " +
                     bson::toShellText(value.element()));
    return false;
}

template <bool base10>
Value logarithm(ExprContext& context, Arguments arguments) {
    const char* name = base10 ? "$log10" : "$ln";
    const Value& value = arguments[0];
    if (value.isNullish()) {
        return Value::null();
    }
    if (!value.element().isNumber()) {
        return numbersOnly(context, name, value);
    }
    if (!isPositive(context, name, value, base10 ? 28761 : 28766)) {
        return {};
    }
    if (value.type() == Type::kDecimal) {
        return Value::of(applyDecimal(base10 ? DecimalFunction::kLog10 : DecimalFunction::kLn,
                                      value.element().decimalValue()));
    }
    const double number = value.element().toDouble();
    return Value::of(base10 ? std::log10(number) : std::log(number));
}

Value log(ExprContext& context, Arguments arguments) {
    if (arguments[0].isNullish() || arguments[1].isNullish()) {
        return Value::null();
    }
    for (uint32_t i = 0; i < 2; ++i) {
        if (!arguments[i].element().isNumber()) {
            return context.fail(location(28756 + i),
                                std::string("$log's ") + (i == 0 ? "argument" : "base") +
                                    " must be numeric, not " + typeText(arguments[i]));
        }
    }
    if (!isPositive(context, "$log", arguments[0], 28758)) {
        return {};
    }
    const double base = arguments[1].element().toDouble();
    if (!std::isnan(base) && (base <= 0 || base == 1)) {
        return context.fail(location(28759),
                            "$log's base must be a positive number not equal to 1, but is " +
                                bson::toShellText(arguments[1].element()));
    }
    const Element& number = arguments[0].element();
    if (number.type() == Type::kDecimal || arguments[1].type() == Type::kDecimal) {
        const Value above = Value::of(applyDecimal(DecimalFunction::kLn, toDecimal(number)));
        const Value below =
            Value::of(applyDecimal(DecimalFunction::kLn, toDecimal(arguments[1].element())));
        return calculate(Arithmetic::kDivide, above.element(), below.element());
    }
    return Value::of(std::log(number.toDouble()) / std::log(base));
}

enum class BitOp : uint8_t { kAnd, kOr, kXor };

template <BitOp op>
Value bits(ExprContext& context, Arguments arguments) {
    constexpr const char* kNames[] = {"$bitAnd", "$bitOr", "$bitXor"};
    const char* name = kNames[static_cast<int>(op)];
    int64_t result = op == BitOp::kAnd ? -1 : 0;
    bool isLong = false;
    for (const Value& argument : arguments) {
        if (argument.isNullish()) {
            return Value::null();
        }
        if (!argument.element().isInteger()) {
            return context.fail(Reason::kTypeMismatch,
                                std::string(name) + " only supports int and long operands.");
        }
        isLong |= argument.type() == Type::kInt64;
        const int64_t value = argument.element().toInt64();
        result = op == BitOp::kAnd  ? result & value
                 : op == BitOp::kOr ? result | value
                                    : result ^ value;
    }
    return isLong ? Value::of(result) : Value::of(static_cast<int32_t>(result));
}

Value bitNot(ExprContext& context, Arguments arguments) {
    const Element& value = arguments[0].element();
    if (arguments[0].isNullish()) {
        return Value::null();
    }
    if (!value.isInteger()) {
        return context.fail(Reason::kTypeMismatch,
                            "$bitNot only supports int and long, not: " + typeText(arguments[0]));
    }
    return value.type() == Type::kInt64 ? Value::of(~value.int64Value())
                                        : Value::of(~value.int32Value());
}

template <size_t... index>
constexpr auto unarySpecs(std::index_sequence<index...>) {
    return std::array<FunctionSpec, sizeof...(index)>{
        FunctionSpec{kUnary[index].name, 1, 1, unary<index>}...};
}

constexpr auto kUnarySpecs = unarySpecs(std::make_index_sequence<std::size(kUnary)>());

constexpr FunctionSpec kMath[] = {
    {"$atan2", 2, 2, atan2},
    {"$ln", 1, 1, logarithm<false>},
    {"$log10", 1, 1, logarithm<true>},
    {"$log", 2, 2, log},
    {"$bitAnd", 0, kAnyNumber, bits<BitOp::kAnd>},
    {"$bitOr", 0, kAnyNumber, bits<BitOp::kOr>},
    {"$bitXor", 0, kAnyNumber, bits<BitOp::kXor>},
    {"$bitNot", 1, 1, bitNot},
};

}  // namespace

std::span<const FunctionSpec> trigonometricFunctions() {
    return kUnarySpecs;
}

std::span<const FunctionSpec> mathFunctions() {
    return kMath;
}

}  // namespace freshet::query
