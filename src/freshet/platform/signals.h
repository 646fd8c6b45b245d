// SPDX-License-Identifier: Apache-2.0
/// The signals that end a server, taken as a blocking call instead of a handler: nothing ever runs
/// in a signal's context.
#pragma once

namespace freshet::platform {

/// Holds SIGTERM and SIGINT back for waitForEndSignal() and ignores SIGPIPE. On the main thread,
/// before any other is made: threads inherit it.
void holdEndSignals();
/// Blocks until SIGTERM or SIGINT arrives, or requestEnd() is called. REQUIRES: holdEndSignals().
/// The signal's number.
int waitForEndSignal();
/// Makes waitForEndSignal() return. Any thread.
void requestEnd();

}  // namespace freshet::platform
