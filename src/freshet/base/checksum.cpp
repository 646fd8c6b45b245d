// SPDX-License-Identifier: Apache-2.0
#include "freshet/base/checksum.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstring>

namespace freshet {

#ifdef __x86_64__
namespace {

/// For short inputs such as a header, where ISA-L takes three times as long to begin. REQUIRES: SSE
/// 4.2.
__attribute__((target("sse4.2"))) uint32_t crcOfFew(const char* p, size_t bytes, uint32_t crc) {
    uint64_t wide = crc;
    for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), p += sizeof(uint64_t)) {
        uint64_t word;
        std::memcpy(&word, p, sizeof(word));
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = static_cast<uint32_t>(wide);
    for (; bytes > 0; --bytes, ++p) {
        crc = __builtin_ia32_crc32qi(crc, static_cast<unsigned char>(*p));
    }
    return crc;
}

const bool kHasCrc = __builtin_cpu_supports("sse4.2") != 0;

}  // namespace
#endif

uint32_t crc32c(const void* data, size_t bytes, uint32_t seed) {
#ifdef __x86_64__
    constexpr size_t kFew = 64;
    if (bytes <= kFew && kHasCrc) {
        return ~crcOfFew(static_cast<const char*>(data), bytes, ~seed);
    }
#endif
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
