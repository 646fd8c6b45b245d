// SPDX-License-Identifier: Apache-2.0
/// Makes client sessions.
#pragma once

#include "freshet/base/status.h"
#include "freshet/transport/session.h"

#include <cstdint>
#include <memory>
#include <string>

namespace freshet::transport {

struct ConnectOptions {
    std::string host = "127.0.0.1";  // name or numeric address
    uint16_t port = 27017;
    uint32_t timeoutMs = 10'000;  // for the connection; 0: none
};

/// Blocks until connected. The session serves the blocking pair of calls (sourceMessage,
/// sinkMessage). kUnavailable when nobody listens there, kTimeout, kIo.
StatusOr<std::unique_ptr<Session>> connect(const ConnectOptions& options);

}  // namespace freshet::transport
