// SPDX-License-Identifier: Apache-2.0
/// Numbers of all four types as exact values, for compare and hash. Any thread.
#pragma once

#include "freshet/bson/view.h"

namespace freshet::bson {

/// REQUIRES: both are numbers. Negative, zero or positive, exactly; NaN lowest and equal to NaN.
int compareNumbers(const Element& a, const Element& b);
/// REQUIRES: a number. Equal numbers have equal hashes.
uint64_t hashNumber(const Element& number);

/// Negative, zero or positive, for any type with < and ==.
template <typename T>
int threeWay(const T& a, const T& b) {
    return a < b ? -1 : (a == b ? 0 : 1);
}

}  // namespace freshet::bson
