// SPDX-License-Identifier: Apache-2.0
/// The parts of a line of Store::losses() about a tree, for callers that know what the tree is for
/// and can say so.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/engine/store.h"

#include <optional>
#include <string>
#include <string_view>

namespace freshet::engine {

struct TreeLoss {
    TreeId tree = 0;
    /// The keys from `low` (empty: the first) below `high` (empty: to the last).
    std::string low;
    std::string high;
    bool isOneKey = false;  // `low` alone
    bool isCut = false;     // the keys are longer than the line shows
};

/// "tree 6 had the keys from x'01' to x'02' there", at a line's end.
std::string textOf(const TreeLoss& loss);
/// Nothing when the line is of something else.
std::optional<TreeLoss> treeLossIn(std::string_view line);

}  // namespace freshet::engine
