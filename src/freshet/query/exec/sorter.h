// SPDX-License-Identifier: Apache-2.0
/// Sorter: documents ordered in memory, all of them or the first few. Bounded at kSortBytesMax.
/// Not thread-safe.
#pragma once

#include "freshet/query/exec/row.h"
#include "freshet/query/transform.h"

#include <string>
#include <vector>

namespace freshet::query {

inline constexpr size_t kSortBytesMax = 100u << 20;

class Sorter {
public:
    /// Keeps only the first `keep` documents of the order; 0: all.
    /// There is no spilling: `allowsDiskUse` says what the client is told.
    Sorter(SortPattern pattern, uint64_t keep, bool allowsDiskUse)
        : pattern_(std::move(pattern)), keep_(keep), allowsDiskUse_(allowsDiskUse) {}

    /// kLimit (kExceededMemoryLimit) when there is no room.
    Status add(const Row& row);
    /// No more will be added.
    void finish();
    /// REQUIRES: finished. Row with id 0 at the end.
    Row next();

private:
    struct Item {
        std::string key;
        uint64_t sequence = 0;  // equal keys stay in the order of arrival
        catalog::RecordId id = 0;
        std::string document;

        bool operator<(const Item& other) const {
            int order = key.compare(other.key);
            return order != 0 ? order < 0 : sequence < other.sequence;
        }
        size_t bytes() const { return sizeof(Item) + key.size() + document.size(); }
    };

    SortPattern pattern_;
    uint64_t keep_;
    bool allowsDiskUse_;
    std::vector<Item> items_;  // a heap with the last one on top while only `keep_` are kept
    size_t bytes_ = 0;
    uint64_t sequence_ = 0;
    size_t given_ = 0;
};

}  // namespace freshet::query
