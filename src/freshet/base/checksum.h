// SPDX-License-Identifier: Apache-2.0
/// CRC-32C (Castagnoli), as used by the journal, the block file and OP_MSG, by ISA-L.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet {

/// CRC-32C of `bytes` bytes; "123456789" gives 0xe3069283. Pass an earlier result as `seed` to
/// continue it.
uint32_t crc32c(const void* data, size_t bytes, uint32_t seed = 0);

}  // namespace freshet
