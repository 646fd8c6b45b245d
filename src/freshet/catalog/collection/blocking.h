// SPDX-License-Identifier: Apache-2.0
/// Driving calls that may return WouldBlock from a plain thread: at start, in tools and in tests.
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

/// The same for a transaction with Waits::kHere: what lies on disk is read by this thread.
template <typename Call>
Status untilDoneHere(engine::Txn& txn, Call call) {
    Status status = call();
    while (status.isWouldBlock()) {
        txn.await();
        status = call();
    }
    return status;
}

}  // namespace freshet::catalog
