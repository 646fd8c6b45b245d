// SPDX-License-Identifier: Apache-2.0
/// What the system does not let a server have: said in words, not by an abort.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>

namespace freshet::server {

/// From now on, where a thread cannot be made, a descriptor not be opened in a library, or memory
/// not be had, the process says so, to the log and to standard error, and ends with `exitCode`.
/// Whatever else is thrown and not caught aborts as ever.
void nameShortages(int exitCode);
/// Raises the limit of open files as far as it goes. kUnavailable: it is too low to serve anybody.
/// `reactors`: how many the server will have.
Status checkOpenFiles(uint32_t reactors);

}  // namespace freshet::server
