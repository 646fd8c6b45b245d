// SPDX-License-Identifier: Apache-2.0
/// Reused strings: a reply of some kilobytes lives for microseconds, and allocating and freeing its
/// memory costs as much as computing its content. Any thread; each thread keeps a few, so a string
/// may be given back on another thread than it was taken on.
#pragma once

#include <string>

namespace freshet {

/// An empty string, with capacity if one is spare.
std::string takeSpareString();
/// Keeps its memory for the next one, unless enough are kept, or it is too large or too small.
void giveSpareString(std::string&& string) noexcept;

}  // namespace freshet
