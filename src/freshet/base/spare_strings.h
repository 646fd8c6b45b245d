// SPDX-License-Identifier: Apache-2.0
/// Strings that are used again: a reply of some kilobytes lives for microseconds, and the
/// allocator's way to its memory and back costs as much as finding what is in it. Any thread; each
/// keeps a few for itself, so that a string may be given back on another thread than it came from.
#pragma once

#include <string>

namespace freshet {

/// An empty string, with room if there is one to spare.
std::string takeSpareString();
/// Keeps its memory for the next one, unless there is enough, or it is large or tiny.
void giveSpareString(std::string&& string) noexcept;

}  // namespace freshet
