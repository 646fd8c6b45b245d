// SPDX-License-Identifier: Apache-2.0
/// Reading the arguments that scripts pass to host functions.
#pragma once

#include "freshet/bson/view.h"

#include <string>

namespace freshet::shell {

/// A missing element when there are fewer.
inline bson::Element argumentAt(bson::Document arguments, int index) {
    for (const bson::Element& element : arguments) {
        if (index-- == 0) {
            return element;
        }
    }
    return {};
}
/// Empty when it is not a string.
inline std::string textAt(bson::Document arguments, int index) {
    const bson::Element element = argumentAt(arguments, index);
    return element.isString() ? std::string(element.stringValue()) : std::string();
}

}  // namespace freshet::shell
