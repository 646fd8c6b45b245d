// SPDX-License-Identifier: Apache-2.0
/// Walks through a whole tree and checks its structure (INV-engine-1, 2, 5).
#pragma once

#include <cstddef>
#include <string>

namespace freshet::engine {

class PageTree;

struct TreeShape {
    std::string error;  // empty: all is well
    size_t leaves = 0;
    size_t inners = 0;
    size_t levels = 0;
    size_t keys = 0;      // of leaves in memory, with deleted keys that still have a chain
    size_t changed = 0;   // those of the keys that have versions beside the base
    size_t onDisk = 0;    // leaves on disk
    size_t unposted = 0;  // pages whose separator the parent lacks
};

/// REQUIRES: an open slice, and no other thread in the tree.
TreeShape checkTree(const PageTree& tree);

}  // namespace freshet::engine
