// SPDX-License-Identifier: Apache-2.0
/// The files of Unix sockets: removing stale ones, and the mode of ours.
#pragma once

#include "freshet/base/status.h"

#include <string>

namespace freshet::transport {

/// Removes a socket file that nothing listens on. kUnavailable when a server does; kIo when the
/// path is not a socket. Blocks; at start only.
Status clearStaleSocket(const std::string& path);
/// Sets the mode that the socket's file has from its creation on.
Status setSocketMode(int socket, uint32_t mode);
void removeSocketFile(const std::string& path);

}  // namespace freshet::transport
