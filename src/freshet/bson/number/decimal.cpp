// SPDX-License-Identifier: Apache-2.0
/// Decimals over Intel's library, which is built with arguments by value and with explicit rounding
/// and flags (the three macros that LAYERS sets).
#include "freshet/bson/number/decimal.h"

#include "freshet/base/assert.h"

#include <bid_conf.h>
// bid_conf.h must come first: it renames what bid_functions.h declares.
#include <bid_functions.h>

#include <cmath>
#include <limits>

namespace freshet::bson::decimal {

namespace {

constexpr uint64_t kSignBit = uint64_t{1} << 63;
constexpr int kExponentShift = 49;  // of the high word, in a canonical finite number
constexpr uint64_t kExponentMask = 0x3fff;
constexpr uint64_t kCoefficientMask = (uint64_t{1} << kExponentShift) - 1;

BID_UINT128 toBid(Decimal128 value) {
    BID_UINT128 bid;
    bid.w[0] = value.low;
    bid.w[1] = value.high;
    return bid;
}

}  // namespace

bool isNan(Decimal128 value) {
    return bid128_isNaN(toBid(value)) != 0;
}

bool isZero(Decimal128 value) {
    return bid128_isZero(toBid(value)) != 0;
}

bool isNegative(Decimal128 value) {
    return (value.high & kSignBit) != 0;
}

Decimal128 fromInt64(int64_t value) {
    BID_UINT128 bid = bid128_from_int64(value);
    return {bid.w[0], bid.w[1]};
}

double toDouble(Decimal128 value) {
    _IDEC_flags flags = 0;
    return bid128_to_binary64(toBid(value), BID_ROUNDING_TO_NEAREST, &flags);
}

double toDoubleTowardZero(Decimal128 value, bool* exact) {
    _IDEC_flags flags = 0;
    double result = bid128_to_binary64(toBid(value), BID_ROUNDING_TO_ZERO, &flags);
    *exact = (flags & BID_INEXACT_EXCEPTION) == 0;
    return result;
}

int64_t toInt64(Decimal128 value) {
    if (isNan(value)) {
        return 0;
    }
    _IDEC_flags flags = 0;
    int64_t result = bid128_to_int64_int(toBid(value), &flags);
    if ((flags & BID_INVALID_EXCEPTION) == 0) {
        return result;
    }
    return isNegative(value) ? std::numeric_limits<int64_t>::min()
                             : std::numeric_limits<int64_t>::max();
}

int compare(Decimal128 a, Decimal128 b) {
    bool nanA = isNan(a);
    bool nanB = isNan(b);
    if (nanA || nanB) {
        return static_cast<int>(nanB) - static_cast<int>(nanA);
    }
    _IDEC_flags flags = 0;
    if (bid128_quiet_less(toBid(a), toBid(b), &flags) != 0) {
        return -1;
    }
    return bid128_quiet_equal(toBid(a), toBid(b), &flags) != 0 ? 0 : 1;
}

void appendMagnitude(Decimal128 value, std::string* out) {
    using Coefficient = unsigned __int128;
    constexpr Coefficient kTenTo33 =
        Coefficient{1'000'000'000'000'000'000u} * 1'000'000'000'000'000u;
    Coefficient coefficient = Coefficient{value.high & kCoefficientMask} << 64 | value.low;
    int exponent = static_cast<int>(value.high >> kExponentShift & kExponentMask);
    dcheck(coefficient != 0);
    // Always 34 digits, so that exponent and coefficient can be compared one after another.
    while (coefficient < kTenTo33) {
        coefficient *= 10;
        --exponent;
    }
    constexpr int kExponentBias = 64;  // the loop subtracts at most 33
    auto biased = static_cast<uint32_t>(exponent + kExponentBias);
    out->push_back(static_cast<char>(biased >> 8));
    out->push_back(static_cast<char>(biased));
    for (int shift = 8 * (kMagnitudeBytes - 3); shift >= 0; shift -= 8) {
        out->push_back(static_cast<char>(coefficient >> shift));
    }
}

}  // namespace freshet::bson::decimal
