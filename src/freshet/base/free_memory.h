// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace freshet {

/// Makes a string, or what is made of strings, empty and frees its memory now. Assigning an empty
/// one does not: the standard library keeps the memory for what comes next.
template <typename T>
void freeMemory(T* held) {
    [[maybe_unused]] const T gone = std::exchange(*held, T());
}

}  // namespace freshet
