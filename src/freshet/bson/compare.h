// SPDX-License-Identifier: Apache-2.0
/// MongoDB's canonical comparison order of BSON values. Numbers of all four types compare by value
/// (NaN lowest, -0 equals 0, decimals exactly); missing and undefined sort as documented at
/// canonicalClass. Any thread.
#pragma once

#include "freshet/bson/view.h"

namespace freshet::bson {

/// MinKey < missing(kEnd)/undefined < null < numbers < string/symbol < object < array < binary <
/// objectId < bool < date < timestamp < regex < dbPointer < code < codeWithScope < MaxKey. Types of
/// one class compare by value.
int canonicalClass(Type type);

/// Negative, zero or positive, names ignored. Objects compare field by field: first the canonical
/// class, then the name, then the value; arrays by their elements; binary by length, subtype,
/// bytes.
int compareValues(const Element& a, const Element& b);
int compareDocuments(Document a, Document b);
inline bool equalValues(const Element& a, const Element& b) {
    return compareValues(a, b) == 0;
}

/// Equal values (compareValues == 0) have equal hashes.
uint64_t hashValue(const Element& element);

}  // namespace freshet::bson
