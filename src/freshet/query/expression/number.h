// SPDX-License-Identifier: Apache-2.0
/// Arithmetic on BSON numbers with MongoDB's promotion: int32, then int64, then double; a decimal
/// on either side makes a decimal. Pure; any thread.
#pragma once

#include "freshet/query/expression/value.h"

namespace freshet::query {

enum class Arithmetic : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kMod };

/// a op b. Missing when the result of two integers is out of int64's range. kDivide gives a double
/// or a decimal. REQUIRES: both are numbers; for kDivide and kMod b is not zero.
/// integers leave int64's range. kDivide gives a double, or a decimal.
Value calculate(Arithmetic op, const bson::Element& a, const bson::Element& b);

enum class Rounding : uint8_t { kFloor, kCeil, kTruncate, kHalfEven };

/// Rounds to `place` digits after the decimal point (before it if negative); the type stays.
/// Missing when an integer's result is out of int64's range. REQUIRES: a number.
Value roundNumber(const bson::Element& number, Rounding rounding, int place);

enum class DecimalFunction : uint8_t {
    kExp,
    kLn,
    kLog10,
    kSqrt,
    kSin,
    kCos,
    kTan,
    kAsin,
    kAcos,
    kAtan,
    kSinh,
    kCosh,
    kTanh,
    kAsinh,
    kAcosh,
    kAtanh,
    kToRadians,
    kToDegrees,
};
enum class DecimalFunction2 : uint8_t { kPow, kAtan2 };
bson::Decimal128 applyDecimal(DecimalFunction function, bson::Decimal128 value);
bson::Decimal128 applyDecimal(DecimalFunction2 function, bson::Decimal128 a, bson::Decimal128 b);

bool isZero(const bson::Element& number);
bool isNanNumber(const bson::Element& number);
/// |number|; REQUIRES: not INT64_MIN as int64.
Value absolute(const bson::Element& number);
/// Any number as a decimal: doubles to 15 digits, as MongoDB does.
bson::Decimal128 toDecimal(const bson::Element& number);
/// kInvalid when the text is not a number.
StatusOr<bson::Decimal128> parseDecimal(std::string_view text);
/// A double as mongod turns it into a string: the shortest form that reads back as the same number.
std::string doubleText(double value);

}  // namespace freshet::query
