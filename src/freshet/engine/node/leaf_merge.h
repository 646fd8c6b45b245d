// SPDX-License-Identifier: Apache-2.0
/// Visits a leaf's keys in order, base and delta as one sequence. Each key is visited once, with
/// its value in the base and its chain of versions, if any. Keys inserted meanwhile may or may not
/// be visited; they are too young for every snapshot that was taken before.
#pragma once

#include "freshet/engine/node/node.h"

#include <optional>
#include <utility>
#include <vector>

namespace freshet::engine {

/// One end of a merge.
struct MergeBound {
    PageKey key;
    bool inclusive;
};

inline constexpr const DeltaKey::Link* kUnchanged = nullptr;

inline std::optional<ValueRef> baseAt(const LeafNode& leaf, uint32_t pos) {
    if (pos == DeltaKey::kNoBase) {
        return std::nullopt;
    }
    return leaf.image.value(pos);
}

/// Calls visit(tail, base, chain) from `from` (null: the first) upward until it returns false.
/// Returns false when it did. `chain` is null where nothing was changed, else a DeltaKey::Link.
template <typename Visit>
bool mergeUp(const LeafNode& leaf, const MergeBound* from, Visit visit) {
    const KeyArray& keys = leaf.image.keys();
    LeafDelta* delta = leaf.deltaForRead();
    KeyArray::Position place{0, false};
    if (from != nullptr) {
        place = keys.lowerBound(from->key);
    }
    uint32_t i = place.pos + (place.exact && !from->inclusive ? 1 : 0);
    bool isBoundNext = from != nullptr && !from->inclusive;  // the bound itself is not wanted
    auto visitChange = [&](const LeafChange& change) {
        const PageKey at(change.tail);
        if (std::exchange(isBoundNext, false) && comparePageKey(at.head, at.tail, from->key) == 0) {
            return true;
        }
        for (; i < keys.size() && comparePageKey(keys.head(i), keys.tail(i), at) < 0; ++i) {
            if (!visit(keys.tail(i), baseAt(leaf, i), kUnchanged)) {
                return false;
            }
        }
        i += change.basePos == i ? 1 : 0;
        return visit(change.tail, baseAt(leaf, change.basePos), change.chain);
    };
    const uint32_t first = delta == nullptr ? 0 : delta->bucketOf(place.pos);
    for (uint32_t b = first; delta != nullptr && b < delta->buckets(); ++b) {
        const PageKey* bound = from != nullptr && b == first ? &from->key : nullptr;
        if (!delta->visitBucket(b, bound, visitChange)) {
            return false;
        }
    }
    for (; i < keys.size(); ++i) {
        if (!visit(keys.tail(i), baseAt(leaf, i), kUnchanged)) {
            return false;
        }
    }
    return true;
}

/// The same downward; `from` null: the last.
template <typename Visit>
bool mergeDown(const LeafNode& leaf, const MergeBound* from, Visit visit) {
    const KeyArray& keys = leaf.image.keys();
    LeafDelta* delta = leaf.deltaForRead();
    KeyArray::Position place{keys.size(), false};
    if (from != nullptr) {
        place = keys.lowerBound(from->key);
    }
    uint32_t i = place.pos + (place.exact && from->inclusive ? 1 : 0);  // base keys still to come
    std::vector<LeafChange> bucket;
    auto collect = [&](const LeafChange& change) {
        const int order =
            from == nullptr ? -1 : comparePageKey(change.head, change.tail, from->key);
        if (order > 0 || (order == 0 && !from->inclusive)) {
            return false;
        }
        bucket.push_back(change);
        return true;
    };
    for (uint32_t b = delta == nullptr ? 0 : delta->bucketOf(place.pos) + 1; b-- > 0;) {
        bucket.clear();
        delta->visitBucket(b, nullptr, collect);
        for (; !bucket.empty(); bucket.pop_back()) {
            const LeafChange& change = bucket.back();
            const PageKey at(change.tail);
            for (; i > 0 && comparePageKey(keys.head(i - 1), keys.tail(i - 1), at) > 0; --i) {
                if (!visit(keys.tail(i - 1), baseAt(leaf, i - 1), kUnchanged)) {
                    return false;
                }
            }
            i -= i > 0 && change.basePos == i - 1 ? 1 : 0;
            if (!visit(change.tail, baseAt(leaf, change.basePos), change.chain)) {
                return false;
            }
        }
    }
    for (; i > 0; --i) {
        if (!visit(keys.tail(i - 1), baseAt(leaf, i - 1), kUnchanged)) {
            return false;
        }
    }
    return true;
}

}  // namespace freshet::engine
