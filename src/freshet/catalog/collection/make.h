// SPDX-License-Identifier: Apache-2.0
/// Parts that collection changes and index changes share.
#pragma once

#include "freshet/catalog/names/catalog_impl.h"

namespace freshet::catalog {

/// A collection that nobody knows yet: fresh trees, a new uuid, the _id index.
StatusOr<std::shared_ptr<Collection>> makeEmptyCollection(CatalogCore& core,
                                                          const std::string& db,
                                                          const std::string& name,
                                                          const bson::OwnedDocument& options);

/// Forgets the records and all index entries.
void dropTrees(engine::Store& store, const Collection& collection);

}  // namespace freshet::catalog
