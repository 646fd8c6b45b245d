// SPDX-License-Identifier: Apache-2.0
/// Limits that the system sets for a process.
#pragma once

#include <cstdint>

namespace freshet::platform {

/// Raises the limit of open files as far as the system allows. Returns the new limit; UINT64_MAX:
/// there is none.
uint64_t raiseOpenFilesLimit();

}  // namespace freshet::platform
