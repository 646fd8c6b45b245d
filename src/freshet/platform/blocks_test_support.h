// SPDX-License-Identifier: Apache-2.0
/// Memory aligned for direct transfers.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace freshet::platform {

inline constexpr size_t kBlockBytes = 4096;

struct FreeBlocks {
    void operator()(char* memory) const {
        ::operator delete(memory, std::align_val_t{kBlockBytes});
    }
};
using Blocks = std::unique_ptr<char, FreeBlocks>;

inline Blocks blocks(size_t count) {
    return Blocks(
        static_cast<char*>(::operator new(count* kBlockBytes, std::align_val_t{kBlockBytes})));
}

}  // namespace freshet::platform
