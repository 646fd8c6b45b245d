// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/expression/number.h"

#include "freshet/bson/json.h"

#include <bid_conf.h>
// bid_conf.h must come first: it defines how the functions are called.
#include <bid_functions.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

namespace freshet::query {
namespace {

using bson::Decimal128;
using bson::Element;
using bson::Type;

constexpr unsigned kHalfEvenMode = 0;  // the library's round to nearest, ties to even

BID_UINT128 toBid(Decimal128 value) {
    BID_UINT128 result;
    result.w[0] = value.low;
    result.w[1] = value.high;
    return result;
}

Decimal128 fromBid(BID_UINT128 value) {
    return {value.w[0], value.w[1]};
}

Value calculateDecimal(Arithmetic op, const Element& a, const Element& b) {
    const BID_UINT128 x = toBid(toDecimal(a));
    const BID_UINT128 y = toBid(toDecimal(b));
    unsigned flags = 0;
    switch (op) {
        case Arithmetic::kAdd:
            return Value::of(fromBid(bid128_add(x, y, kHalfEvenMode, &flags)));
        case Arithmetic::kSubtract:
            return Value::of(fromBid(bid128_sub(x, y, kHalfEvenMode, &flags)));
        case Arithmetic::kMultiply:
            return Value::of(fromBid(bid128_mul(x, y, kHalfEvenMode, &flags)));
        case Arithmetic::kDivide:
            return Value::of(fromBid(bid128_div(x, y, kHalfEvenMode, &flags)));
        case Arithmetic::kMod:
            break;
    }
    return Value::of(fromBid(bid128_fmod(x, y, &flags)));
}

Value calculateDouble(Arithmetic op, double a, double b) {
    switch (op) {
        case Arithmetic::kAdd:
            return Value::of(a + b);
        case Arithmetic::kSubtract:
            return Value::of(a - b);
        case Arithmetic::kMultiply:
            return Value::of(a * b);
        case Arithmetic::kDivide:
            return Value::of(a / b);
        case Arithmetic::kMod:
            break;
    }
    return Value::of(std::fmod(a, b));
}

Value calculateInteger(Arithmetic op, int64_t a, int64_t b, bool narrow) {
    int64_t result = 0;
    bool overflow = false;
    switch (op) {
        case Arithmetic::kAdd:
            overflow = __builtin_add_overflow(a, b, &result);
            break;
        case Arithmetic::kSubtract:
            overflow = __builtin_sub_overflow(a, b, &result);
            break;
        case Arithmetic::kMultiply:
            overflow = __builtin_mul_overflow(a, b, &result);
            break;
        case Arithmetic::kDivide:
            return Value::of(static_cast<double>(a) / static_cast<double>(b));
        case Arithmetic::kMod:
            result = b == -1 ? 0 : a % b;  // INT64_MIN % -1 traps
            break;
    }
    if (overflow) {
        return {};
    }
    return narrow ? Value::ofInteger(result) : Value::of(result);
}

double roundDouble(double value, Rounding rounding) {
    switch (rounding) {
        case Rounding::kFloor:
            return std::floor(value);
        case Rounding::kCeil:
            return std::ceil(value);
        case Rounding::kTruncate:
            return std::trunc(value);
        case Rounding::kHalfEven:
            break;
    }
    return std::nearbyint(value);
}

/// Computed as a decimal, so that 1.005 rounds by its digits.
Decimal128 roundDecimal(Decimal128 value, Rounding rounding, int place) {
    constexpr unsigned kModes[] = {1 /*down*/, 2 /*up*/, 3 /*to zero*/, kHalfEvenMode};
    unsigned flags = 0;
    const std::string quantum = "1E" + std::to_string(-place);
    std::string text = quantum;
    const BID_UINT128 unit = bid128_from_string(text.data(), kHalfEvenMode, &flags);
    const BID_UINT128 rounded =
        bid128_quantize(toBid(value), unit, kModes[static_cast<int>(rounding)], &flags);
    return bid128_isNaN(rounded) ? value : fromBid(rounded);
}

Value roundInteger(const Element& number, Rounding rounding, int place) {
    if (place >= 0) {
        return Value(number).own();
    }
    if (place < -19) {
        return number.type() == Type::kInt32 ? Value::of(int32_t{0}) : Value::of(int64_t{0});
    }
    using Wide = __int128;
    Wide unit = 1;
    for (int i = place; i < 0; ++i) {
        unit *= 10;
    }
    const Wide value = number.toInt64();
    Wide result = value / unit;  // towards zero
    const Wide rest = value - result * unit;
    const Wide twice = (rest < 0 ? -rest : rest) * 2;
    const bool away =
        rounding == Rounding::kHalfEven && (twice > unit || (twice == unit && result % 2 != 0));
    if (away) {
        result += rest < 0 ? -1 : 1;
    }
    result *= unit;
    if (result > INT64_MAX || result < INT64_MIN) {
        return {};
    }
    const auto small = static_cast<int64_t>(result);
    return number.type() == Type::kInt32 ? Value::ofInteger(small) : Value::of(small);
}

}  // namespace

Value calculate(Arithmetic op, const Element& a, const Element& b) {
    if (a.type() == Type::kDecimal || b.type() == Type::kDecimal) {
        return calculateDecimal(op, a, b);
    }
    if (a.type() == Type::kDouble || b.type() == Type::kDouble) {
        return calculateDouble(op, a.toDouble(), b.toDouble());
    }
    const bool narrow = a.type() == Type::kInt32 && b.type() == Type::kInt32;
    return calculateInteger(op, a.toInt64(), b.toInt64(), narrow);
}

Value roundNumber(const Element& number, Rounding rounding, int place) {
    if (number.isInteger()) {
        return roundInteger(number, rounding, place);
    }
    if (number.type() == Type::kDecimal) {
        return Value::of(roundDecimal(number.decimalValue(), rounding, place));
    }
    const double value = number.doubleValue();
    if (!std::isfinite(value)) {
        return Value::of(value);
    }
    if (place == 0) {
        return Value::of(roundDouble(value, rounding));
    }
    unsigned flags = 0;
    char exact[64];
    std::snprintf(exact, sizeof(exact), "%.17g", value);
    const Decimal128 digits = fromBid(bid128_from_string(exact, kHalfEvenMode, &flags));
    const BID_UINT128 rounded = toBid(roundDecimal(digits, rounding, place));
    return Value::of(std::strtod(bson::decimalText(fromBid(rounded)).c_str(), nullptr));
}

Decimal128 applyDecimal(DecimalFunction function, Decimal128 value) {
    using Call = BID_UINT128 (*)(BID_UINT128, _IDEC_round, _IDEC_flags*);
    constexpr Call kCalls[] = {bid128_exp,
                               bid128_log,
                               bid128_log10,
                               bid128_sqrt,
                               bid128_sin,
                               bid128_cos,
                               bid128_tan,
                               bid128_asin,
                               bid128_acos,
                               bid128_atan,
                               bid128_sinh,
                               bid128_cosh,
                               bid128_tanh,
                               bid128_asinh,
                               bid128_acosh,
                               bid128_atanh};
    unsigned flags = 0;
    const auto index = static_cast<size_t>(function);
    if (index < std::size(kCalls)) {
        return fromBid(kCalls[index](toBid(value), kHalfEvenMode, &flags));
    }
    char pi[] = "3.141592653589793238462643383279503";
    char half[] = "180";
    const BID_UINT128 radians = bid128_from_string(pi, kHalfEvenMode, &flags);
    const BID_UINT128 degrees = bid128_from_string(half, kHalfEvenMode, &flags);
    const bool toRadians = function == DecimalFunction::kToRadians;
    const BID_UINT128 scaled =
        bid128_mul(toBid(value), toRadians ? radians : degrees, kHalfEvenMode, &flags);
    return fromBid(bid128_div(scaled, toRadians ? degrees : radians, kHalfEvenMode, &flags));
}

Decimal128 applyDecimal(DecimalFunction2 function, Decimal128 a, Decimal128 b) {
    unsigned flags = 0;
    return fromBid(function == DecimalFunction2::kPow
                       ? bid128_pow(toBid(a), toBid(b), kHalfEvenMode, &flags)
                       : bid128_atan2(toBid(a), toBid(b), kHalfEvenMode, &flags));
}

bool isZero(const Element& number) {
    return number.isNumber() && !isNanNumber(number) && !number.isTruthy();
}

bool isNanNumber(const Element& number) {
    if (number.type() == Type::kDouble) {
        return std::isnan(number.doubleValue());
    }
    return number.type() == Type::kDecimal && bid128_isNaN(toBid(number.decimalValue()));
}

Value absolute(const Element& number) {
    if (number.isInteger()) {
        const int64_t value = number.toInt64();
        const int64_t positive = value < 0 ? -value : value;
        return number.type() == Type::kInt32 ? Value::ofInteger(positive) : Value::of(positive);
    }
    if (number.type() == Type::kDecimal) {
        return Value::of(fromBid(bid128_abs(toBid(number.decimalValue()))));
    }
    return Value::of(std::fabs(number.doubleValue()));
}

Decimal128 toDecimal(const Element& number) {
    switch (number.type()) {
        case Type::kDecimal:
            return number.decimalValue();
        case Type::kDouble: {
            char digits[40];
            std::snprintf(digits, sizeof(digits), "%.14e", number.doubleValue());
            unsigned flags = 0;
            return fromBid(bid128_from_string(digits, kHalfEvenMode, &flags));
        }
        default:
            return fromBid(bid128_from_int64(number.toInt64()));
    }
}

StatusOr<Decimal128> parseDecimal(std::string_view text) {
    unsigned flags = 0;
    std::string copy(text);
    const BID_UINT128 value = bid128_from_string(copy.data(), kHalfEvenMode, &flags);
    const bool meantNan = text == "NaN" || text == "nan" || text == "-NaN" || text == "+NaN";
    if (text.empty() || (bid128_isNaN(value) && !meantNan)) {
        return invalid(Reason::kFailedToParse, "Failed to parse number '" + copy + "'");
    }
    return fromBid(value);
}

std::string doubleText(double value) {
    if (std::isnan(value)) {
        return "NaN";
    }
    if (std::isinf(value)) {
        return value < 0 ? "-Infinity" : "Infinity";
    }
    char text[64];
    const auto end = std::to_chars(text, text + sizeof(text), value);
    return std::string(text, end.ptr);
}

}  // namespace freshet::query
