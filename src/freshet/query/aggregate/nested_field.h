// SPDX-License-Identifier: Apache-2.0
/// Reading and writing one field deep in a document, for stages that store a value somewhere. Pure.
#pragma once

#include "freshet/bson/builder.h"

#include <string>
#include <vector>

namespace freshet::query {

/// The field at `path`, without entering arrays. Missing if there is none.
bson::Element nestedField(bson::Document document, const std::vector<std::string>& path);

/// Writes `document` with the value at `path` replaced, or removed if `value` is missing. Objects
/// on the way are created where needed.
void writeReplaced(bson::Document document,
                   const std::vector<std::string>& path,
                   const bson::Element& value,
                   bson::Builder* out);

}  // namespace freshet::query
