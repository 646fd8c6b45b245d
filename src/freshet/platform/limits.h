// SPDX-License-Identifier: Apache-2.0
/// What the system lets a process have.
#pragma once

#include <cstdint>

namespace freshet::platform {

/// Raises the limit of open files as far as the system allows: what it is then. UINT64_MAX: there
/// is none.
uint64_t raiseOpenFilesLimit();

}  // namespace freshet::platform
