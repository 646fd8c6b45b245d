// SPDX-License-Identifier: Apache-2.0
/// LeafDelta: the changes of a leaf since its base was built, each a chain of versions. They live
/// in two structures: short sorted lists of DeltaKeys and, for record ids that are appended in
/// order, an array of cells, in which a write neither searches nor allocates (decision 0022). All
/// readers: inside a slice.
#pragma once

#include "freshet/engine/keys/key_array.h"
#include "freshet/engine/value/version.h"
#include "freshet/sync/atomic.h"

#include <algorithm>
#include <cstdint>

namespace freshet::engine {

/// Bit 0 of a delta link: frozen.
inline constexpr uintptr_t kMark = 1;
constexpr bool isMarked(uintptr_t word) {
    return (word & kMark) != 0;
}
template <typename T>
T* pointerOf(uintptr_t word) {
    return reinterpret_cast<T*>(word & ~kMark);
}
template <typename T>
uintptr_t wordOf(T* pointer) {
    return reinterpret_cast<uintptr_t>(pointer);
}

/// A key of a leaf that has versions. Owned by its node, its versions by their chain.
class DeltaKey {
public:
    static constexpr uint32_t kNoBase = UINT32_MAX;
    using Link = sync::Atomic<uintptr_t>;

    static DeltaKey* create(ByteView tail, uint32_t basePos, unsigned height, Version* version);
    static void destroy(DeltaKey* key);

    int compare(const PageKey& key) const { return comparePageKey(keyHead, tail(), key); }
    ByteView tail() const;
    /// next(0) is the list; the levels above are shortcuts that may lag behind or be missing.
    ///   WORD     DeltaKey* | frozen (level 0 only)
    ///   STEPS    successor -> a key inserted between -> ... -> marked; final then
    Link& next(unsigned level) { return links()[level]; }

    const uint64_t keyHead;
    const uint32_t basePos;  // the key's index in the base, or kNoBase
    const uint32_t tailBytes;
    const uint32_t height;
    /// The chain's newest version.
    ///   WORD     Version* | frozen
    ///   STEPS    head -> a newer version -> ... -> marked; final then
    Link ver;

private:
    DeltaKey(ByteView tail, uint32_t basePosition, unsigned levels, Version* version);
    static size_t objectBytes(uint32_t height, size_t tailBytes) {
        return sizeof(DeltaKey) + height * sizeof(Link) + tailBytes;
    }
    Link* links() { return reinterpret_cast<Link*>(this + 1); }
    const Link* links() const { return reinterpret_cast<const Link*>(this + 1); }
};

inline constexpr size_t kRecordIdBytes = sizeof(uint64_t);

/// A range of consecutive record ids, which are big-endian numbers.
struct CellRange {
    uint64_t first = 0;
    uint32_t count = 0;
    /// `more` ids behind `last`, as far as numbers reach.
    static CellRange behind(uint64_t last, uint32_t more) {
        return {last + 1, static_cast<uint32_t>(std::min<uint64_t>(more, UINT64_MAX - last))};
    }
};

/// Whether `keys` keys, of which these are the first and the last, look like appended record ids:
/// some ids in between may be on their way or were given up.
inline bool areAppended(ByteView first, ByteView last, uint32_t keys) {
    constexpr uint32_t kSpreadMax = 16;
    return first.size() == kRecordIdBytes && last.size() == kRecordIdBytes &&
           keyHeadOf(last) - keyHeadOf(first) < uint64_t{kSpreadMax} * keys;
}

/// One change of a leaf, as a walk through the leaf sees it.
struct LeafChange {
    ByteView tail;
    uint64_t head;                // keyHeadOf(tail)
    uint32_t basePos;             // or DeltaKey::kNoBase
    const DeltaKey::Link* chain;  // as DeltaKey::ver
};

/// Lists, one for each stretch of base keys, and perhaps cells behind all base keys. The last list,
/// for appended keys that have no cell, also has skip levels. A key that has a cell is in no list.
class LeafDelta {
public:
    using Link = DeltaKey::Link;
    static constexpr unsigned kHeightMax = 5;

    /// REQUIRES: the cells' keys are above all base keys.
    static LeafDelta* create(uint32_t baseKeys, uint32_t bucketsMax, CellRange range = {});
    /// Frees the keys, not their versions.
    static void destroy(LeafDelta* delta);

    uint32_t buckets() const { return buckets_; }
    /// The bucket of a key whose index in the base is `basePos`. Rises with basePos.
    uint32_t bucketOf(uint32_t basePos) const {
        return static_cast<uint32_t>(uint64_t{basePos} * buckets_ / (baseKeys_ + 1));
    }
    ///   WORD     DeltaKey* | frozen, as DeltaKey::next(0)
    Link& head(uint32_t bucket) { return heads()[bucket]; }

