// SPDX-License-Identifier: Apache-2.0
/// Drives calls that may return WouldBlock, from a plain thread: at start, in tools and in tests.
/// Never on a reactor.
#pragma once

#include "freshet/engine/store.h"

namespace freshet::catalog {

template <typename Call>
Status untilDone(engine::Txn& txn, Call call) {
    Status status = call();
    while (status.isWouldBlock()) {
        sync::blockOn(txn.token());
        status = call();
    }
    return status;
}

}  // namespace freshet::catalog
