// SPDX-License-Identifier: Apache-2.0
/// The adapters of this machine, through libibverbs. librdmacm finds the adapter that an IP address
/// belongs to, for InfiniBand and RoCE alike; everything else is plain verbs.
#include "freshet/transport/verbs.h"

#ifdef FRESHET_HAS_VERBS

#include <arpa/inet.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace freshet::transport::verbs {
namespace {

/// 4.096 us << 17: 0.54 s. Soft-RoCE on a busy machine takes long to answer, and must not be asked
/// again meanwhile; the TCP connection tells sooner of a peer that has died.
constexpr uint8_t kAckTimeout = 17;
constexpr uint8_t kRetries = 7;         // then the peer is gone
constexpr uint8_t kReceiveRetries = 7;  // without end; receives never run out anyway
constexpr uint8_t kReceiveRetryTimer = 12;
constexpr uint8_t kHopLimit = 64;
constexpr uint32_t kNumberMask = 0xffffff;

Status systemFailure(const std::string& what) {
    return Status(Code::kIo, what + ": " + std::strerror(errno));
}

uint32_t mtuBytes(ibv_mtu mtu) {
    return 128u << static_cast<uint32_t>(mtu);
}

/// The largest that is not above `bytes`.
ibv_mtu mtuOf(uint32_t bytes) {
    ibv_mtu out = IBV_MTU_256;
    for (ibv_mtu mtu : {IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096}) {
        out = mtuBytes(mtu) <= bytes ? mtu : out;
    }
    return out;
}

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

CompletionStatus statusOf(ibv_wc_status status) {
    switch (status) {
        case IBV_WC_SUCCESS:
            return CompletionStatus::kOk;
        case IBV_WC_WR_FLUSH_ERR:
            return CompletionStatus::kFlushed;
        case IBV_WC_REM_ACCESS_ERR:
        case IBV_WC_REM_INV_REQ_ERR:
            return CompletionStatus::kAccess;
        case IBV_WC_RETRY_EXC_ERR:
            return CompletionStatus::kPeerGone;
        case IBV_WC_RNR_RETRY_EXC_ERR:
            return CompletionStatus::kNoReceive;
        case IBV_WC_LOC_LEN_ERR:
        case IBV_WC_LOC_QP_OP_ERR:
        case IBV_WC_LOC_PROT_ERR:
        case IBV_WC_LOC_ACCESS_ERR:
            return CompletionStatus::kLocal;
        default:
            return CompletionStatus::kOther;
    }
}

class SystemRegion final : public Region {
public:
    explicit SystemRegion(ibv_mr* region) : region_(region) {}
    ~SystemRegion() override { invariant(ibv_dereg_mr(region_) == 0); }
    uint32_t localKey() const override { return region_->lkey; }
    uint32_t remoteKey() const override { return region_->rkey; }

private:
    ibv_mr* const region_;
};

class SystemQueue final : public CompletionQueue {
public:
    static StatusOr<std::unique_ptr<CompletionQueue>> create(ibv_context* context,
                                                             uint32_t entries) {
        std::unique_ptr<SystemQueue> out(new SystemQueue);
        out->channel_ = ibv_create_comp_channel(context);
        if (out->channel_ == nullptr) {
            return systemFailure("Cannot make a completion channel");
        }
        const int flags = ::fcntl(out->channel_->fd, F_GETFL);
        if (::fcntl(out->channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
            return systemFailure("Cannot make a completion channel non-blocking");
        }
        out->queue_ = ibv_create_cq(context, static_cast<int>(entries), nullptr, out->channel_, 0);
        if (out->queue_ == nullptr) {
            return systemFailure("Cannot make a completion queue");
        }
        return std::unique_ptr<CompletionQueue>(std::move(out));
    }
    ~SystemQueue() override {
        if (queue_ != nullptr) {
            clearEvents();
            ibv_ack_cq_events(queue_, unacknowledged_);
            ibv_destroy_cq(queue_);
        }
        if (channel_ != nullptr) {
            ibv_destroy_comp_channel(channel_);
        }
    }
    ibv_cq* get() const { return queue_; }

    StatusOr<size_t> poll(std::span<Completion> out) override {
        ibv_wc some[kBatch];
        const int wanted = static_cast<int>(std::min(out.size(), kBatch));
        const int count = ibv_poll_cq(queue_, wanted, some);
        if (count < 0) {
            return Status(Code::kIo, "The completion queue is lost");
        }
        for (int i = 0; i < count; ++i) {
            const ibv_wc& wc = some[i];
            Completion& completion = out[static_cast<size_t>(i)];
            completion = {wc.wr_id, statusOf(wc.status), false, 0, 0};
            if (wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
                completion.isReceive = true;
                completion.bytes = wc.byte_len;
                completion.immediate = ntohl(wc.imm_data);
            } else if (wc.status == IBV_WC_SUCCESS && (wc.opcode & IBV_WC_RECV) != 0) {
                completion.status = CompletionStatus::kOther;  // a send: not of our protocol
            }
        }
        return static_cast<size_t>(count);
    }
    Status arm() override {
        return ibv_req_notify_cq(queue_, 0) == 0 ? Status::ok()
                                                 : systemFailure("Cannot arm a completion queue");
    }
    int fd() const override { return channel_->fd; }
    void clearEvents() override {
        ibv_cq* which;
        void* context;
        while (ibv_get_cq_event(channel_, &which, &context) == 0) {
            ++unacknowledged_;
        }
        if (unacknowledged_ >= kAcknowledgeEvery) {  // it takes a lock
            ibv_ack_cq_events(queue_, unacknowledged_);
            unacknowledged_ = 0;
        }
    }

private:
    static constexpr size_t kBatch = 32;
    static constexpr unsigned kAcknowledgeEvery = 64;
    SystemQueue() = default;
    ibv_comp_channel* channel_ = nullptr;
    ibv_cq* queue_ = nullptr;
    unsigned unacknowledged_ = 0;
};

/// A port, its context, and the entry of its GID table that peers are told.
struct PortHandle {
    ibv_context* context = nullptr;
    uint8_t port = 1;
    uint8_t gidIndex = 0;
    ibv_gid gid{};
    ibv_port_attr attributes{};
};

class SystemPair final : public QueuePair {
public:
    static StatusOr<std::unique_ptr<QueuePair>> create(const PortHandle& port,
                                                       ibv_cq* queue,
                                                       const QueuePairLimits& limits);
    ~SystemPair() override {
        if (pair_ != nullptr) {
            ibv_destroy_qp(pair_);
        }
        if (domain_ != nullptr) {
            ibv_dealloc_pd(domain_);
        }
    }
    StatusOr<std::unique_ptr<Region>> registerMemory(void* memory,
                                                     size_t bytes,
                                                     bool peerMayWrite) override {
        const int access = peerMayWrite ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0;
        ibv_mr* region = ibv_reg_mr(domain_, memory, bytes, access);
        if (region == nullptr) {
            return systemFailure("Cannot register " + std::to_string(bytes) +
                                 " bytes (see ulimit -l)");
        }
        return std::unique_ptr<Region>(std::make_unique<SystemRegion>(region));
    }
    const Address& address() const override { return address_; }
    Status connect(const Address& peer) override;
    Status postReceive(uint64_t id) override {
        ibv_recv_wr request{};
        request.wr_id = id;
        ibv_recv_wr* bad = nullptr;
        return ibv_post_recv(pair_, &request, &bad) == 0
                   ? Status::ok()
                   : Status(Code::kIo, "Cannot post a receive");
    }
    Status postWrite(const Write& write) override;
    void fail() override {
        ibv_qp_attr attributes{};
        attributes.qp_state = IBV_QPS_ERR;
        ibv_modify_qp(pair_, &attributes, IBV_QP_STATE);
    }
    uint32_t inlineBytesMax() const override { return inlineBytes_; }

private:
    explicit SystemPair(const PortHandle& port) : port_(port) {}
    Status initialize();
    Status toReceive(const Address& peer);
    Status toSend();

