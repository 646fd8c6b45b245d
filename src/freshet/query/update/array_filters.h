// SPDX-License-Identifier: Apache-2.0
/// arrayFilters: which elements `$[id]` in an update's path selects. Immutable; any thread.
#pragma once

#include "freshet/query/update/tree.h"

#include <map>
#include <memory>
#include <string>

namespace freshet::query {

/// By identifier; each filter's paths begin with its identifier.
using ArrayFilters = std::map<std::string, std::unique_ptr<Matcher>>;

/// `filters`: bytes of an array of objects.
StatusOr<ArrayFilters> parseArrayFilters(bson::Document filters);
/// Every $[id] has a filter and every filter is used.
Status checkFilterUse(const UpdateNode& root, const ArrayFilters& filters, bson::Document update);

}  // namespace freshet::query
