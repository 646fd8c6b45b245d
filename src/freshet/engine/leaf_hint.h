// SPDX-License-Identifier: Apache-2.0
/// LeafHint: what one search of a tree leaves to the next one of the same key.
#pragma once

#include <cstdint>

namespace freshet::engine {

struct PageEntry;

/// Where a key's leaf was found once, and where the key was in it. Good as long as its tree,
/// whatever has become of the leaf.
struct LeafHint {
    PageEntry* entry = nullptr;  // null: nobody knows
    uint32_t pos = 0;
};

}  // namespace freshet::engine
