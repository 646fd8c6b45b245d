// SPDX-License-Identifier: Apache-2.0
/// What createIndexes asks for, checked and compared with what is there. Pure; any thread.
#pragma once

#include "freshet/catalog/catalog.h"

#include <string>
#include <vector>

namespace freshet::catalog {

inline constexpr size_t kIndexesMax = 64;  // of one collection, as MongoDB

/// a_1_b.c_-1
std::string indexNameOf(bson::Document key);

/// The specs of `requests` that are not in `existing`, in the form that listIndexes shows; `ns` is
/// for errors. kInvalid: kCannotCreateIndex for a bad key, or when there are kIndexesMax already;
/// kIndexOptionsConflict and kIndexKeySpecsConflict when name, key or options clash;
/// kIndexAlreadyExists for one that is twice in the list.
StatusOr<std::vector<bson::OwnedDocument>> resolveIndexRequests(
    const std::string& ns,
    const std::vector<bson::OwnedDocument>& existing,
    const std::vector<IndexRequest>& requests);

}  // namespace freshet::catalog
