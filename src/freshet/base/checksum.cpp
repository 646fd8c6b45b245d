// SPDX-License-Identifier: Apache-2.0
#include "freshet/base/checksum.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace freshet {

uint32_t crc32c(const void* data, size_t bytes, uint32_t seed) {
    constexpr size_t kPieceMax = 1u << 30;  // ISA-L takes an int
    auto* p = static_cast<unsigned char*>(const_cast<void*>(data));
    uint32_t crc = ~seed;
    while (bytes > 0) {
        size_t piece = std::min(bytes, kPieceMax);
        crc = crc32_iscsi(p, static_cast<int>(piece), crc);
        p += piece;
        bytes -= piece;
    }
    return ~crc;
}

}  // namespace freshet
