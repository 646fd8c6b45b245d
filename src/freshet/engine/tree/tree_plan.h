// SPDX-License-Identifier: Apache-2.0
/// What a frozen leaf folds to: the contents of its replacement, and the chains that go.
#pragma once

#include "freshet/engine/tree/page_tree.h"

#include <deque>
#include <string>
#include <vector>

namespace freshet::engine {

struct PageTree::Plan {
    struct Entry {
        ByteView tail;  // after the frozen leaf's prefix
        std::optional<ValueRef> base;
        Version* chain;  // carried over, untouched; null when the base says it all
        size_t bytes;    // what it counts for
    };
    /// A chain that the replacement does without. `keeper` is now the base; null: all were aborted.
    struct Folded {
        Version* head;
        Version* keeper;
    };

    void add(ByteView tail, const std::optional<ValueRef>& base, Version* chain);

    const LeafNode* leaf = nullptr;
    size_t prefixLen = 0;           // of the keys, which the tails lack
    std::deque<std::string> tails;  // those that are in no leaf
    std::vector<Entry> entries;
    std::vector<Folded> folded;
    size_t bytes = 0;
};

}  // namespace freshet::engine
