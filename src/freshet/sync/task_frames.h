// SPDX-License-Identifier: Apache-2.0
/// Memory for the frames of tasks. A command is a dozen coroutines, one inside the other, that are
/// made and gone within microseconds, always of the same sizes: each thread keeps some of its own
/// for the next one. Any thread; a frame may be given back on another thread than it came from.
#pragma once

#include <cstddef>

namespace freshet::sync {

void* allocateFrame(size_t bytes);
void freeFrame(void* frame, size_t bytes) noexcept;

}  // namespace freshet::sync
