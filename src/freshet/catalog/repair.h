// SPDX-License-Identifier: Apache-2.0
/// After the engine has given up damaged pieces of trees: makes names and indexes agree with the
/// documents that are left.
#pragma once

#include "freshet/catalog/catalog.h"

#include <string>
#include <vector>

namespace freshet::catalog {

/// REQUIRES: the store was opened for repair, and nobody else uses it yet. Blocks. Collections
/// whose names are lost come back as local.orphan.<tree>; indexes that do not equal their
/// collection are made anew, and dropped when they are unique and documents contradict each other.
/// Of two documents with one _id the older one stays. Returns one line for each thing that was lost
/// or changed; documents are named as far as indexes still know them.
StatusOr<std::vector<std::string>> repairCollections(engine::Store& store,
                                                     PredicateCompiler compiler);

}  // namespace freshet::catalog
