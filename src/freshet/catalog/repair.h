// SPDX-License-Identifier: Apache-2.0
/// After the engine has given up damaged pieces of trees: makes names and indexes agree with the
/// documents that are left.
#pragma once

#include "freshet/catalog/catalog.h"

#include <string>
#include <vector>

namespace freshet::catalog {

/// Blocks. Collections whose names are lost come back as local.orphan.<tree>. Indexes that do not
/// equal their collection are built again; a unique one is dropped if two documents have the same
/// key. Of two documents with one _id, the older one stays. Returns one line for each thing that
/// was lost or changed; documents are named as far as indexes still name them. REQUIRES: the store
/// was opened for repair, and nothing else uses it yet.
StatusOr<std::vector<std::string>> repairCollections(engine::Store& store,
                                                     PredicateCompiler compiler);

}  // namespace freshet::catalog
