// SPDX-License-Identifier: Apache-2.0
/// Each call has an event channel of its own, so it belongs to one thread from its first event on.
/// Its queue pair is made independently: the manager resolves the route, carries the private data
/// and reports the end of the other side.
#include "freshet/transport/adapter/system_calls.h"

#ifdef FRESHET_HAS_VERBS

#include "freshet/platform/clock.h"
#include "freshet/transport/adapter/system_pair.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace freshet::transport::verbs {
namespace {

constexpr int kBacklog = 128;
constexpr uint8_t kRetries = 7;
constexpr int kNobodyListens = 8;  // InfiniBand's reason: invalid service id
constexpr uint32_t kLongMs = 3'600'000;

using ChannelPtr = std::unique_ptr<rdma_event_channel, void (*)(rdma_event_channel*)>;
using IdPtr = std::unique_ptr<rdma_cm_id, int (*)(rdma_cm_id*)>;

StatusOr<ChannelPtr> makeChannel() {
    ChannelPtr channel(rdma_create_event_channel(), rdma_destroy_event_channel);
    if (channel == nullptr) {
        return Status(Code::kNotFound, "This machine has no RDMA device");
    }
    const int flags = ::fcntl(channel->fd, F_GETFL);
    return ::fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) == 0
               ? StatusOr<ChannelPtr>(std::move(channel))
               : systemFailure("Cannot make an event channel non-blocking");
}

StatusOr<IdPtr> makeId(rdma_event_channel* channel) {
    rdma_cm_id* made = nullptr;
    if (rdma_create_id(channel, &made, nullptr, RDMA_PS_TCP) != 0) {
        return systemFailure("Cannot use the RDMA connection manager");
    }
    return IdPtr(made, rdma_destroy_id);
}

std::string endpointText(const sockaddr* address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address->sa_family == AF_INET6) {
        const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
        ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
        return "[" + std::string(text) + "]:" + std::to_string(ntohs(v6->sin6_port));
    }
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
    return std::string(text) + ":" + std::to_string(ntohs(v4->sin_port));
}

/// An event of the manager, taken and acknowledged.
struct Taken {
    rdma_cm_event_type type;
    int status;
    rdma_cm_id* id;
    std::string data;
    const char* text() const { return rdma_event_str(type); }
};

/// kWouldBlock: no event.
StatusOr<Taken> takeEvent(rdma_event_channel* channel) {
    rdma_cm_event* event = nullptr;
    if (rdma_get_cm_event(channel, &event) != 0) {
        return errno == EAGAIN || errno == EINTR
                   ? Status::wouldBlock()
                   : systemFailure("The RDMA connection manager has no events");
    }
    Taken out{event->event, event->status, event->id, {}};
    const rdma_conn_param& said = event->param.conn;
    if (said.private_data != nullptr) {
        out.data.assign(static_cast<const char*>(said.private_data), said.private_data_len);
    }
    rdma_ack_cm_event(event);
    return out;
}

rdma_conn_param parametersOf(const QueuePair& pair, const std::string& data) {
    rdma_conn_param out{};
    out.private_data = data.data();
    out.private_data_len = static_cast<uint8_t>(data.size());
    out.retry_count = kRetries;
    out.rnr_retry_count = kRetries;
    out.qp_num = pair.address().queuePair;
    return out;
}

class SystemCall final : public Call {
public:
    SystemCall(ChannelPtr channel, IdPtr id, std::string request)
        : channel_(std::move(channel)),
          id_(std::move(id)),
          local_(endpointText(rdma_get_local_addr(id_.get()))),
          remote_(endpointText(rdma_get_peer_addr(id_.get()))),
          request_(std::move(request)) {}
    ~SystemCall() override { hangUp(); }

