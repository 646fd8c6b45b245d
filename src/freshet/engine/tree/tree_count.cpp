// SPDX-License-Identifier: Apache-2.0
/// PageTree: counting the entries of a range of keys, a leaf at a time.
#include "freshet/engine/tree/disk_leaf.h"
#include "freshet/engine/tree/leaf_merge.h"
#include "freshet/engine/tree/page_tree.h"

namespace freshet::engine {

/// What a range leaves of a page: null where it goes beyond.
struct PageTree::PageRange {
    const PageKey* low;
    const PageKey* end;

    bool has(const LeafChange& change) const {
        return (low == nullptr || comparePageKey(change.head, change.tail, *low) >= 0) &&
               (end == nullptr || comparePageKey(change.head, change.tail, *end) < 0);
    }
    uint32_t countOf(const KeyArray& keys) const {
        const uint32_t from = low == nullptr ? 0 : keys.lowerBound(*low).pos;
        const uint32_t to = end == nullptr ? keys.size() : keys.lowerBound(*end).pos;
        return to - from;
    }
};

/// How many more the range has than the image says.
int64_t PageTree::changesIn(const LeafNode& leaf, const PageRange& range, const View& view) {
    LeafDelta* delta = leaf.deltaForRead();
    int64_t more = 0;
    auto visit = [&](const LeafChange& change) {
        if (range.has(change)) {
            const std::optional<ValueRef> base = baseAt(leaf, change.basePos);
            // [version.read] acquire: pairs with [version.push].
            const auto* chain = pointerOf<Version>(change.chain->load(sync::kAcquire));
            more += static_cast<int>(visible(chain, view, base).has_value()) -
                    static_cast<int>(base.has_value());
        }
        return true;
    };
    for (uint32_t b = 0; delta != nullptr && b < delta->buckets(); ++b) {
        delta->visitBucket(b, nullptr, visit);
    }
    return more;
}

LeafCount PageTree::countLeaf(ByteView low, ByteView end, const View& view) {
    const Descent descent = descend({.key = low});
    const Node& node = *descent.node;
    const bool endsHere = !end.empty() && (node.high.empty() || node.high > end);
    const bool beginsHere = node.low < low;
    LeafCount result{0, endsHere ? std::string() : node.high.string(), {}};
    if (node.isOnDisk) {
        if (beginsHere || endsHere) {
            result.fault = faultOf(descent);
        } else {
            result.entries = static_cast<const DiskLeaf&>(node).entries;
        }
        return result;
    }
    auto& leaf = static_cast<LeafNode&>(*descent.node);
    leaf.passThrough();
    const PageKey first(beginsHere ? leaf.pageKey(low) : PageKey(ByteView()));
    const PageKey last(endsHere ? leaf.pageKey(end) : PageKey(ByteView()));
    const PageRange range{beginsHere ? &first : nullptr, endsHere ? &last : nullptr};
    // Key by key the image and its changes, so the sum is not negative.
    result.entries =
        static_cast<uint64_t>(range.countOf(leaf.image.keys()) + changesIn(leaf, range, view));
    repair(descent);
    return result;
}

}  // namespace freshet::engine
