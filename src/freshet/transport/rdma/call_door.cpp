// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/rdma/call_door.h"

#include "freshet/telemetry/log.h"
#include "freshet/transport/rdma/fd_watch.h"

#include <utility>

namespace freshet::transport::rdma {
namespace {

constexpr uint64_t kRetryMillis = 100;
constexpr int kCallsPerTurn = 64;

}  // namespace

struct CallDoor::Listening {
    Listening(Reactor& reactor, std::unique_ptr<verbs::CallListener> listenerIn)
        : listener(std::move(listenerIn)), watch(reactor, listener->fd()) {}
    std::unique_ptr<verbs::CallListener> listener;
    FdWatch watch;  // destroyed before the descriptor
};

CallDoor::CallDoor(Hub& hub, OnCall onCall) : hub_(hub), onCall_(std::move(onCall)) {}
CallDoor::~CallDoor() = default;

StatusOr<std::unique_ptr<CallDoor>> CallDoor::open(Hub& hub,
                                                   verbs::Verbs& verbs,
                                                   const std::vector<std::string>& addresses,
                                                   uint16_t port,
                                                   OnCall onCall) {
    std::unique_ptr<CallDoor> door(new CallDoor(hub, std::move(onCall)));
    for (const std::string& address : addresses) {
        auto listener = verbs.listen(address, port);
        if (listener.isOk()) {
            door->listening_.push_back(
                std::make_unique<Listening>(hub.reactor(), std::move(*listener)));
        } else if (listener.status().code() != Code::kNotFound) {
            return std::move(listener).status();
        }
    }
    if (door->listening_.empty()) {
        telemetry::logWarning("transport",
                              "There is no listener on RDMA port " + std::to_string(port) +
                                  ": no address of this server belongs to an RDMA device");
    }
    return door;
}

std::vector<std::string> CallDoor::doors() const {
    std::vector<std::string> out;
    for (const auto& door : listening_) {
        out.push_back(door->listener->local() + " (RDMA)");
    }
    return out;
}

void CallDoor::start() {
    for (const auto& door : listening_) {
        hub_.sessionBegan();
        sync::spawn(hub_.reactor(), answer(door.get()));
    }
}

void CallDoor::stop() {
    isStopped_ = true;
    for (const auto& door : listening_) {
        door->watch.cancel();
    }
}

sync::Task<void> CallDoor::answer(Listening* door) {
    int taken = 0;
    while (!isStopped_) {
        StatusOr<std::unique_ptr<verbs::Call>> call = door->listener->next();
        if (call.isOk()) {
            onCall_(std::move(*call));
            if (++taken % kCallsPerTurn != 0) {
                continue;
            }
        } else if (!call.status().isWouldBlock()) {
            // Out of descriptors or memory: an immediate retry would fail as well.
            telemetry::logWarning("transport", "RDMA: " + call.status().toString());
            co_await sync::wait(hub_.reactor().after(kRetryMillis));
            continue;
        }
        const bool hasNews = co_await door->watch.readable();
        if (!hasNews) {
            break;
        }
    }
    hub_.sessionEnded();
}

}  // namespace freshet::transport::rdma
