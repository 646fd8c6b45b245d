// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/tcp/listener.h"

#include "freshet/telemetry/log.h"
#include "freshet/transport/tcp/socket.h"
#include "freshet/transport/tcp/unix_path.h"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace freshet::transport {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr int kBacklog = 4096;
constexpr int kAcceptsPerTurn = 64;
constexpr uint64_t kRetryAfterMillis = 100;

using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;

/// Sockets need a context, though nothing runs this one: the reactor waits for them.
asio::io_context& socketContext() {
    static asio::io_context context;
    return context;
}

/// A connection needs a descriptor, and the soft limit is often 1,024. Best effort.
void raiseFileLimit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/// One listening socket.
class ListeningSocket final : private sync::WorkItem, private Watched {
public:
    ListeningSocket(Reactor& reactor, const std::function<void(int)>& onSocket)
        : reactor_(reactor),
          acceptor_(socketContext()),
          retry_(reactor.poller()),
          onSocket_(onSocket) {
        run = [](sync::WorkItem* item) { static_cast<ListeningSocket*>(item)->acceptSome(); };
    }
    ~ListeningSocket() {
        stop();
        if (!unixPath_.empty()) {
            removeSocketFile(unixPath_);
        }
    }

    Status openTcp(const tcp::endpoint& endpoint);
    Status openUnix(const std::string& path, uint32_t mode);
    uint16_t port() const {
        error_code ignored;
        const Endpoint local = acceptor_.local_endpoint(ignored);
        tcp::endpoint internet;
        std::memcpy(internet.data(), local.data(), std::min(local.size(), internet.capacity()));
        return internet.port();
    }
    const std::string& text() const { return text_; }
    void start() { reactor_.poller().rewatch(acceptor_.native_handle(), kOnce, this); }
    void stop() {
        retry_.cancel();
        if (std::exchange(isWatched_, false)) {
            reactor_.poller().unwatch(acceptor_.native_handle());
        }
        error_code ignored;
        acceptor_.close(ignored);
    }

private:
    /// One event; the next one after start(). While it is not started there is none.
    static constexpr uint32_t kOnce = EPOLLIN | EPOLLONESHOT;

    Status listen(const Endpoint& endpoint, error_code error);
    void onEvents(uint32_t) override { reactor_.post(this); }
    void acceptSome();

    Reactor& reactor_;
    Acceptor acceptor_;
    bool isWatched_ = false;
    LaterCall retry_;
    const std::function<void(int)>& onSocket_;
    std::string text_;
    std::string unixPath_;  // once we have created the file
};

Status ListeningSocket::openTcp(const tcp::endpoint& endpoint) {
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error && endpoint.address().is_v6()) {
        acceptor_.set_option(asio::ip::v6_only(true), error);
    }
    if (!error) {
        acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    }
    return listen(endpoint, error);
}

Status ListeningSocket::openUnix(const std::string& path, uint32_t mode) {
    FRESHET_RETURN_IF_ERROR(clearStaleSocket(path));
    const asio::local::stream_protocol::endpoint endpoint(path);
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) {
        FRESHET_RETURN_IF_ERROR(setSocketMode(acceptor_.native_handle(), mode));
    }
    FRESHET_RETURN_IF_ERROR(listen(endpoint, error));
    unixPath_ = path;
    return Status::ok();
}

Status ListeningSocket::listen(const Endpoint& endpoint, error_code error) {
    text_ = endpointText(endpoint);
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
        const bool isTaken = error == asio::error::address_in_use;
        const bool hasNoSuch = error == asio::error::address_family_not_supported ||
                               error == error_code(EADDRNOTAVAIL, error.category());
        return Status(isTaken     ? Code::kUnavailable
                      : hasNoSuch ? Code::kUnsupported
                                  : Code::kIo,
                      "Cannot listen on " + text_ + ": " + error.message());
    }
    text_ = endpoint.data()->sa_family == AF_UNIX ? text_
                                                  : endpointText(acceptor_.local_endpoint(error));
    FRESHET_RETURN_IF_ERROR(reactor_.poller().watch(acceptor_.native_handle(), EPOLLONESHOT, this));
    isWatched_ = true;
    return Status::ok();
}

/// On the run queue. It may have been stopped meanwhile.
void ListeningSocket::acceptSome() {
    for (int i = 0; i < kAcceptsPerTurn && isWatched_; ++i) {
        error_code error;
        Socket socket(acceptor_.get_executor());
        acceptor_.accept(socket, error);
        if (error == asio::error::would_block) {
            break;
        }
        if (error == asio::error::connection_aborted) {
            continue;
        }
        if (error) {
            // Out of descriptors or memory: connections stay in the backlog, and an immediate retry
            // would spin.
            telemetry::logWarning("transport", "accept: " + error.message());
            retry_.start(kRetryAfterMillis, [this] { start(); });
            return;
        }
        // Its reactor may be another one: only the descriptor is passed on.
        const int descriptor = socket.release(error);
        if (!error) {
            onSocket_(descriptor);
        }
    }
    if (isWatched_) {
        start();
    }
}