    const std::string& local() const override { return local_; }
    const std::string& remote() const override { return remote_; }
    const std::string& request() const override { return request_; }
    Status ask(QueuePair& pair, const std::string& data) override {
        pair_ = &static_cast<SystemPair&>(pair);
        rdma_conn_param parameters = parametersOf(pair, data);
        return rdma_connect(id_.get(), &parameters) == 0 ? Status::ok()
                                                         : systemFailure("Cannot call " + remote_);
    }
    Status accept(QueuePair& pair, const std::string& data) override {
        FRESHET_RETURN_IF_ERROR(static_cast<SystemPair&>(pair).connectBy(id_.get()));
        rdma_conn_param parameters = parametersOf(pair, data);
        if (rdma_accept(id_.get(), &parameters) != 0) {
            return systemFailure("Cannot accept a call of " + remote_);
        }
        isOpen_ = true;
        return Status::ok();
    }
    Status refuse(const std::string& data) override {
        return rdma_reject(id_.get(), data.data(), static_cast<uint8_t>(data.size())) == 0
                   ? Status::ok()
                   : systemFailure("Cannot refuse a call of " + remote_);
    }
    void hangUp() override {
        if (std::exchange(isOpen_, false)) {
            rdma_disconnect(id_.get());
        }
    }
    int fd() const override { return channel_->fd; }
    StatusOr<CallEvent> nextEvent() override;

private:
    CallEvent answered(Taken event);

    const ChannelPtr channel_;
    const IdPtr id_;  // destroyed before its channel
    const std::string local_;
    const std::string remote_;
    const std::string request_;
    SystemPair* pair_ = nullptr;  // the caller's
    bool isOpen_ = false;
};

StatusOr<CallEvent> SystemCall::nextEvent() {
    while (true) {
        FRESHET_ASSIGN_OR_RETURN(Taken event, takeEvent(channel_.get()));
        switch (event.type) {
            case RDMA_CM_EVENT_CONNECT_RESPONSE:
                return answered(std::move(event));
            case RDMA_CM_EVENT_ESTABLISHED:
                return CallEvent{CallEvent::Kind::kAnswered, {}, event.text()};
            case RDMA_CM_EVENT_REJECTED:
                if (event.status == kNobodyListens) {
                    event.data.clear();
                }
                return CallEvent{CallEvent::Kind::kRefused, std::move(event.data), event.text()};
            case RDMA_CM_EVENT_DISCONNECTED:
            case RDMA_CM_EVENT_CONNECT_ERROR:
            case RDMA_CM_EVENT_UNREACHABLE:
            case RDMA_CM_EVENT_DEVICE_REMOVAL:
                return CallEvent{CallEvent::Kind::kEnded, {}, event.text()};
            default:
                break;  // events that change nothing, such as the end of the time-wait state
        }
    }
}

CallEvent SystemCall::answered(Taken event) {
    Status connected = pair_->connectBy(id_.get());
    if (connected.isOk() && rdma_establish(id_.get()) != 0) {
        connected = systemFailure("Cannot establish a call");
    }
    isOpen_ = true;  // as the other end sees it, whatever has become of ours
    return connected.isOk()
               ? CallEvent{CallEvent::Kind::kAnswered, std::move(event.data), event.text()}
               : CallEvent{CallEvent::Kind::kEnded, {}, connected.toString()};
}

class SystemListener final : public CallListener {
public:
    SystemListener(ChannelPtr channel, IdPtr id)
        : channel_(std::move(channel)),
          id_(std::move(id)),
          local_(endpointText(rdma_get_local_addr(id_.get()))) {}
    const std::string& local() const override { return local_; }
    int fd() const override { return channel_->fd; }
    StatusOr<std::unique_ptr<Call>> next() override {
        while (true) {
            FRESHET_ASSIGN_OR_RETURN(Taken event, takeEvent(channel_.get()));
            if (event.type != RDMA_CM_EVENT_CONNECT_REQUEST) {
                continue;
            }
            // Destroying it refuses the call.
            IdPtr id(event.id, rdma_destroy_id);
            FRESHET_ASSIGN_OR_RETURN(ChannelPtr channel, makeChannel());
            if (rdma_migrate_id(id.get(), channel.get()) != 0) {
                return systemFailure("Cannot take a call");
            }
            return std::unique_ptr<Call>(std::make_unique<SystemCall>(
                std::move(channel), std::move(id), std::move(event.data)));
        }
    }

private:
    const ChannelPtr channel_;
    const IdPtr id_;
    const std::string local_;
};

