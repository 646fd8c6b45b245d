// SPDX-License-Identifier: Apache-2.0
/// For tests of orders of values.
#pragma once

#include "freshet/bson/json.h"
#include "freshet/bson/view.h"

#include <string>

namespace freshet::bson {

inline int sign(int order) {
    return (order > 0) - (order < 0);
}

inline std::string show(const Element& element) {
    return std::string(typeName(element.type())) + " " + toShellText(element);
}

}  // namespace freshet::bson
