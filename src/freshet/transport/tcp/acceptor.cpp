// SPDX-License-Identifier: Apache-2.0
/// A reactor with a listener and no sessions of its own.
#include "freshet/transport/acceptor.h"

#include "freshet/telemetry/log.h"
#include "freshet/transport/tcp/listener.h"
#include "freshet/transport/tcp/run_on.h"
#include "freshet/transport/tcp/tcp_session.h"

namespace freshet::transport {
namespace {

class ReactorAcceptor final : public Acceptor {
public:
    explicit ReactorAcceptor(std::function<void(std::unique_ptr<Session>)> onSession)
        : onSession_(std::move(onSession)) {}
    ~ReactorAcceptor() override;

    Status open(const ServerTransportOptions& options);
    std::vector<std::string> addresses() const override { return listener_->addresses(); }
    uint16_t port() const override { return listener_->port(); }

private:
    void onSocket(int socket);

    const std::function<void(std::unique_ptr<Session>)> onSession_;
    std::unique_ptr<Reactor> reactor_;
    std::unique_ptr<Listener> listener_;
};

Status ReactorAcceptor::open(const ServerTransportOptions& options) {
    FRESHET_ASSIGN_OR_RETURN(reactor_, Reactor::create(0, {}));
    FRESHET_ASSIGN_OR_RETURN(
        listener_, Listener::open(*reactor_, options, [this](int socket) { onSocket(socket); }));
    reactor_->start();
    runOn(*reactor_, [this] { listener_->start(); });
    return Status::ok();
}

ReactorAcceptor::~ReactorAcceptor() {
    if (listener_ != nullptr) {
        runOn(*reactor_, [this] { listener_->stop(); });
        reactor_->endTimers();
        reactor_->stop();
        reactor_->join();
        listener_.reset();
    }
}

void ReactorAcceptor::onSocket(int socket) {
    auto session = makeBlockingSession(socket, nextConnectionId());
    if (session.isOk()) {
        onSession_(std::move(*session));
    } else {
        telemetry::logWarning("transport", session.status().toString());
    }
}

}  // namespace

StatusOr<std::unique_ptr<Acceptor>> Acceptor::start(
    const ServerTransportOptions& options,
    std::function<void(std::unique_ptr<Session>)> onSession) {
    auto acceptor = std::make_unique<ReactorAcceptor>(std::move(onSession));
    FRESHET_RETURN_IF_ERROR(acceptor->open(options));
    return std::unique_ptr<Acceptor>(std::move(acceptor));
}

}  // namespace freshet::transport
