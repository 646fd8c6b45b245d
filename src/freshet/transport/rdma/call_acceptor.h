// SPDX-License-Identifier: Apache-2.0
/// CallAcceptor: accepts clients that connect without TCP.
#pragma once

#include "freshet/sync/task.h"
#include "freshet/transport/calls.h"
#include "freshet/transport/rdma/hub.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace freshet::transport::rdma {

class CallAcceptor {
public:
    using OnCall = std::function<void(std::unique_ptr<verbs::Call>)>;

    /// Listens at those of `addresses` that belong to an adapter; a warning when none does. Before
    /// the hub's reactor has started. `onCall` is called on its thread. kUnavailable: the port is
    /// taken.
    static StatusOr<std::unique_ptr<CallAcceptor>> open(Hub& hub,
                                                        verbs::Verbs& verbs,
                                                        const std::vector<std::string>& addresses,
                                                        uint16_t port,
                                                        OnCall onCall);
    /// REQUIRES: start() was not called, or the hub is empty after stop().
    ~CallAcceptor();
    std::vector<std::string> addresses() const;
    /// Reactor's thread, once each. onCall is not called after stop(); the hub counts the
    /// coroutines that still run.
    void start();
    void stop();

private:
    struct Listening;

    CallAcceptor(Hub& hub, OnCall onCall);
    sync::Task<void> answer(Listening* listening);

    Hub& hub_;
    const OnCall onCall_;
    std::vector<std::unique_ptr<Listening>> listening_;
    bool isStopped_ = false;
};

}  // namespace freshet::transport::rdma
