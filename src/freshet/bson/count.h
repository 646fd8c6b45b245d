// SPDX-License-Identifier: Apache-2.0
/// Counts in replies.
#pragma once

#include "freshet/bson/builder.h"

#include <cstdint>
#include <limits>
#include <string_view>

namespace freshet::bson {

/// Adds a count as clients expect it: an int32 where it fits, else an int64.
inline Builder& addCount(Builder* out, std::string_view name, int64_t count) {
    const bool isShort = count >= std::numeric_limits<int32_t>::min() &&
                         count <= std::numeric_limits<int32_t>::max();
    return isShort ? out->add(name, static_cast<int32_t>(count)) : out->add(name, count);
}

}  // namespace freshet::bson
