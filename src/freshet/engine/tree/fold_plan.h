// SPDX-License-Identifier: Apache-2.0
/// What a frozen leaf folds to: the contents of its replacement, and the chains that it does
/// without.
#pragma once

#include "freshet/engine/node/node.h"

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace freshet::engine {

struct FoldPlan {
    struct Entry {
        ByteView tail;  // after the frozen leaf's prefix
        std::optional<ValueRef> base;
        Version* chain;  // carried over unchanged; null when the base says it all
        size_t bytes;    // what it counts for
    };
    /// A chain that the replacement does without. `keeper` is now the base; null: all were aborted.
    struct Folded {
        Version* head;
        Version* keeper;
    };

    void add(ByteView tail, const std::optional<ValueRef>& base, Version* chain);

    const LeafNode* leaf = nullptr;
    size_t prefixLen = 0;           // of the keys; the tails lack this prefix
    std::deque<std::string> tails;  // those that are in no leaf
    std::vector<Entry> entries;
    std::vector<Folded> folded;
    size_t bytes = 0;
};

}  // namespace freshet::engine
