// SPDX-License-Identifier: Apache-2.0
/// LeafHint: what one search of a tree leaves to the next one of the same key.
#pragma once

#include <cstdint>

namespace freshet::engine {

struct PageEntry;

/// Where a key's leaf was found once, and where the key was in it. May be used as long as its tree
/// is there, whatever has become of the leaf: once pages of the tree have been freed it says
/// nothing.
struct LeafHint {
    PageEntry* entry = nullptr;  // null: nobody knows
    uint32_t pos = 0;
    uint32_t generation = 0;  // PageTree::hintGeneration(), from before the leaf was found
};

}  // namespace freshet::engine
