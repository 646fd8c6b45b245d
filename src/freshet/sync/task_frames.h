// SPDX-License-Identifier: Apache-2.0
/// Memory for the frames of tasks. A command is a dozen nested coroutines that live for
/// microseconds and always have the same sizes, so each thread caches some frames. Any thread; a
/// frame may be freed on another thread than it was allocated on.
#pragma once

#include <cstddef>

namespace freshet::sync {

void* allocateFrame(size_t bytes);
void freeFrame(void* frame, size_t bytes) noexcept;

}  // namespace freshet::sync
