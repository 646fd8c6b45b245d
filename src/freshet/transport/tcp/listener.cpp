// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/tcp/listener.h"

#include "freshet/telemetry/log.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>

namespace freshet::transport {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr int kBacklog = 4096;
constexpr int kAcceptsPerTurn = 64;
constexpr auto kRetryAfter = std::chrono::milliseconds(100);

/// One listening socket.
class Door {
public:
    Door(asio::io_context& io, const std::function<void(int)>& onSocket)
        : acceptor_(io), retry_(io), onSocket_(onSocket) {}

    Status open(const std::string& address, uint16_t port);
    uint16_t port() const {
        error_code ignored;
        return acceptor_.local_endpoint(ignored).port();
    }
    void start() {
        acceptor_.async_wait(tcp::acceptor::wait_read, [this](error_code error) {
            if (!error && !stopped_) {
                acceptSome();
            }
        });
    }
    void stop() {
        error_code ignored;
        stopped_ = true;
        retry_.cancel();
        acceptor_.close(ignored);
    }

private:
    void acceptSome();

    tcp::acceptor acceptor_;
    asio::steady_timer retry_;
    const std::function<void(int)>& onSocket_;
    bool stopped_ = false;
};

Status Door::open(const std::string& text, uint16_t port) {
    error_code error;
    const asio::ip::address address = asio::ip::make_address(text, error);
    if (error) {
        return badValue("'" + text + "' is not a numeric address");
    }
    const tcp::endpoint endpoint(address, port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error && address.is_v6()) {
        acceptor_.set_option(asio::ip::v6_only(true), error);
    }
    if (!error) {
        acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    }
    if (!error) {
        acceptor_.bind(endpoint, error);
    }
    if (!error) {
        acceptor_.listen(kBacklog, error);
    }
    if (!error) {
        acceptor_.non_blocking(true, error);
    }
    if (error) {
        return Status(
            error == asio::error::address_in_use ? Code::kUnavailable : Code::kIo,
            "Cannot listen on " + text + ":" + std::to_string(port) + ": " + error.message());
    }
    return Status::ok();
}

void Door::acceptSome() {
    for (int i = 0; i < kAcceptsPerTurn; ++i) {
        error_code error;
        tcp::socket socket(acceptor_.get_executor());
        acceptor_.accept(socket, error);
        if (error == asio::error::would_block) {
            break;
        }
        if (error == asio::error::connection_aborted) {
            continue;
        }
        if (error) {
            // Out of descriptors or memory: the backlog keeps, and trying at once would spin.
            telemetry::logWarning("transport", "accept: " + error.message());
            retry_.expires_after(kRetryAfter);
            retry_.async_wait([this](error_code cancelled) {
                if (!cancelled && !stopped_) {
                    start();
                }
            });
            return;
        }
        // Its reactor may be another one: only the descriptor travels.
        const int descriptor = socket.release(error);
        if (!error) {
            onSocket_(descriptor);
        }
    }
    start();
}

}  // namespace

struct Listener::Impl {
    std::function<void(int)> onSocket;
    std::vector<std::unique_ptr<Door>> doors;
};

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::~Listener() = default;

StatusOr<std::unique_ptr<Listener>> Listener::open(Reactor& reactor,
                                                   const std::vector<std::string>& addresses,
                                                   uint16_t port,
                                                   std::function<void(int)> onSocket) {
    auto impl = std::make_unique<Impl>();
    impl->onSocket = std::move(onSocket);
    for (const std::string& address : addresses) {
        auto door = std::make_unique<Door>(reactor.io(), impl->onSocket);
        FRESHET_RETURN_IF_ERROR(door->open(address, port));
        port = door->port();  // chosen by the system for the first is everybody's
        impl->doors.push_back(std::move(door));
    }
    if (impl->doors.empty()) {
        return badValue("There is no address to listen on");
    }
    return std::unique_ptr<Listener>(new Listener(std::move(impl)));
}

uint16_t Listener::port() const {
    return impl_->doors.front()->port();
}

void Listener::start() {
    for (auto& door : impl_->doors) {
        door->start();
    }
}

void Listener::stop() {
    for (auto& door : impl_->doors) {
        door->stop();
    }
}

}  // namespace freshet::transport
