// SPDX-License-Identifier: Apache-2.0
/// Shortages of system resources, reported in words instead of by an abort.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>

namespace freshet::server {

/// From now on, when a thread cannot be created, a library cannot open a descriptor, or memory runs
/// out, the process reports it in the log and on standard error and ends with `exitCode`. Other
/// uncaught exceptions abort as usual.
void nameShortages(int exitCode);
/// Raises the limit of open files as far as it goes. kUnavailable: it is too low to serve anybody.
/// `reactors`: how many the server will have. Warns when it is too low for `connectionsMax`.
Status checkOpenFiles(uint32_t reactors, uint32_t connectionsMax);

}  // namespace freshet::server
