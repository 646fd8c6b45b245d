// SPDX-License-Identifier: Apache-2.0
/// A leaf's keys in order, base and delta as one sequence. Each key comes once, with what the base
/// has for it and its DeltaKey, if any. Keys inserted meanwhile may or may not come; they are too
/// young for every snapshot that was taken before.
#pragma once

#include "freshet/engine/tree/node.h"

#include <optional>
#include <vector>

namespace freshet::engine {

/// One end of a merge.
struct MergeBound {
    PageKey key;
    bool inclusive;
};

inline DeltaKey* nextDelta(LeafDelta::Link& link) {
    // [delta.read] acquire: pairs with [delta.insert].
    return pointerOf<DeltaKey>(link.load(sync::kAcquire));
}

inline std::optional<ValueRef> baseAt(const LeafNode& leaf, uint32_t pos) {
    if (pos == DeltaKey::kNoBase) {
        return std::nullopt;
    }
    return leaf.image.value(pos);
}

/// Calls visit(tail, base, deltaKey) from `from` (null: the first) upward until it returns false.
/// Returns false when it did.
template <typename Visit>
bool mergeUp(const LeafNode& leaf, const MergeBound* from, Visit visit) {
    const KeyArray& keys = leaf.image.keys();
    LeafDelta* delta = leaf.deltaForRead();
    KeyArray::Place place{0, false};
    if (from != nullptr) {
        place = keys.lowerBound(from->key);
    }
    uint32_t i = place.pos + (place.exact && !from->inclusive ? 1 : 0);
    const uint32_t first = delta == nullptr ? 0 : delta->bucketOf(place.pos);
    for (uint32_t b = first; delta != nullptr && b < delta->buckets(); ++b) {
        DeltaKey* key = from != nullptr && b == first
                            ? pointerOf<DeltaKey>(delta->find(b, from->key).word)
                            : nextDelta(delta->head(b));
        if (from != nullptr && !from->inclusive && key != nullptr && key->compare(from->key) == 0) {
            key = nextDelta(key->next(0));
        }
        for (; key != nullptr; key = nextDelta(key->next(0))) {
            const PageKey at(key->tail());
            for (; i < keys.size() && comparePageKey(keys.head(i), keys.tail(i), at) < 0; ++i) {
                if (!visit(keys.tail(i), baseAt(leaf, i), nullptr)) {
                    return false;
                }
            }
            i += key->basePos == i ? 1 : 0;
            if (!visit(key->tail(), baseAt(leaf, key->basePos), key)) {
                return false;
            }
        }
    }
    for (; i < keys.size(); ++i) {
        if (!visit(keys.tail(i), baseAt(leaf, i), nullptr)) {
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
    KeyArray::Place place{keys.size(), false};
    if (from != nullptr) {
        place = keys.lowerBound(from->key);
    }
    uint32_t i = place.pos + (place.exact && from->inclusive ? 1 : 0);  // base keys still to come
    std::vector<DeltaKey*> bucket;
    for (uint32_t b = delta == nullptr ? 0 : delta->bucketOf(place.pos) + 1; b-- > 0;) {
        bucket.clear();
        for (DeltaKey* key = nextDelta(delta->head(b)); key != nullptr;
             key = nextDelta(key->next(0))) {
            const int order = from == nullptr ? -1 : key->compare(from->key);
            if (order > 0 || (order == 0 && !from->inclusive)) {
                break;
            }
            bucket.push_back(key);
        }
        for (; !bucket.empty(); bucket.pop_back()) {
            DeltaKey* key = bucket.back();
            const PageKey at(key->tail());
            for (; i > 0 && comparePageKey(keys.head(i - 1), keys.tail(i - 1), at) > 0; --i) {
                if (!visit(keys.tail(i - 1), baseAt(leaf, i - 1), nullptr)) {
                    return false;
                }
            }
            i -= i > 0 && key->basePos == i - 1 ? 1 : 0;
            if (!visit(key->tail(), baseAt(leaf, key->basePos), key)) {
                return false;
            }
        }
    }
    for (; i > 0; --i) {
        if (!visit(keys.tail(i - 1), baseAt(leaf, i - 1), nullptr)) {
            return false;
        }
    }
    return true;
}

}  // namespace freshet::engine
