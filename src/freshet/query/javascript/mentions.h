// SPDX-License-Identifier: Apache-2.0
/// Looks for names of operators in a document's bytes, without parsing it: a name that it finds may
/// only be part of a string, but a name that it does not find is not in the document.
#pragma once

#include "freshet/bson/view.h"

#include <cstring>
#include <span>
#include <string_view>

namespace freshet::query {

/// How often the names occur; stops counting at `enough`. The names start with a dollar.
inline size_t countMentions(bson::Document document,
                            std::span<const std::string_view> names,
                            size_t enough) {
    const ByteView bytes = document.bytes();
    const char* const end = bytes.data() + bytes.size();
    const char* at = bytes.data();
    size_t count = 0;
    while (count < enough && (at = static_cast<const char*>(std::memchr(
                                  at, '$', static_cast<size_t>(end - at)))) != nullptr) {
        const std::string_view rest(at, static_cast<size_t>(end - at));
        for (const std::string_view name : names) {
            if (rest.size() > name.size() && rest[name.size()] == '\0' && rest.starts_with(name)) {
                ++count;
            }
        }
        ++at;
    }
    return count;
}

}  // namespace freshet::query
