// SPDX-License-Identifier: Apache-2.0
/// The files behind Unix sockets: what a dead server left, and what ours leave.
#pragma once

#include "freshet/base/status.h"

#include <string>

namespace freshet::transport {

/// Removes a socket file that nobody listens on. kUnavailable when somebody does; kIo when the path
/// is something else than a socket. Blocks; at start only.
Status clearStaleSocket(const std::string& path);
/// A socket's file gets these rights from the moment it exists.
Status setSocketMode(int socket, uint32_t mode);
void removeSocketFile(const std::string& path);

}  // namespace freshet::transport