/// Waits for the manager's next event, which must be `wanted`.
Status awaitStep(rdma_event_channel* channel,
                 rdma_cm_event_type wanted,
                 uint64_t untilNanos,
                 const std::string& where) {
    constexpr uint64_t kNanosPerMs = 1'000'000;
    while (true) {
        const StatusOr<Taken> event = takeEvent(channel);
        if (event.isOk()) {
            return event->type == wanted
                       ? Status::ok()
                       : Status(Code::kNotFound,
                                "No RDMA device reaches " + where + ": " + event->text());
        }
        if (!event.status().isWouldBlock()) {
            return event.status();
        }
        const uint64_t now = platform::monotonicNanos();
        pollfd what{channel->fd, POLLIN, 0};
        if (now >= untilNanos ||
            ::poll(&what, 1, static_cast<int>((untilNanos - now) / kNanosPerMs + 1)) == 0) {
            return Status(Code::kTimeout, "No route over RDMA to " + where);
        }
    }
}

StatusOr<std::unique_ptr<Call>> dialAddress(sockaddr* address, uint32_t timeoutMs) {
    constexpr uint64_t kNanosPerMs = 1'000'000;
    const std::string where = endpointText(address);
    const int millis = static_cast<int>(timeoutMs);
    const uint64_t until = platform::monotonicNanos() + timeoutMs * kNanosPerMs;
    FRESHET_ASSIGN_OR_RETURN(ChannelPtr channel, makeChannel());
    FRESHET_ASSIGN_OR_RETURN(IdPtr id, makeId(channel.get()));
    if (rdma_resolve_addr(id.get(), nullptr, address, millis) != 0) {
        return Status(Code::kNotFound, "No RDMA device reaches " + where);
    }
    FRESHET_RETURN_IF_ERROR(awaitStep(channel.get(), RDMA_CM_EVENT_ADDR_RESOLVED, until, where));
    if (rdma_resolve_route(id.get(), millis) != 0) {
        return Status(Code::kNotFound, "No RDMA device has a route to " + where);
    }
    FRESHET_RETURN_IF_ERROR(awaitStep(channel.get(), RDMA_CM_EVENT_ROUTE_RESOLVED, until, where));
    return std::unique_ptr<Call>(
        std::make_unique<SystemCall>(std::move(channel), std::move(id), std::string()));
}

}  // namespace

StatusOr<sockaddr_storage> numericAddress(const std::string& text, uint16_t port) {
    sockaddr_storage out{};
    auto* v4 = reinterpret_cast<sockaddr_in*>(&out);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&out);
    if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
    } else if (::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
    } else {
        return Status(Code::kNotFound, "RDMA needs an IP address, not " + text);
    }
    return out;
}

StatusOr<std::unique_ptr<CallListener>> listenForCalls(const std::string& address, uint16_t port) {
    FRESHET_ASSIGN_OR_RETURN(sockaddr_storage where, numericAddress(address, port));
    FRESHET_ASSIGN_OR_RETURN(ChannelPtr channel, makeChannel());
    FRESHET_ASSIGN_OR_RETURN(IdPtr id, makeId(channel.get()));
    auto* wanted = reinterpret_cast<sockaddr*>(&where);
    const std::string text = endpointText(wanted);
    if (int only = 1; where.ss_family == AF_INET6) {  // so that IPv4 can listen on the same port
        rdma_set_option(id.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof(only));
    }
    const bool isAll = address == "0.0.0.0" || address == "::";
    const bool isBound = rdma_bind_addr(id.get(), wanted) == 0;
    if (!isBound && errno == EADDRINUSE) {
        return Status(Code::kUnavailable, "Cannot listen on " + text + " for RDMA: it is taken");
    }
    if (!isBound || (!isAll && id->verbs == nullptr)) {
        return Status(Code::kNotFound, "No RDMA device has the address " + address);
    }
    if (rdma_listen(id.get(), kBacklog) != 0) {
        return systemFailure("Cannot listen on " + text + " for RDMA");
    }
    return std::unique_ptr<CallListener>(
        std::make_unique<SystemListener>(std::move(channel), std::move(id)));
}

StatusOr<std::unique_ptr<Call>> dialCall(const std::string& host,
                                         uint16_t port,
                                         uint32_t timeoutMs) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
    if (error != 0) {
        return Status(Code::kUnavailable, "Cannot find host " + host + ": " + gai_strerror(error));
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(list, ::freeaddrinfo);
    Status why(Code::kUnavailable, "Cannot find host " + host);
    for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
        auto call = dialAddress(each->ai_addr, timeoutMs == 0 ? kLongMs : timeoutMs);
        if (call.isOk()) {
            return call;
        }
        why = std::move(call).status();
    }
    return why;
}

}  // namespace freshet::transport::verbs

#endif
