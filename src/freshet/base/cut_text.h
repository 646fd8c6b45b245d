// SPDX-License-Identifier: Apache-2.0
/// cutText: shortens a foreign text so that it can be quoted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace freshet {

/// The text when it has at most `bytesMax` bytes, else its beginning and "...", `bytesMax` bytes in
/// all. A character of UTF-8 is never cut in two.
std::string cutText(std::string_view text, size_t bytesMax);

}  // namespace freshet
