// SPDX-License-Identifier: Apache-2.0
/// Counting the entries of a range of keys, a leaf at a time.
#include "freshet/engine/node/disk_leaf.h"
#include "freshet/engine/node/leaf_merge.h"
#include "freshet/engine/tree/tree_core.h"
#include "freshet/engine/tree/tree_walk.h"

namespace freshet::engine {

namespace {

/// The part of a range that is in one page; null: the range goes on beyond the page.
struct PageRange {
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

/// How many more entries the range has than the image says.
int64_t changesIn(const TxnTable& txns,
                  const LeafNode& leaf,
                  const PageRange& range,
                  const View& view) {
    LeafDelta* delta = leaf.deltaForRead();
    int64_t more = 0;
    auto visit = [&](const LeafChange& change) {
        if (range.has(change)) {
            const std::optional<ValueRef> base = baseAt(leaf, change.basePos);
            // [version.read] acquire: pairs with [version.push].
            const auto* chain = pointerOf<Version>(change.chain->load(sync::kAcquire));
            more += static_cast<int>(visible(txns, chain, view, base).has_value()) -
                    static_cast<int>(base.has_value());
        }
        return true;
    };
    for (uint32_t b = 0; delta != nullptr && b < delta->buckets(); ++b) {
        delta->visitBucket(b, nullptr, visit);
    }
    return more;
}

}  // namespace

LeafCount countLeaf(TreeCore& core, ByteView low, ByteView end, const View& view) {
    const Descent descent = core.descend({.key = low});
    const Node& node = *descent.node;
    const bool endsHere = !end.empty() && (node.high.empty() || node.high > end);
    const bool beginsHere = node.low < low;
    LeafCount result{0, endsHere ? std::string() : node.high.string(), {}};
    if (node.isOnDisk) {
        if (beginsHere || endsHere) {
            result.fault = TreeCore::faultOf(descent);
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
    // Each key is counted in the image and then corrected by its changes, so the sum is never
    // negative.
    result.entries = static_cast<uint64_t>(range.countOf(leaf.image.keys()) +
                                           changesIn(core.env().txns, leaf, range, view));
    core.repair(descent);
    return result;
}

}  // namespace freshet::engine
