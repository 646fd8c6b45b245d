// SPDX-License-Identifier: Apache-2.0
/// The adapters of this machine, through libibverbs. librdmacm finds the adapter that an IP address
/// belongs to, for InfiniBand and RoCE alike; everything else is plain verbs.
#include "freshet/transport/verbs.h"

#ifdef FRESHET_HAS_VERBS

#include "freshet/transport/adapter/system_calls.h"
#include "freshet/transport/adapter/system_domain.h"
#include "freshet/transport/adapter/system_pair.h"
#include "freshet/transport/adapter/system_queue.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace freshet::transport::verbs {
namespace {

std::string gidText(const ibv_gid& gid) {
    char text[INET6_ADDRSTRLEN];
    return ::inet_ntop(AF_INET6, gid.raw, text, sizeof(text)) != nullptr ? text : "";
}

PortInfo describe(ibv_context* context, uint32_t port, const ibv_port_attr& attributes) {
    PortInfo out;
    out.device = ibv_get_device_name(context->device);
    out.port = port;
    out.mtuBytes = mtuBytes(attributes.active_mtu);
    out.state = ibv_port_state_str(attributes.state);
    out.linkLayer = attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
    return out;
}

class SystemDevice final : public Device {
public:
    SystemDevice() = default;
    ~SystemDevice() override {
        if (port_.context != nullptr) {
            ibv_close_device(port_.context);
        }
    }
    /// A context of its own: a device's events are delivered once to each context.
    Status open(const rdma_cm_id& bound, const sockaddr& address);
    const PortInfo& info() const override { return info_; }
    StatusOr<std::unique_ptr<CompletionQueue>> makeCompletionQueue(uint32_t entries) override {
        FRESHET_ASSIGN_OR_RETURN(auto queue, SystemQueue::create(port_.context, entries));
        return std::unique_ptr<CompletionQueue>(std::move(queue));
    }
    StatusOr<std::unique_ptr<Domain>> makeDomain() override;
    StatusOr<std::unique_ptr<QueuePair>> makeQueuePair(CompletionQueue& queue,
                                                       const QueuePairLimits& limits,
                                                       Domain* domain) override {
        return SystemPair::create(
            port_, static_cast<SystemQueue&>(queue), limits, static_cast<SystemDomain*>(domain));
    }
    int eventFd() const override { return port_.context->async_fd; }
    StatusOr<DeviceEvent> nextEvent() override;

private:
    Status chooseGid(const sockaddr& address);