    uint32_t cells() const { return range_.count; }
    ///   WORD     Version* | frozen, as DeltaKey::ver
    ///   STEPS    0 -> a version -> a newer one -> ... -> marked; final then
    Link& cell(uint32_t i) { return cellLinks()[i]; }
    /// Null: the key has no cell.
    Link* cellOf(const PageKey& key) {
        const uint64_t at = key.head - range_.first;
        return at < range_.count && key.tail.size() == kRecordIdBytes
                   ? &cell(static_cast<uint32_t>(at))
                   : nullptr;
    }

    /// Where a key is or would be: the link to change and, on every level, the link to begin from.
    struct Spot {
        Link* link = nullptr;
        uintptr_t word = 0;       // the value of `link`: the first key >= the one sought
        DeltaKey* key = nullptr;  // that key if it is the one sought
        Link* above[kHeightMax] = {};
    };
    /// REQUIRES: the key has no cell.
    Spot find(uint32_t bucket, const PageKey& key);
    /// The chain of a key whose index in the base is `basePos`; null: it has none.
    const Link* chainOf(uint32_t basePos, const PageKey& key);
    /// The height of a new key of that bucket.
    unsigned heightFor(uint32_t bucket, ByteView tail) const;
    /// After `key` was linked at level 0: links its shortcuts, with a few attempts each.
    void linkAbove(const Spot& spot, DeltaKey* key);
    /// Adds a chain of a key at `place` in the base, or before it. REQUIRES: the delta is not
    /// published yet, and has no chain of that key.
    void insertPrivate(ByteView tail, KeyArray::Position place, Version* chain);

    /// Calls visit(LeafChange) for the changes of a bucket in order, with the cells in the last
    /// bucket, from `from` on (null: all) until it returns false. Returns false in that case.
    /// Changes that are inserted meanwhile may or may not be visited.
    template <typename Visit>
    bool visitBucket(uint32_t bucket, const PageKey* from, Visit visit) {
        DeltaKey* key =
            from == nullptr ? follow(head(bucket)) : pointerOf<DeltaKey>(find(bucket, *from).word);
        uint32_t i = bucket + 1 < buckets_ ? range_.count : from == nullptr ? 0 : firstCell(*from);
        for (;; key = follow(key->next(0))) {
            for (; i < range_.count && (key == nullptr || isCellBefore(i, *key)); ++i) {
                if (!visitCell(i, visit)) {
                    return false;
                }
            }
            if (key == nullptr) {
                return true;
            }
            if (!visit(LeafChange{key->tail(), key->keyHead, key->basePos, &key->ver})) {
                return false;
            }
        }
    }

private:
    LeafDelta(uint32_t baseKeys, uint32_t buckets, CellRange range);
    ~LeafDelta();
    size_t objectBytes() const { return objectBytes(buckets_, range_.count); }
    static size_t objectBytes(uint32_t buckets, uint32_t cells) {
        return sizeof(LeafDelta) + (buckets + cells) * sizeof(Link) + cells * kRecordIdBytes;
    }
    // Behind the object itself: saves one cache miss when looking into a bucket.
    Link* heads() { return reinterpret_cast<Link*>(this + 1); }
    Link* cellLinks() { return heads() + buckets_; }
    char* cellKeys() { return reinterpret_cast<char*>(cellLinks() + range_.count); }

    static DeltaKey* follow(Link& link) {
        // [delta.read] acquire: pairs with [delta.insert].
        return pointerOf<DeltaKey>(link.load(sync::kAcquire));
    }
    /// The first cell whose key is not below `key`.
    uint32_t firstCell(const PageKey& key) const;
    bool isCellBefore(uint32_t i, const DeltaKey& key) const {
        const uint64_t id = range_.first + i;
        return id < key.keyHead || (id == key.keyHead && key.tailBytes > kRecordIdBytes);
    }
    template <typename Visit>
    bool visitCell(uint32_t i, Visit& visit) {
        Link& link = cell(i);
        // [cell.look] relaxed: a visitor that uses the chain loads the link again.
        return pointerOf<Version>(link.load(sync::kRelaxed)) == nullptr ||
               visit(LeafChange{ByteView(cellKeys() + i * kRecordIdBytes, kRecordIdBytes),
                                range_.first + i,
                                DeltaKey::kNoBase,
                                &link});
    }

    const uint32_t baseKeys_;
    const uint32_t buckets_;
    const CellRange range_;
    Link skip_[kHeightMax] = {};  // the last bucket's; [0] is unused
};

}  // namespace freshet::engine
