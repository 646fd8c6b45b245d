// SPDX-License-Identifier: Apache-2.0
/// cutText: what somebody else has written, short enough to be quoted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace freshet {

/// The text when it has at most `bytesMax` bytes, else its beginning and "...", so many in all. A
/// character of UTF-8 is left out whole.
std::string cutText(std::string_view text, size_t bytesMax);

}  // namespace freshet
