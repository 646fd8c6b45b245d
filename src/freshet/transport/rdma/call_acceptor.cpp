// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/rdma/call_acceptor.h"

#include "freshet/telemetry/log.h"
#include "freshet/transport/rdma/fd_watch.h"

#include <utility>

namespace freshet::transport::rdma {
namespace {

constexpr uint64_t kRetryMillis = 100;
constexpr int kCallsPerTurn = 64;

}  // namespace

struct CallAcceptor::Listening {
    Listening(Reactor& reactor, std::unique_ptr<verbs::CallListener> listenerIn)
        : listener(std::move(listenerIn)), watch(reactor, listener->fd()) {}
    std::unique_ptr<verbs::CallListener> listener;
    FdWatch watch;  // destroyed before the descriptor
};

CallAcceptor::CallAcceptor(Hub& hub, OnCall onCall) : hub_(hub), onCall_(std::move(onCall)) {}
CallAcceptor::~CallAcceptor() = default;

StatusOr<std::unique_ptr<CallAcceptor>> CallAcceptor::open(
    Hub& hub,
    verbs::Verbs& verbs,
    const std::vector<std::string>& addresses,
    uint16_t port,
    OnCall onCall) {
    std::unique_ptr<CallAcceptor> acceptor(new CallAcceptor(hub, std::move(onCall)));
    for (const std::string& address : addresses) {
        auto listener = verbs.listen(address, port);
        if (listener.isOk()) {
            acceptor->listening_.push_back(
                std::make_unique<Listening>(hub.reactor(), std::move(*listener)));
        } else if (listener.status().code() != Code::kNotFound) {
            return std::move(listener).status();
        }
    }
    if (acceptor->listening_.empty()) {
        telemetry::logWarning("transport",
                              "There is no listener on RDMA port " + std::to_string(port) +
                                  ": no address of this server belongs to an RDMA device");
    }
    return acceptor;
}

std::vector<std::string> CallAcceptor::addresses() const {
    std::vector<std::string> out;
    for (const auto& listening : listening_) {
        out.push_back(listening->listener->local() + " (RDMA)");
    }
    return out;
}

void CallAcceptor::start() {
    for (const auto& listening : listening_) {
        hub_.sessionBegan();
        sync::spawn(hub_.reactor(), answer(listening.get()));
    }
}

void CallAcceptor::stop() {
    isStopped_ = true;
    for (const auto& listening : listening_) {
        listening->watch.cancel();
    }
}

sync::Task<void> CallAcceptor::answer(Listening* listening) {
    int taken = 0;
    while (!isStopped_) {
        StatusOr<std::unique_ptr<verbs::Call>> call = listening->listener->next();
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
        const bool hasNews = co_await listening->watch.readable();
        if (!hasNews) {
            break;
        }
    }
    hub_.sessionEnded();
}

}  // namespace freshet::transport::rdma
