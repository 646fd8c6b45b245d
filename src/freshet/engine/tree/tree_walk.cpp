// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/tree_walk.h"

#include "freshet/engine/node/leaf_merge.h"
#include "freshet/engine/tree/tree_core.h"

#include <optional>
#include <string>
#include <utility>

namespace freshet::engine {

namespace {

struct WalkState {
    const TxnTable& txns;
    const WalkBudget& budget;
    const View& view;
    const WalkSink& sink;
    std::string key = {};  // the last one visited
    uint32_t entries = 0;
    uint32_t skips = 0;
    size_t bytes = 0;

    bool isSpent() const {
        return entries >= budget.entries || skips >= budget.skips || bytes >= budget.bytes;
    }
};

bool walkOne(ByteView prefix,
             ByteView tail,
             const std::optional<ValueRef>& base,
             const DeltaKey::Link* chain,
             WalkState* state) {
    std::optional<ValueRef> value = base;
    if (chain != nullptr) {
        // [version.read] acquire: pairs with [version.push].
        value = visible(
            state->txns, pointerOf<Version>(chain->load(sync::kAcquire)), state->view, base);
    }
    state->key.assign(prefix).append(tail);
    if (value) {
        state->sink(state->key, *value);
        ++state->entries;
        state->bytes += state->key.size() + (value->shared != nullptr ? 0 : value->bytes.size());
    } else {
        ++state->skips;
    }
    return !state->isSpent();
}

bool walkLeaf(LeafNode* leaf, Direction direction, const WalkFrom& from, WalkState* state) {
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

}  // namespace

WalkResult walkTree(TreeCore& core,
                    Direction direction,
                    const WalkFrom& from,
                    const WalkBudget& budget,
                    const View& view,
                    const WalkSink& sink) {
    WalkState state{core.env().txns, budget, view, sink};
    WalkFrom at = from;
    const bool up = direction == Direction::kForward;
    for (;;) {
        const Descent descent =
            core.descend({.key = at.key,
                          .before = !up && at.edge == Edge::kNone && !at.inclusive,
                          .last = at.edge == Edge::kLast});
        if (descent.node->isOnDisk) {
            return {false, std::move(at), TreeCore::faultOf(descent)};
        }
        auto* leaf = static_cast<LeafNode*>(descent.node);
        leaf->passThrough();
        const bool through = walkLeaf(leaf, direction, at, &state);
        core.repair(descent);
        if (!through) {
            return {false, {Edge::kNone, std::move(state.key), false}, {}};
        }
        if (up ? leaf->right == nullptr : leaf->low.empty()) {
            return {true, {}, {}};
        }
        at = {Edge::kNone, (up ? leaf->high : leaf->low).string(), up};
        ++state.skips;
        if (state.isSpent()) {
            return {false, std::move(at), {}};
        }
    }
}

}  // namespace freshet::engine
