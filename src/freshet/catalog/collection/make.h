// SPDX-License-Identifier: Apache-2.0
/// Parts that changes of collections and of indexes share.
#pragma once

#include "freshet/catalog/names/catalog_impl.h"

namespace freshet::catalog {

/// A collection that no other thread knows: new trees, a new uuid, the _id index.
StatusOr<std::shared_ptr<Collection>> makeEmptyCollection(CatalogCore& core,
                                                          const std::string& db,
                                                          const std::string& name,
                                                          const bson::OwnedDocument& options);

/// Adds the requested indexes that the collection lacks, with trees of their own, to it and to
/// *created; after an error, those made so far.
Status addIndexes(CatalogCore& core,
                  const std::vector<IndexRequest>& requests,
                  Collection* collection,
                  std::vector<std::shared_ptr<Index>>* created,
                  IndexCounts* counts);

/// The events of a new collection, and of new indexes if there are any.
Status addCreateEvent(engine::Txn& txn, const Collection& collection);
Status addCreateIndexesEvent(engine::Txn& txn,
                             const Collection& collection,
                             const std::vector<std::shared_ptr<Index>>& created);

/// Drops the trees of the records and of all indexes.
void dropTrees(engine::Store& store, const Collection& collection);

}  // namespace freshet::catalog
