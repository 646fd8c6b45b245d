// SPDX-License-Identifier: Apache-2.0
/// Hash tables keyed by BSON values: 1, NumberLong(1) and 1.0 are one key; the first one stays.
#pragma once

#include "freshet/bson/compare.h"
#include "freshet/query/expression/value.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

namespace freshet::query {

struct ValueHash {
    size_t operator()(const Value& value) const { return bson::hashValue(value.element()); }
};
struct ValueEqual {
    bool operator()(const Value& a, const Value& b) const {
        return bson::equalValues(a.element(), b.element());
    }
};

using ValueSet = absl::flat_hash_set<Value, ValueHash, ValueEqual>;
template <typename T>
using ValueMap = absl::flat_hash_map<Value, T, ValueHash, ValueEqual>;

}  // namespace freshet::query
