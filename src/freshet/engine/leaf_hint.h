// SPDX-License-Identifier: Apache-2.0
/// LeafHint: what one search of a tree passes to the next search of the same key.
#pragma once

#include <cstdint>

namespace freshet::engine {

struct PageEntry;

/// The leaf in which a key was found once, and the key's position there. May be used as long as its
/// tree exists, whatever has happened to the leaf: once pages of the tree have been freed, the hint
/// is ignored.
struct LeafHint {
    PageEntry* entry = nullptr;  // null: no hint
    uint32_t pos = 0;
    uint32_t generation = 0;  // PageTree::hintGeneration(), read before the leaf was found
};

}  // namespace freshet::engine
