// SPDX-License-Identifier: Apache-2.0
/// Reads with read concern snapshot outside of transactions: all that a command and the getMores of
/// its cursor read is as of one place of the log. Belongs to the connection's executor.
#pragma once

#include "freshet/command/run/invocation.h"

namespace freshet::command {

/// Runs `read`, the command's handler, in a snapshot (Invocation::snapshot).
sync::Task<Status> runInSnapshot(Invocation& call, sync::Task<Status> read);

}  // namespace freshet::command
