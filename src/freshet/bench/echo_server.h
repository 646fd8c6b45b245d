// SPDX-License-Identifier: Apache-2.0
/// The floor under every row: the same reactors and sessions with no database above them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::bench {

/// Answers each message with one of `replyBytes` bytes until SIGTERM. The process's exit code.
int runEchoServer(uint16_t port, size_t replyBytes);

}  // namespace freshet::bench
