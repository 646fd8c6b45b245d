// SPDX-License-Identifier: Apache-2.0
/// PageTree: a bounded walk in key order. There are no left links: downward, the page before is
/// found from the root, as the last one that begins below the fence.
#include "freshet/engine/tree/leaf_merge.h"
#include "freshet/engine/tree/page_tree.h"

namespace freshet::engine {

struct PageTree::WalkState {
    const WalkBudget& budget;
    const View& view;
    const WalkSink& sink;
    std::string key = {};  // the last one met
    uint32_t entries = 0;
    uint32_t skips = 0;
    size_t bytes = 0;

    bool spent() const {
        return entries >= budget.entries || skips >= budget.skips || bytes >= budget.bytes;
    }
};

bool PageTree::walkOne(ByteView prefix,
                       ByteView tail,
                       const std::optional<ValueRef>& base,
                       const DeltaKey::Link* chain,
                       WalkState* state) {
    std::optional<ValueRef> value = base;
    if (chain != nullptr) {
        // [version.read] acquire: pairs with [version.push].
        value = visible(pointerOf<Version>(chain->load(sync::kAcquire)), state->view, base);
    }
    state->key.assign(prefix).append(tail);
    if (value) {
        state->sink(state->key, *value);
        ++state->entries;
        state->bytes += state->key.size() + (value->shared != nullptr ? 0 : value->bytes.size());
    } else {
        ++state->skips;
    }
    return !state->spent();
}

bool PageTree::walkLeaf(LeafNode* leaf,
                        Direction direction,
                        const WalkFrom& from,
                        WalkState* state) {
    std::optional<MergeBound> bound;
    if (from.edge == Edge::kNone) {
        bound = MergeBound{leaf->pageKey(from.key), from.inclusive};
    }
    const MergeBound* at = bound ? &*bound : nullptr;
    const ByteView prefix = leaf->prefix();
    auto visit = [&](ByteView tail, const std::optional<ValueRef>& base, auto* chain) {
        return walkOne(prefix, tail, base, chain, state);
    };
    return direction == Direction::kForward ? mergeUp(*leaf, at, visit)
                                            : mergeDown(*leaf, at, visit);
}

WalkResult PageTree::walk(Direction direction,
                          const WalkFrom& from,
                          const WalkBudget& budget,
                          const View& view,
                          const WalkSink& sink) {
    WalkState state{budget, view, sink};
    WalkFrom at = from;
    const bool up = direction == Direction::kForward;
    for (;;) {
        const Descent descent = descend({.key = at.key,
                                         .before = !up && at.edge == Edge::kNone && !at.inclusive,
                                         .last = at.edge == Edge::kLast});
        if (descent.node->isOnDisk) {
            return {false, std::move(at), faultOf(descent)};
        }
        auto* leaf = static_cast<LeafNode*>(descent.node);
        leaf->passThrough();
        const bool through = walkLeaf(leaf, direction, at, &state);
        repair(descent);
        if (!through) {
            return {false, {Edge::kNone, std::move(state.key), false}, {}};
        }
        if (up ? leaf->right == nullptr : leaf->low.empty()) {
            return {true, {}, {}};
        }
        at = {Edge::kNone, (up ? leaf->high : leaf->low).string(), up};
        ++state.skips;
        if (state.spent()) {
            return {false, std::move(at), {}};
        }
    }
}

}  // namespace freshet::engine
