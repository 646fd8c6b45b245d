// SPDX-License-Identifier: Apache-2.0
#include "freshet/bson/path.h"

#include <algorithm>

namespace freshet::bson {

bool isDbRefPart(std::string_view name) {
    return name == "$ref" || name == "$id" || name == "$db";
}

size_t pathParts(std::string_view dotted) {
    return static_cast<size_t>(std::count(dotted.begin(), dotted.end(), '.')) + 1;
}

Status checkPathLength(std::string_view dotted) {
    return checkPathParts(pathParts(dotted));
}

Status checkPathParts(size_t parts) {
    return parts > kPathPartsMax ? invalid(Reason::kOverflow, "FieldPath is too long")
                                 : Status::ok();
}

}  // namespace freshet::bson
