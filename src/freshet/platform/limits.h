// SPDX-License-Identifier: Apache-2.0
/// What the system lets a process have, and what this process is to it.
#pragma once

#include <cstdint>
#include <string_view>

namespace freshet::platform {

/// Raises the limit of open files as far as the system allows. Returns the new limit; UINT64_MAX:
/// there is none.
uint64_t raiseOpenFilesLimit();
/// Address space of this process in bytes; 0 when the system does not tell.
uint64_t virtualBytes();
/// "jemalloc", or "system" where the program is not linked with it.
std::string_view allocatorName();

}  // namespace freshet::platform
