// SPDX-License-Identifier: Apache-2.0
/// The catalog tree's contents: one BSON record per collection, under the key "c" 0 database 0
/// collection. It holds what a restart needs; live parts are made anew.
///
///   {v: 1, uuid: BinData(4), tree: long, options: {...},
///    indexes: [{tree: long, multikey: bool, spec: {v, key, name, ...}}]}
#pragma once

#include "freshet/catalog/catalog.h"

#include <string>
#include <vector>

namespace freshet::catalog {

struct IndexRecord {
    engine::TreeId tree = 0;
    bool multikey = false;
    bson::OwnedDocument spec;
};

struct CollectionRecord {
    std::string uuid;
    engine::TreeId tree = 0;
    bson::OwnedDocument options;
    std::vector<IndexRecord> indexes;

    std::string encode() const;
    /// kCorruption when the bytes are not a record.
    static StatusOr<CollectionRecord> decode(ByteView bytes);
};

std::string catalogKey(std::string_view db, std::string_view collection);
/// False when the key is not a catalog key.
bool splitCatalogKey(ByteView key, std::string* db, std::string* collection);

/// What would be stored for a description now. REQUIRES: inside its gate, or it is unpublished.
CollectionRecord recordOf(const Collection& collection);

/// The index of a stored or requested spec. kCorruption when it has no usable key.
/// `compiler` is for partial indexes: without one they are refused (kUnsupported).
StatusOr<std::shared_ptr<Index>> makeIndex(engine::Store& store,
                                           const PredicateCompiler& compiler,
                                           const IndexRecord& record);
/// A description with new live parts; its record ids start at 1.
StatusOr<std::shared_ptr<Collection>> makeCollection(engine::Store& store,
                                                     const PredicateCompiler& compiler,
                                                     std::string db,
                                                     std::string name,
                                                     const CollectionRecord& record);
/// Compiles the validator in the description's options. Must be called whenever the options change.
Status compileValidator(const PredicateCompiler& compiler, Collection* collection);
/// The spec of the index that every collection has.
bson::OwnedDocument idIndexSpec();
/// 16 random bytes, marked as a version 4 UUID.
std::string newUuid();

}  // namespace freshet::catalog
