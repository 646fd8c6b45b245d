// SPDX-License-Identifier: Apache-2.0
/// The one place where a checksum decides whether stored bytes are used.
#pragma once

#include <cstdint>

namespace freshet::block {

/// `stored`: from the disk or the map; `computed`: from the bytes.
bool checksumMatches(uint32_t stored, uint32_t computed);

}  // namespace freshet::block
