// SPDX-License-Identifier: Apache-2.0
/// $add, $round and others, and the comparisons.
#include "freshet/bson/compare.h"
#include "freshet/query/expression/number.h"
#include "freshet/query/expression/operators.h"

#include <cmath>

namespace freshet::query {
namespace {

using bson::Element;
using bson::Type;

/// As calculate(); integers that leave int64's range continue as doubles.
Value calculateWidening(Arithmetic op, const Element& a, const Element& b) {
    Value result = calculate(op, a, b);
    if (result.isMissing()) {
        return calculate(op, Value::of(a.toDouble()).element(), b);
    }
    return result;
}

Value onlyNumeric(ExprContext& context, const char* name, const Value& wrong) {
    return context.fail(Reason::kTypeMismatch,
                        std::string(name) + " only supports numeric types, not " + typeText(wrong));
}

Value add(ExprContext& context, Arguments arguments) {
    Value sum = Value::of(int32_t{0});
    bool isDate = false;
    int64_t millis = 0;
    for (const Value& argument : arguments) {
        const Element& element = argument.element();
        if (argument.isNullish()) {
            return Value::null();
        }
        if (element.type() == Type::kDate) {
            if (isDate) {
                return context.fail(location(16612), "only one date allowed in an $add expression");
            }
            isDate = true;
            millis = element.dateMillis();
        } else if (element.isNumber()) {
            sum = calculateWidening(Arithmetic::kAdd, sum.element(), element);
        } else {
            return context.fail(
                Reason::kTypeMismatch,
                "$add only supports numeric or date types, not " + typeText(argument));
        }
    }
    if (!isDate) {
        return sum;
    }
    const Value rounded = roundNumber(sum.element(), Rounding::kHalfEven, 0);
    int64_t result = 0;
    if (__builtin_add_overflow(millis, rounded.element().toInt64(), &result)) {
        return context.fail(Reason::kOverflow, "date overflow in $add");
    }
    return Value::of(bson::Date{result});
}

Value subtract(ExprContext& context, Arguments arguments) {
    const Element& a = arguments[0].element();
    const Element& b = arguments[1].element();
    if (anyNullish(arguments)) {
        return Value::null();
    }
    if (a.isNumber() && b.isNumber()) {
        return calculateWidening(Arithmetic::kSubtract, a, b);
    }
    const bool bothDates = b.type() == Type::kDate;
    if (a.type() == Type::kDate && (bothDates || b.isNumber())) {
        const int64_t right = bothDates ? b.dateMillis() : b.toInt64();
        int64_t result = 0;
        if (__builtin_sub_overflow(a.dateMillis(), right, &result)) {
            return context.fail(Reason::kOverflow, "date overflow in $subtract");
        }
        return bothDates ? Value::of(result) : Value::of(bson::Date{result});
    }
    return context.fail(
        Reason::kTypeMismatch,
        "can't $subtract " + typeText(arguments[1]) + " from " + typeText(arguments[0]));
}

Value multiply(ExprContext& context, Arguments arguments) {
    Value product = Value::of(int32_t{1});
    for (const Value& argument : arguments) {
        if (argument.isNullish()) {
            return Value::null();
        }
        if (!argument.element().isNumber()) {
            return onlyNumeric(context, "$multiply", argument);
        }
        product = calculateWidening(Arithmetic::kMultiply, product.element(), argument.element());
    }
    return product;
}

template <Arithmetic op>
Value divideBy(ExprContext& context, Arguments arguments) {
    const char* name = op == Arithmetic::kDivide ? "$divide" : "$mod";
    if (anyNullish(arguments)) {
        return Value::null();
    }
    const Element& a = arguments[0].element();
    const Element& b = arguments[1].element();
    if (!a.isNumber() || !b.isNumber()) {
        return context.fail(op == Arithmetic::kMod ? location(16611) : Reason::kTypeMismatch,
                            std::string(name) + " only supports numeric types, not " +
                                typeText(arguments[0]) + " and " + typeText(arguments[1]));
    }
    if (isZero(b)) {
        return context.fail(op == Arithmetic::kMod ? location(16610) : Reason::kBadValue,
                            std::string("can't ") + name + " by zero");
    }
    return calculate(op, a, b);
}

Value abs(ExprContext& context, Arguments arguments) {
    const Value& number = arguments[0];
    if (number.isNullish()) {
        return Value::null();
    }
    if (!number.element().isNumber()) {
        return onlyNumeric(context, "$abs", number);
    }
    if (number.type() == Type::kInt64 && number.element().int64Value() == INT64_MIN) {
        return context.fail(location(28680), "can't take $abs of long long min");
    }
    return absolute(number.element());
}

Value rounded(ExprContext& context, const char* name, Rounding rounding, Arguments arguments) {
    if (anyNullish(arguments)) {
        return Value::null();
    }
    if (!arguments[0].element().isNumber()) {
        return onlyNumeric(context, name, arguments[0]);
    }
    int64_t place = 0;
    if (arguments.size() > 1) {
        if (!arguments[1].element().isNumber() || !arguments[1].element().toExactInt64(&place)) {
            return context.fail(
                location(51082),
                "precision argument to  " + std::string(name) + " must be a integral value");
        }
        if (place < -20 || place > 100) {
            return context.fail(location(51083),
                                "cannot apply " + std::string(name) + " with precision value " +
                                    std::to_string(place) + " value must be in [-20, 100]");
        }
    }
    Value result = roundNumber(arguments[0].element(), rounding, static_cast<int>(place));
    if (result.isMissing()) {
        return context.fail(Reason::kOverflow,
                            "invalid conversion from Decimal128 result in " + std::string(name));
    }
    return result;
}

Value ceil(ExprContext& context, Arguments arguments) {
    return rounded(context, "$ceil", Rounding::kCeil, arguments);
}
Value floor(ExprContext& context, Arguments arguments) {
    return rounded(context, "$floor", Rounding::kFloor, arguments);
}
Value round(ExprContext& context, Arguments arguments) {
    return rounded(context, "$round", Rounding::kHalfEven, arguments);
}
Value trunc(ExprContext& context, Arguments arguments) {
    return rounded(context, "$trunc", Rounding::kTruncate, arguments);
}

Value sqrt(ExprContext& context, Arguments arguments) {
    if (anyNullish(arguments)) {
        return Value::null();
    }
    if (!arguments[0].element().isNumber()) {
        return onlyNumeric(context, "$sqrt", arguments[0]);
    }
    const double value = arguments[0].element().toDouble();
    if (value < 0) {
        return context.fail(location(28714), "$sqrt's argument must be greater than or equal to 0");
    }
    if (arguments[0].type() == Type::kDecimal) {
        return Value::of(
            applyDecimal(DecimalFunction::kSqrt, arguments[0].element().decimalValue()));
    }
    return Value::of(std::sqrt(value));
}

Value pow(ExprContext& context, Arguments arguments) {
    if (anyNullish(arguments)) {
        return Value::null();
    }
    const Element& base = arguments[0].element();
    const Element& exponent = arguments[1].element();
    if (!base.isNumber() || !exponent.isNumber()) {
        return context.fail(location(base.isNumber() ? 28763 : 28762),
                            std::string("$pow's ") + (base.isNumber() ? "exponent" : "base") +
                                " must be numeric, not " +
                                typeText(arguments[base.isNumber() ? 1 : 0]));
    }
    if (isZero(base) && exponent.toDouble() < 0) {
        return context.fail(location(28764),
                            "$pow cannot take a base of 0 and a negative exponent");
    }
    if (base.type() == Type::kDecimal || exponent.type() == Type::kDecimal) {
        return Value::of(
            applyDecimal(DecimalFunction2::kPow, toDecimal(base), toDecimal(exponent)));
    }
    const double result = std::pow(base.toDouble(), exponent.toDouble());
    const bool integers = base.isInteger() && exponent.isInteger() && exponent.toInt64() >= 0;
    if (!integers || std::fabs(result) >= 0x1p53) {
        return Value::of(result);
    }
    const bool narrow = base.type() == Type::kInt32 && exponent.type() == Type::kInt32;
    const auto whole = static_cast<int64_t>(result);
    return narrow ? Value::ofInteger(whole) : Value::of(whole);
}

constexpr FunctionSpec kArithmetic[] = {
    {"$add", 0, kAnyNumber, add},
    {"$subtract", 2, 2, subtract},
    {"$multiply", 0, kAnyNumber, multiply},
    {"$divide", 2, 2, divideBy<Arithmetic::kDivide>},
    {"$mod", 2, 2, divideBy<Arithmetic::kMod>},
    {"$abs", 1, 1, abs},
    {"$ceil", 1, 1, ceil},
    {"$floor", 1, 1, floor},
    {"$round", 1, 2, round},
    {"$trunc", 1, 2, trunc},
    {"$sqrt", 1, 1, sqrt},
    {"$pow", 2, 2, pow},
};

int order(Arguments arguments) {
    return bson::compareValues(arguments[0].element(), arguments[1].element());
}
Value eq(ExprContext&, Arguments arguments) {
    return Value::of(order(arguments) == 0);
}
Value ne(ExprContext&, Arguments arguments) {
    return Value::of(order(arguments) != 0);
}
Value gt(ExprContext&, Arguments arguments) {
    return Value::of(order(arguments) > 0);
}
Value gte(ExprContext&, Arguments arguments) {
    return Value::of(order(arguments) >= 0);
}
Value lt(ExprContext&, Arguments arguments) {
    return Value::of(order(arguments) < 0);
}
Value lte(ExprContext&, Arguments arguments) {
    return Value::of(order(arguments) <= 0);
}
Value cmp(ExprContext&, Arguments arguments) {
    const int result = order(arguments);
    return Value::of(static_cast<int32_t>((result > 0) - (result < 0)));
}
Value logicalNot(ExprContext&, Arguments arguments) {
    return Value::of(!isTrue(arguments[0]));
}

constexpr FunctionSpec kComparison[] = {
    {"$eq", 2, 2, eq},
    {"$ne", 2, 2, ne},
    {"$gt", 2, 2, gt},
    {"$gte", 2, 2, gte},
    {"$lt", 2, 2, lt},
    {"$lte", 2, 2, lte},
    {"$cmp", 2, 2, cmp},
    {"$not", 1, 1, logicalNot},
};

}  // namespace

bool anyNullish(Arguments arguments) {
    for (const Value& argument : arguments) {
        if (argument.isNullish()) {
            return true;
        }
    }
    return false;
}

std::span<const FunctionSpec> arithmeticFunctions() {
    return kArithmetic;
}

std::span<const FunctionSpec> comparisonFunctions() {
    return kComparison;
}

}  // namespace freshet::query