    PortHandle port_;
    PortInfo info_;
};

Status SystemDevice::open(const rdma_cm_id& bound, const sockaddr& address) {
    port_.context = ibv_open_device(bound.verbs->device);
    if (port_.context == nullptr) {
        return systemFailure("Cannot open an RDMA device");
    }
    port_.port = bound.port_num;
    if (ibv_query_port(port_.context, port_.port, &port_.attributes) != 0) {
        return systemFailure("Cannot ask an RDMA port");
    }
    FRESHET_RETURN_IF_ERROR(chooseGid(address));
    info_ = describe(port_.context, port_.port, port_.attributes);
    info_.gid = gidText(port_.gid);
    if (port_.attributes.state != IBV_PORT_ACTIVE) {
        return Status(Code::kUnavailable, "RDMA port " + info_.device + " is " + info_.state);
    }
    const int flags = ::fcntl(port_.context->async_fd, F_GETFL);
    return ::fcntl(port_.context->async_fd, F_SETFL, flags | O_NONBLOCK) == 0
               ? Status::ok()
               : systemFailure("Cannot make a device's events non-blocking");
}

/// With RoCE, the entry whose GID is the IP address itself, version 2. With InfiniBand, the port's
/// own.
Status SystemDevice::chooseGid(const sockaddr& address) {
    const bool isEthernet = port_.attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
    ibv_gid wanted{};
    if (address.sa_family == AF_INET) {
        wanted.raw[10] = wanted.raw[11] = 0xff;
        std::memcpy(wanted.raw + 12, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
    } else {
        std::memcpy(wanted.raw, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
    }
    for (int i = 0; i < port_.attributes.gid_tbl_len; ++i) {
        ibv_gid_entry entry{};
        if (ibv_query_gid_ex(port_.context, port_.port, static_cast<uint32_t>(i), &entry, 0) != 0) {
            continue;
        }
        const bool isIt = isEthernet ? entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
                                           std::memcmp(entry.gid.raw, wanted.raw, 16) == 0
                                     : entry.gid_type == IBV_GID_TYPE_IB;
        if (isIt) {
            port_.gidIndex = static_cast<uint8_t>(i);
            port_.gid = entry.gid;
            return Status::ok();
        }
    }
    return Status(Code::kNotFound, "No RoCE v2 address on the RDMA port is that of the connection");
}

/// A device may claim windows that do not work: a queue pair that is connected to itself tries one.
StatusOr<std::unique_ptr<Domain>> SystemDevice::makeDomain() {
    FRESHET_ASSIGN_OR_RETURN(auto domain, SystemDomain::create(port_.context));
    FRESHET_ASSIGN_OR_RETURN(auto queue, SystemQueue::create(port_.context, 4));
    FRESHET_ASSIGN_OR_RETURN(auto pair, SystemPair::create(port_, *queue, {1, 1, 0}, domain.get()));
    alignas(64) char memory[64];
    FRESHET_ASSIGN_OR_RETURN(auto window, pair->registerMemory(memory, sizeof(memory), true));
    FRESHET_RETURN_IF_ERROR(pair->connect(pair->address()));
    pair->fail();
    return std::unique_ptr<Domain>(std::move(domain));
}

StatusOr<DeviceEvent> SystemDevice::nextEvent() {
    ibv_async_event event{};
    if (ibv_get_async_event(port_.context, &event) != 0) {
        return Status::wouldBlock();
    }
    DeviceEvent out;
    out.isFatal = event.event_type == IBV_EVENT_DEVICE_FATAL ||
                  (event.event_type == IBV_EVENT_PORT_ERR &&
                   event.element.port_num == static_cast<int>(port_.port));
    out.text = info_.device + ": " + ibv_event_type_str(event.event_type);
    ibv_ack_async_event(&event);
    return out;
}

class SystemVerbs final : public Verbs {
public:
    std::vector<PortInfo> ports() override;
    StatusOr<std::shared_ptr<Device>> open(const std::string& localAddress) override;
    StatusOr<std::unique_ptr<CallListener>> listen(const std::string& address,
                                                   uint16_t port) override {
        return listenForCalls(address, port);
    }
    StatusOr<std::unique_ptr<Call>> dial(const std::string& host,
                                         uint16_t port,
                                         uint32_t timeoutMs) override {
        return dialCall(host, port, timeoutMs);
    }
};

std::vector<PortInfo> SystemVerbs::ports() {
    std::vector<PortInfo> out;
    int count = 0;
    ibv_device** devices = ibv_get_device_list(&count);
    for (int i = 0; i < count; ++i) {
        ibv_context* context = ibv_open_device(devices[i]);
        ibv_device_attr attributes{};
        if (context == nullptr || ibv_query_device(context, &attributes) != 0) {
            continue;
        }
        for (uint8_t port = 1; port <= attributes.phys_port_cnt; ++port) {
            ibv_port_attr portAttributes{};
            if (ibv_query_port(context, port, &portAttributes) == 0) {
                out.push_back(describe(context, port, portAttributes));
            }
        }
        ibv_close_device(context);
    }
    if (devices != nullptr) {
        ibv_free_device_list(devices);
    }
    return out;
}

StatusOr<std::shared_ptr<Device>> SystemVerbs::open(const std::string& localAddress) {
    FRESHET_ASSIGN_OR_RETURN(sockaddr_storage address, numericAddress(localAddress, 0));
    const std::unique_ptr<rdma_event_channel, void (*)(rdma_event_channel*)> channel(
        rdma_create_event_channel(), rdma_destroy_event_channel);
    if (channel == nullptr) {
        return Status(Code::kNotFound, "This machine has no RDMA device");
    }
    rdma_cm_id* made = nullptr;
    if (rdma_create_id(channel.get(), &made, nullptr, RDMA_PS_TCP) != 0) {
        return systemFailure("Cannot use the RDMA connection manager");
    }
    const std::unique_ptr<rdma_cm_id, int (*)(rdma_cm_id*)> id(made, rdma_destroy_id);
    auto* wanted = reinterpret_cast<sockaddr*>(&address);
    if (rdma_bind_addr(id.get(), wanted) != 0 || id->verbs == nullptr) {
        return Status(Code::kNotFound, "No RDMA device has the address " + localAddress);
    }
    auto device = std::make_shared<SystemDevice>();
    FRESHET_RETURN_IF_ERROR(device->open(*id, *wanted));
    return std::shared_ptr<Device>(std::move(device));
}

}  // namespace

StatusOr<std::shared_ptr<Verbs>> systemVerbs() {
    return std::shared_ptr<Verbs>(std::make_shared<SystemVerbs>());
}

}  // namespace freshet::transport::verbs

#else

namespace freshet::transport::verbs {

StatusOr<std::shared_ptr<Verbs>> systemVerbs() {
    return Status(Code::kUnsupported, "This build has no RDMA: it was made without libibverbs");
}

}  // namespace freshet::transport::verbs

#endif
