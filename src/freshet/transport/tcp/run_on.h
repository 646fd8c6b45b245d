// SPDX-License-Identifier: Apache-2.0
/// Runs a piece of code on a reactor from another thread.
#pragma once

#include "freshet/sync/task.h"
#include "freshet/transport/tcp/reactor.h"

namespace freshet::transport {

/// Runs `body` on the reactor and waits for it. Not from a reactor's thread.
template <typename F>
void runOn(Reactor& reactor, F body) {
    sync::WaitToken done = sync::WaitToken::create();
    auto task = [](F* what, sync::WaitToken token) -> sync::Task<void> {
        (*what)();
        token.complete();
        co_return;
    };
    sync::spawn(reactor, task(&body, done));
    sync::blockOn(done);
}

}  // namespace freshet::transport
