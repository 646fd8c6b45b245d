// SPDX-License-Identifier: Apache-2.0
/// The operations on 128-bit decimals that the room needs, over Intel's library. Exact where it
/// says so. Any thread.
#pragma once

#include "freshet/bson/view.h"

#include <string>

namespace freshet::bson::decimal {

bool isNan(Decimal128 value);
bool isZero(Decimal128 value);
bool isNegative(Decimal128 value);

Decimal128 fromInt64(int64_t value);
/// To the nearest double.
double toDouble(Decimal128 value);
/// The nearest double whose magnitude is not greater; never an infinity for a finite value. *exact:
/// the double equals the value.
double toDoubleTowardZero(Decimal128 value, bool* exact);
/// Truncated towards zero, clamped to the range; 0 for NaN.
int64_t toInt64(Decimal128 value);

/// Negative, zero or positive, by value; NaN lowest and equal to itself.
int compare(Decimal128 a, Decimal128 b);

/// The length of what appendMagnitude() appends.
inline constexpr size_t kMagnitudeBytes = 17;
/// Appends the absolute value in a form that memcmp orders; equal values give equal bytes.
/// REQUIRES: finite and not zero.
void appendMagnitude(Decimal128 value, std::string* out);

}  // namespace freshet::bson::decimal
