// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/verbs.h"

#ifdef FRESHET_HAS_VERBS

#include "freshet/transport/adapter/system_pair.h"

#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace freshet::transport::verbs {
namespace {

/// 4.096 us << 17: 0.54 s. Soft-RoCE on a busy machine answers late, and a retry meanwhile would be
/// lost work; a peer that has died is noticed sooner through the TCP connection.
constexpr uint8_t kAckTimeout = 17;
constexpr uint8_t kPairRetries = 7;     // then the peer is gone
constexpr uint8_t kReceiveRetries = 7;  // means no limit; receives never run out anyway
constexpr uint8_t kReceiveRetryTimer = 12;
constexpr uint8_t kHopLimit = 64;
constexpr uint32_t kNumberMask = 0xffffff;

/// The largest MTU that is not above `bytes`.
ibv_mtu mtuOf(uint32_t bytes) {
    ibv_mtu out = IBV_MTU_256;
    for (ibv_mtu mtu : {IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096}) {
        out = mtuBytes(mtu) <= bytes ? mtu : out;
    }
    return out;
}

}  // namespace

Status systemFailure(const std::string& what) {
    return Status(Code::kIo, what + ": " + std::strerror(errno));
}

uint32_t mtuBytes(ibv_mtu mtu) {
    return 128u << static_cast<uint32_t>(mtu);
}

SystemPair::~SystemPair() {
    if (pair_ != nullptr) {
        ibv_destroy_qp(pair_);
    }
    if (domain_ != nullptr && !isSharing_) {
        ibv_dealloc_pd(domain_);
    }
}

StatusOr<std::unique_ptr<Region>> SystemPair::registerMemory(void* memory,
                                                             size_t bytes,
                                                             bool peerMayWrite) {
    if (peerMayWrite && isSharing_) {
        FRESHET_ASSIGN_OR_RETURN(auto window, SystemWindow::create(domain_, memory, bytes));
        unbound_.push_back(window.get());
        return std::unique_ptr<Region>(std::move(window));
    }
    const int access = peerMayWrite ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0;
    FRESHET_ASSIGN_OR_RETURN(ibv_mr * region, registerWith(domain_, memory, bytes, access));
    return std::unique_ptr<Region>(std::make_unique<SystemRegion>(region));
}

Status SystemPair::postReceive(uint64_t id) {
    ibv_recv_wr request{};
    request.wr_id = id;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(pair_, &request, &bad) == 0 ? Status::ok()
                                                     : Status(Code::kIo, "Cannot post a receive");
}

void SystemPair::fail() {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(pair_, &attributes, IBV_QP_STATE);
}

StatusOr<std::unique_ptr<QueuePair>> SystemPair::create(const PortHandle& port,
                                                        SystemQueue& queue,
                                                        const QueuePairLimits& limits,
                                                        const SystemDomain* shared) {
    std::unique_ptr<SystemPair> out(
        new SystemPair(port, queue, shared == nullptr ? nullptr : shared->get()));
    if (shared == nullptr) {
        out->domain_ = ibv_alloc_pd(port.context);
    }
    if (out->domain_ == nullptr) {
        return systemFailure("Cannot make a protection domain");
    }
    FRESHET_RETURN_IF_ERROR(out->makePair(limits));
    FRESHET_RETURN_IF_ERROR(out->initialize());
    return std::unique_ptr<QueuePair>(std::move(out));
}

Status SystemPair::makePair(const QueuePairLimits& limits) {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = queue_.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {limits.writes, limits.receives, 1, 1, limits.inlineBytes};
    pair_ = ibv_create_qp(domain_, &wanted);
    if (pair_ == nullptr) {
        wanted.cap.max_inline_data = 0;  // the request exceeded what the device has
        pair_ = ibv_create_qp(domain_, &wanted);
    }
    if (pair_ == nullptr) {
        return systemFailure("Cannot make a queue pair");
    }
    inlineBytes_ = wanted.cap.max_inline_data;
    return Status::ok();
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
    // Any number will do; a collision with an earlier connection's is unlikely.
    address_.packetSequence = (pair_->qp_num * 2654435761u) & kNumberMask;
    address_.lid = port_.attributes.lid;
    address_.mtuBytes = static_cast<uint16_t>(mtuBytes(port_.attributes.active_mtu));
    std::copy_n(port_.gid.raw, address_.gid.size(), address_.gid.begin());
    return Status::ok();
}

Status SystemPair::connect(const Address& peer) {
    FRESHET_RETURN_IF_ERROR(toReceive(peer));
    FRESHET_RETURN_IF_ERROR(toSend());
    return bindWindows();
}

/// Only a queue pair that can send binds windows, so the peer got their keys before. It writes only
/// after it has heard from us, which is after this.
Status SystemPair::bindWindows() {
    constexpr uint64_t kBinding = UINT64_MAX;  // tags of links are never so high
    for (const SystemWindow* window : std::exchange(unbound_, {})) {
        ibv_send_wr request = window->binding(kBinding);
        ibv_send_wr* bad = nullptr;
        if (ibv_post_send(pair_, &request, &bad) != 0) {
            return Status(Code::kIo, "Cannot bind a memory window");
        }
        FRESHET_RETURN_IF_ERROR(queue_.await(kBinding));
    }
    return Status::ok();
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
    attributes.retry_cnt = kPairRetries;
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
    request.opcode = write.isSilent ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM;
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

Status SystemPair::connectBy(rdma_cm_id* id) {
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
        ibv_qp_attr attributes{};
        int mask = 0;
        attributes.qp_state = state;
        if (rdma_init_qp_attr(id, &attributes, &mask) != 0) {
            return systemFailure("The connection manager does not know the way");
        }
        // The rest is as in connect(): it does not depend on how the pair was connected.
        attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
        attributes.min_rnr_timer = kReceiveRetryTimer;
        attributes.timeout = kAckTimeout;
        attributes.max_rd_atomic = 0;
        attributes.max_dest_rd_atomic = 0;
        if (ibv_modify_qp(pair_, &attributes, mask) != 0) {
            return systemFailure("Cannot connect a queue pair");
        }
    }
    return bindWindows();
}

}  // namespace freshet::transport::verbs

#endif
