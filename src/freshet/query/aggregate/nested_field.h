// SPDX-License-Identifier: Apache-2.0
/// Reading and writing one field deep in a document, for stages that put a value somewhere. Pure.
#pragma once

#include "freshet/bson/builder.h"

#include <string>
#include <vector>

namespace freshet::query {

/// The field at `path`; arrays on the way are not entered. Missing when there is none.
bson::Element nestedField(bson::Document document, const std::vector<std::string>& path);

/// Writes `document` with the value at `path` replaced, or left out when `value` is missing.
/// Objects on the way are made where there are none.
void writeReplaced(bson::Document document,
                   const std::vector<std::string>& path,
                   const bson::Element& value,
                   bson::Builder* out);

}  // namespace freshet::query
