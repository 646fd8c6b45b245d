// SPDX-License-Identifier: Apache-2.0
/// The lower bound for every row: the same reactors and sessions without a database.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::bench {

/// Answers each message with `replyBytes` bytes until SIGTERM. Returns the process's exit code.
int runEchoServer(uint16_t port, size_t replyBytes);

}  // namespace freshet::bench
