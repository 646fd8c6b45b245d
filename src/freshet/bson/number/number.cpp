// SPDX-License-Identifier: Apache-2.0
/// Compares numbers without rounding either side. Converting an int64 or a decimal to double would
/// make 2^53 and 2^53 + 1 equal, or 0.1 and NumberDecimal("0.1"), and equality would not be
/// transitive.
#include "freshet/bson/number/number.h"

#include "freshet/bson/number/decimal.h"

#include <absl/hash/hash.h>

#include <cmath>

namespace freshet::bson {

namespace {

int64_t integerOf(const Element& element) {
    return element.type() == Type::kInt32 ? element.int32Value() : element.int64Value();
}

int compareDoubles(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) {
        return static_cast<int>(std::isnan(b)) - static_cast<int>(std::isnan(a));
    }
    return threeWay(a, b);
}

int compareIntegerToDouble(int64_t a, double b) {
    if (std::isnan(b) || b < -0x1p63) {
        return 1;
    }
    if (b >= 0x1p63) {
        return -1;
    }
    double whole = std::trunc(b);
    int order = threeWay(a, static_cast<int64_t>(whole));
    return order != 0 ? order : threeWay(whole, b);
}

int compareDecimalToDouble(Decimal128 a, double b) {
    if (decimal::isNan(a) || std::isnan(b)) {
        return static_cast<int>(std::isnan(b)) - static_cast<int>(decimal::isNan(a));
    }
    bool exact = false;
    double nearZero = decimal::toDoubleTowardZero(a, &exact);
    if (nearZero != b || exact) {
        return threeWay(nearZero, b);
    }
    return decimal::isNegative(a) ? -1 : 1;  // a is beyond the double that it was truncated to
}

}  // namespace

int compareNumbers(const Element& a, const Element& b) {
    if (a.type() == Type::kDecimal) {
        switch (b.type()) {
            case Type::kDecimal:
                return decimal::compare(a.decimalValue(), b.decimalValue());
            case Type::kDouble:
                return compareDecimalToDouble(a.decimalValue(), b.doubleValue());
            default:
                return decimal::compare(a.decimalValue(), decimal::fromInt64(integerOf(b)));
        }
    }
    if (b.type() == Type::kDecimal) {
        return -compareNumbers(b, a);
    }
    if (a.type() == Type::kDouble) {
        return b.type() == Type::kDouble ? compareDoubles(a.doubleValue(), b.doubleValue())
                                         : -compareIntegerToDouble(integerOf(b), a.doubleValue());
    }
    return b.type() == Type::kDouble ? compareIntegerToDouble(integerOf(a), b.doubleValue())
                                     : threeWay(integerOf(a), integerOf(b));
}

uint64_t hashNumber(const Element& number) {
    enum class Kind : uint8_t { kNan, kInteger, kDouble, kDecimal };
    int64_t integer = 0;
    if (number.toExactInt64(&integer)) {
        return absl::HashOf(Kind::kInteger, integer);
    }
    // From here on it is neither an integer nor zero.
    bool exact = true;
    double value = number.type() == Type::kDecimal
                       ? decimal::toDoubleTowardZero(number.decimalValue(), &exact)
                       : number.toDouble();
    if (std::isnan(value)) {
        return absl::HashOf(Kind::kNan);
    }
    if (exact) {
        return absl::HashOf(Kind::kDouble, value);
    }
    std::string magnitude;
    decimal::appendMagnitude(number.decimalValue(), &magnitude);
    return absl::HashOf(
        Kind::kDecimal, decimal::isNegative(number.decimalValue()), ByteView(magnitude));
}

}  // namespace freshet::bson
