// SPDX-License-Identifier: Apache-2.0
/// Reading more than one key of a tree in one call. Any thread. REQUIRES: an open slice.
#pragma once

#include "freshet/engine/tree/tree_calls.h"

namespace freshet::engine {

class TreeCore;

/// A bounded walk in key order. There are no left links: going down, the page before is found from
/// the root, as the last one that begins below the fence.
WalkResult walkTree(TreeCore& core,
                    Direction direction,
                    const WalkFrom& from,
                    const WalkBudget& budget,
                    const View& view,
                    const WalkSink& sink);

/// How many entries the leaf of `low` has from there to below `end`; without an `end` to its last
/// one.
LeafCount countLeaf(TreeCore& core, ByteView low, ByteView end, const View& view);

}  // namespace freshet::engine
