// SPDX-License-Identifier: Apache-2.0
/// CallDoor: accepts clients that connect without TCP.
#pragma once

#include "freshet/sync/task.h"
#include "freshet/transport/calls.h"
#include "freshet/transport/rdma/hub.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace freshet::transport::rdma {

class CallDoor {
public:
    using OnCall = std::function<void(std::unique_ptr<verbs::Call>)>;

    /// Listens at those of `addresses` that belong to an adapter; a warning when none does. Before
    /// the hub's reactor has started. `onCall` is called on its thread. kUnavailable: the port is
    /// taken.
    static StatusOr<std::unique_ptr<CallDoor>> open(Hub& hub,
                                                    verbs::Verbs& verbs,
                                                    const std::vector<std::string>& addresses,
                                                    uint16_t port,
                                                    OnCall onCall);
    /// REQUIRES: start() was not called, or the hub is empty after stop().
    ~CallDoor();
    std::vector<std::string> doors() const;
    /// Reactor's thread, once each. onCall is not called after stop(); the hub counts the
    /// coroutines that still run.
    void start();
    void stop();

private:
    struct Listening;

    CallDoor(Hub& hub, OnCall onCall);
    sync::Task<void> answer(Listening* door);

    Hub& hub_;
    const OnCall onCall_;
    std::vector<std::unique_ptr<Listening>> listening_;
    bool isStopped_ = false;
};

}  // namespace freshet::transport::rdma
