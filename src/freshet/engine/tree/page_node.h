// SPDX-License-Identifier: Apache-2.0
/// Looking at pages, and what becomes of the nodes that are replaced.
#pragma once

#include "freshet/engine/node/node.h"
#include "freshet/engine/tree/tree_env.h"
#include "freshet/engine/variants/page_hold.h"

namespace freshet::engine {

/// The page's node; it exists until the slice ends.
inline Node* nodeOf(const PageEntry& entry) {
    holdAllPages();
    // [entry.read] acquire: pairs with [entry.install]: the node is complete.
    return entry.word.load(sync::kAcquire);
}

/// REQUIRES: the caller has unlinked the node.
inline void retireNode(TreeEnv& env, Node* node) {
    env.retireNode(node, destroyNodeErased, nodeWeight(node));
}

}  // namespace freshet::engine
