// SPDX-License-Identifier: Apache-2.0
/// The one place where a checksum decides whether stored bytes are believed.
#pragma once

#include <cstdint>

namespace freshet::block {

/// `stored`: what the disk or the map says; `computed`: what the bytes say.
bool checksumMatches(uint32_t stored, uint32_t computed);

}  // namespace freshet::block
