// SPDX-License-Identifier: Apache-2.0
/// Ctrl-C: it ends what is running, a script as well as a call that waits for the server, but not
/// the shell.
#pragma once

#include "freshet/script/context.h"

namespace freshet::shell {

/// From now on SIGINT sets a flag instead of ending the process. On the main thread.
void catchInterrupts();
/// The script engine that a SIGINT ends as well; null for none. Main thread.
void setInterruptible(script::Context* context);
bool wasInterrupted();
void forgetInterrupt();

}  // namespace freshet::shell
