// SPDX-License-Identifier: Apache-2.0
/// Handles the result of one of a read's operations. Pure.
#pragma once

#include "freshet/platform/async_reads.h"

namespace freshet::platform {

/// How often a read may be refused for passing reasons before it fails.
inline constexpr int kRefusalsMax = 16;

/// Notes the system's answer: bytes, or an error as a negative number. True: the read is over.
/// False: the rest, from `got` on, has to be requested again.
bool noteResult(AsyncReads::Read* read, int result);

}  // namespace freshet::platform
