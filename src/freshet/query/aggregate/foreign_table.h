// SPDX-License-Identifier: Apache-2.0
/// A collection held in memory, hashed by the values of one field: how $lookup finds documents when
/// no index serves. Bounded; not thread-safe.
#pragma once

#include "freshet/query/aggregate/stage.h"

#include <absl/container/flat_hash_map.h>

namespace freshet::query {

class ForeignTable {
public:
    explicit ForeignTable(std::string_view field) : path_(splitPath(field)) {}

    /// False: there is no room for it, and the table can no longer be used.
    bool add(bson::Document document);
    /// Documents that may have one of the values (each by itself), in the order of adding. A
    /// superset.
    std::vector<bson::Document> candidates(const std::vector<Value>& values) const;

private:
    void addKeys(const bson::Element& at, size_t depth, uint32_t document);
    void addKey(const bson::Element& value, uint32_t document);

    static constexpr size_t kBytesMax = 64u << 20;

    std::vector<std::string> path_;
    std::vector<std::string> documents_;
    absl::flat_hash_map<uint64_t, std::vector<uint32_t>> byHash_;
    size_t bytes_ = 0;
};

}  // namespace freshet::query
