// SPDX-License-Identifier: Apache-2.0
/// The signals that a server acts on, taken by a blocking call instead of a handler: no code runs
/// in a signal's context.
#pragma once

#include <cstdint>
#include <string>

namespace freshet::platform {

struct Signal {
    enum class Kind : uint8_t {
        kEnd,        // SIGTERM, SIGINT, SIGHUP, or requestEnd()
        kRotateLog,  // SIGUSR1
        kOther,      // SIGUSR2
    };
    Kind kind = Kind::kEnd;
    int number = 0;
    std::string name;  // the system's description
};

/// Holds the signals back for waitForSignal() and ignores SIGPIPE. On the main thread, before any
/// other is created: threads inherit it.
void holdSignals();
/// Blocks until one of them arrives. REQUIRES: holdSignals().
Signal waitForSignal();
/// Makes waitForSignal() return kEnd. Any thread.
void requestEnd();

/// Asks another process to end, as SIGTERM does. False: there is no such process, or this process
/// may not signal it.
bool requestEndOf(int64_t processId);
bool processExists(int64_t processId);

}  // namespace freshet::platform
