// SPDX-License-Identifier: Apache-2.0
/// Runs an operation to its end on a thread that may block.
#pragma once

#include "freshet/base/status.h"
#include "freshet/sync/wait_token.h"

namespace freshet::command {

/// Calls op.run() until it returns something else than WouldBlock. Not on an executor's thread.
template <typename Op>
Status blockOnAll(Op& op) {
    Status status = op.run();
    while (status.isWouldBlock()) {
        sync::blockOn(op.token());
        status = op.run();
    }
    return status;
}

}  // namespace freshet::command
