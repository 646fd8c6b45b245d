// SPDX-License-Identifier: Apache-2.0
/// How long a dotted path from a client may be. Code that walks along a path, or makes documents
/// from it, recurses no deeper than this. Pure.
#pragma once

#include "freshet/base/status.h"

#include <cstddef>
#include <string_view>

namespace freshet::bson {

inline constexpr size_t kPathPartsMax = 200;

/// Whether the name is one of a DBRef's ("$ref", "$id", "$db"): the only ones with a '$' in front
/// that paths of queries, expressions and indexes may have.
bool isDbRefPart(std::string_view name);
/// The number of its parts: its dots plus one.
size_t pathParts(std::string_view dotted);
/// kInvalid (kOverflow) when it has more than kPathPartsMax parts.
Status checkPathLength(std::string_view dotted);
/// The same for a path whose parts are already counted.
Status checkPathParts(size_t parts);

}  // namespace freshet::bson