/// An address to listen on. Several names may resolve to the same one.
struct Wanted {
    asio::ip::address address;
    bool isOptional = false;  // from a name: a machine without IPv6 may skip it
    bool operator==(const Wanted& other) const { return address == other.address; }
};

void add(std::vector<Wanted>* out, const asio::ip::address& address, bool isOptional) {
    const Wanted wanted{address, isOptional};
    if (std::find(out->begin(), out->end(), wanted) == out->end()) {
        out->push_back(wanted);
    }
}

Status addNamed(const std::string& name, bool ipv6, std::vector<Wanted>* out) {
    error_code error;
    const auto found =
        tcp::resolver(socketContext()).resolve(name, "", tcp::resolver::passive, error);
    const size_t before = out->size();
    bool isKnown = false;
    for (const auto& entry : found) {
        if (entry.endpoint().address().is_v4() || ipv6) {
            add(out, entry.endpoint().address(), entry.endpoint().address().is_v6());
            isKnown = true;
        }
    }
    if (error || (!isKnown && out->size() == before)) {
        return badValue("'" + name + "' is no address and no name of one" +
                        (error ? ": " + error.message() : std::string()));
    }
    return Status::ok();
}

StatusOr<std::vector<Wanted>> wantedAddresses(const ServerTransportOptions& options) {
    std::vector<Wanted> out;
    if (options.bindAll) {
        add(&out, asio::ip::address_v4::any(), false);
        if (options.ipv6) {
            add(&out, asio::ip::address_v6::any(), true);
        }
        return out;
    }
    for (const std::string& text : options.bindAddresses) {
        error_code error;
        const asio::ip::address address = asio::ip::make_address(text, error);
        if (text.starts_with('/')) {
            continue;  // a Unix socket
        }
        if (!error) {
            add(&out, address, false);
        } else {
            FRESHET_RETURN_IF_ERROR(addNamed(text, options.ipv6, &out));
        }
    }
    return out;
}

}  // namespace

struct Listener::Impl {
    Status openTcp(Reactor& reactor, const ServerTransportOptions& options);
    Status openUnix(Reactor& reactor, const ServerTransportOptions& options);

    std::function<void(int)> onSocket;
    std::vector<std::unique_ptr<ListeningSocket>> sockets;
    uint16_t port = 0;
};

Status Listener::Impl::openTcp(Reactor& reactor, const ServerTransportOptions& options) {
    FRESHET_ASSIGN_OR_RETURN(std::vector<Wanted> wanted, wantedAddresses(options));
    port = options.port;
    for (const Wanted& each : wanted) {
        auto listening = std::make_unique<ListeningSocket>(reactor, onSocket);
        Status opened = listening->openTcp({each.address, port});
        if (opened.code() == Code::kUnsupported && each.isOptional) {
            telemetry::logWarning("transport", std::string(opened.text()));
            continue;
        }
        if (!opened.isOk()) {
            return opened.code() == Code::kUnsupported
                       ? Status(Code::kIo, std::string(opened.text()))
                       : std::move(opened);
        }
        port = listening->port();  // the system's choice for the first address counts for all
        sockets.push_back(std::move(listening));
    }
    return Status::ok();
}

Status Listener::Impl::openUnix(Reactor& reactor, const ServerTransportOptions& options) {
    std::vector<std::string> paths;
    if (!options.unixSocketPrefix.empty()) {
        paths.push_back(options.unixSocketPrefix + "/mongodb-" + std::to_string(port) + ".sock");
    }
    for (const std::string& text : options.bindAddresses) {
        if (text.starts_with('/')) {
            paths.push_back(text);
        }
    }
    for (const std::string& path : paths) {
        auto listening = std::make_unique<ListeningSocket>(reactor, onSocket);
        FRESHET_RETURN_IF_ERROR(listening->openUnix(path, options.unixSocketMode));
        sockets.push_back(std::move(listening));
    }
    return Status::ok();
}

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::~Listener() = default;

StatusOr<std::unique_ptr<Listener>> Listener::open(Reactor& reactor,
                                                   const ServerTransportOptions& options,
                                                   std::function<void(int)> onSocket) {
    raiseFileLimit();
    auto impl = std::make_unique<Impl>();
    impl->onSocket = std::move(onSocket);
    FRESHET_RETURN_IF_ERROR(impl->openTcp(reactor, options));
    FRESHET_RETURN_IF_ERROR(impl->openUnix(reactor, options));
    if (impl->sockets.empty()) {
        return badValue("There is no address to listen on");
    }
    return std::unique_ptr<Listener>(new Listener(std::move(impl)));
}

uint16_t Listener::port() const {
    return impl_->port;
}

std::vector<std::string> Listener::addresses() const {
    std::vector<std::string> out;
    for (const auto& listening : impl_->sockets) {
        out.push_back(listening->text());
    }
    return out;
}

void Listener::start() {
    for (auto& listening : impl_->sockets) {
        listening->start();
    }
}

void Listener::stop() {
    for (auto& listening : impl_->sockets) {
        listening->stop();
    }
}

}  // namespace freshet::transport
