// SPDX-License-Identifier: Apache-2.0
/// Checks what createIndexes asks for and compares it with the existing indexes. Pure; any thread.
#pragma once

#include "freshet/catalog/catalog.h"

#include <string>
#include <vector>

namespace freshet::catalog {

inline constexpr size_t kIndexesMax = 64;  // per collection, as in MongoDB

/// a_1_b.c_-1
std::string indexNameOf(bson::Document key);

/// The specs of `requests` that are not in `existing`, in the form that listIndexes shows; `ns` is
/// for errors. kInvalid: kCannotCreateIndex for a bad key, or if there would be more than
/// kIndexesMax; kIndexOptionsConflict and kIndexKeySpecsConflict when name, key or options clash;
/// kIndexAlreadyExists for one that is in the list twice.
StatusOr<std::vector<bson::OwnedDocument>> resolveIndexRequests(
    const std::string& ns,
    const std::vector<bson::OwnedDocument>& existing,
    const std::vector<IndexRequest>& requests);

}  // namespace freshet::catalog
