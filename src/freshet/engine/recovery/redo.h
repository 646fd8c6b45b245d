// SPDX-License-Identifier: Apache-2.0
/// Where replay has to begin.
#pragma once

#include "freshet/engine/tree/page_tree.h"

#include <functional>
#include <vector>

namespace freshet::engine {

/// Every commit with an LSN below the result is complete, and all of it is in images: in those that
/// the last checkpoint names or in those that wait for the next one. `trees()` returns all trees
/// and is called once. `last`: the last checkpoint's position; the result is never lower. REQUIRES:
/// no scan is under way (the caller is the checkpoint).
uint64_t redoLsn(TreeEnv& env, uint64_t last, const std::function<std::vector<PageTree*>()>& trees);

}  // namespace freshet::engine
