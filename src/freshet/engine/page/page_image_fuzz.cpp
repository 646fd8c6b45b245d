// SPDX-License-Identifier: Apache-2.0
/// Fuzzer of the page image reader: any bytes give a valid image or an error.
#include "freshet/engine/page/page_image.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const freshet::ByteView bytes(reinterpret_cast<const char*>(data), size);
    if (auto image = freshet::engine::readPageImage(bytes); image.isOk()) {
        for (const freshet::engine::PageCell& cell : image->cells) {
            if (cell.tail.size() + cell.value.size() > size) {
                __builtin_trap();
            }
        }
    }
    if (auto value = freshet::engine::readLargeValue(bytes); value.isOk() && value->size() > size) {
        __builtin_trap();
    }
    return 0;
}