    const PortHandle port_;
    ibv_pd* domain_ = nullptr;
    ibv_qp* pair_ = nullptr;
    uint32_t inlineBytes_ = 0;
    Address address_;
};

StatusOr<std::unique_ptr<QueuePair>> SystemPair::create(const PortHandle& port,
                                                        ibv_cq* queue,
                                                        const QueuePairLimits& limits) {
    std::unique_ptr<SystemPair> out(new SystemPair(port));
    out->domain_ = ibv_alloc_pd(port.context);
    if (out->domain_ == nullptr) {
        return systemFailure("Cannot make a protection domain");
    }
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = queue;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {limits.writes, limits.receives, 1, 1, limits.inlineBytes};
    out->pair_ = ibv_create_qp(out->domain_, &wanted);
    if (out->pair_ == nullptr) {
        wanted.cap.max_inline_data = 0;  // more was asked for than the device has
        out->pair_ = ibv_create_qp(out->domain_, &wanted);
    }
    if (out->pair_ == nullptr) {
        return systemFailure("Cannot make a queue pair");
    }
    out->inlineBytes_ = wanted.cap.max_inline_data;
    FRESHET_RETURN_IF_ERROR(out->initialize());
    return std::unique_ptr<QueuePair>(std::move(out));
}

Status SystemPair::initialize() {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = port_.port;
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    if (ibv_modify_qp(pair_,
                      &attributes,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) {
        return systemFailure("Cannot initialize a queue pair");
    }
    address_.queuePair = pair_->qp_num;
    // Any will do; that of an earlier connection with the same number is unlikely.
    address_.packetSequence = (pair_->qp_num * 2654435761u) & kNumberMask;
    address_.lid = port_.attributes.lid;
    address_.mtuBytes = static_cast<uint16_t>(mtuBytes(port_.attributes.active_mtu));
    std::copy_n(port_.gid.raw, address_.gid.size(), address_.gid.begin());
    return Status::ok();
}

Status SystemPair::connect(const Address& peer) {
    FRESHET_RETURN_IF_ERROR(toReceive(peer));
    return toSend();
}

Status SystemPair::toReceive(const Address& peer) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = mtuOf(std::min(peer.mtuBytes, address_.mtuBytes));
    attributes.dest_qp_num = peer.queuePair & kNumberMask;
    attributes.rq_psn = peer.packetSequence & kNumberMask;
    attributes.min_rnr_timer = kReceiveRetryTimer;
    attributes.ah_attr.dlid = peer.lid;
    attributes.ah_attr.port_num = port_.port;
    if (port_.attributes.link_layer == IBV_LINK_LAYER_ETHERNET || peer.lid == 0) {
        attributes.ah_attr.is_global = 1;
        std::copy_n(peer.gid.begin(), peer.gid.size(), attributes.ah_attr.grh.dgid.raw);
        attributes.ah_attr.grh.sgid_index = port_.gidIndex;
        attributes.ah_attr.grh.hop_limit = kHopLimit;
    }
    return ibv_modify_qp(pair_,
                         &attributes,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0
               ? Status::ok()
               : systemFailure("Cannot connect a queue pair");
}

Status SystemPair::toSend() {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = kAckTimeout;
    attributes.retry_cnt = kRetries;
    attributes.rnr_retry = kReceiveRetries;
    attributes.sq_psn = address_.packetSequence;
    return ibv_modify_qp(pair_,
                         &attributes,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0
               ? Status::ok()
               : systemFailure("Cannot make a queue pair send");
}

Status SystemPair::postWrite(const Write& write) {
    ibv_sge piece{};
    piece.addr = reinterpret_cast<uint64_t>(write.piece.data);
    piece.length = write.piece.bytes;
    piece.lkey = write.piece.localKey;
    ibv_send_wr request{};
    request.wr_id = write.id;
    request.sg_list = &piece;
    request.num_sge = write.piece.bytes > 0 ? 1 : 0;
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.send_flags = 0;
    if (write.isSignalled) {
        request.send_flags |= IBV_SEND_SIGNALED;
    }
    if (write.isInline && write.piece.bytes > 0) {
        request.send_flags |= IBV_SEND_INLINE;
    }
    request.imm_data = htonl(write.immediate);
    request.wr.rdma.remote_addr = write.remoteAddress;
    request.wr.rdma.rkey = write.remoteKey;
    ibv_send_wr* bad = nullptr;
    // Some providers answer with a negative number.
    return ibv_post_send(pair_, &request, &bad) == 0 ? Status::ok()
                                                     : Status(Code::kIo, "Cannot post a write");
}

class SystemDevice final : public Device {
public:
    SystemDevice() = default;
    ~SystemDevice() override {
        if (port_.context != nullptr) {
            ibv_close_device(port_.context);
        }
    }
    /// A context of its own: a device's events are told once for each.
    Status open(const rdma_cm_id& bound, const sockaddr& address);
    const PortInfo& info() const override { return info_; }
    StatusOr<std::unique_ptr<CompletionQueue>> makeCompletionQueue(uint32_t entries) override {
        return SystemQueue::create(port_.context, entries);
    }
    StatusOr<std::unique_ptr<QueuePair>> makeQueuePair(CompletionQueue& queue,
                                                       const QueuePairLimits& limits) override {
        return SystemPair::create(port_, static_cast<SystemQueue&>(queue).get(), limits);
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

/// With RoCE, the entry that is the IP address itself, version 2. With InfiniBand, the port's own.
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
    sockaddr_storage address{};
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
    if (::inet_pton(AF_INET, localAddress.c_str(), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
    } else if (::inet_pton(AF_INET6, localAddress.c_str(), &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
    } else {
        return Status(Code::kNotFound, "RDMA needs an IP address, not " + localAddress);
    }
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
    return Status(Code::kUnsupported, "This build knows no RDMA: it was made without libibverbs");
}

}  // namespace freshet::transport::verbs

#endif
