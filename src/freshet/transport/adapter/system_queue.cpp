// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/adapter/system_queue.h"

#ifdef FRESHET_HAS_VERBS

#include "freshet/platform/clock.h"
#include "freshet/transport/adapter/system_pair.h"

#include <arpa/inet.h>
#include <fcntl.h>

#include <algorithm>

namespace freshet::transport::verbs {
namespace {

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

Completion completionOf(const ibv_wc& wc) {
    Completion out{wc.wr_id, statusOf(wc.status), false, 0, 0};
    if (wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
        out.isReceive = true;
        out.bytes = wc.byte_len;
        out.immediate = ntohl(wc.imm_data);
    } else if (wc.status == IBV_WC_SUCCESS && (wc.opcode & IBV_WC_RECV) != 0) {
        out.status = CompletionStatus::kOther;  // the peer sent a SEND, which our protocol does not
                                                // use
    }
    return out;
}

}  // namespace

StatusOr<std::unique_ptr<SystemQueue>> SystemQueue::create(ibv_context* context, uint32_t entries) {
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
    return out;
}

SystemQueue::~SystemQueue() {
    if (queue_ != nullptr) {
        clearEvents();
        ibv_ack_cq_events(queue_, unacknowledged_);
        ibv_destroy_cq(queue_);
    }
    if (channel_ != nullptr) {
        ibv_destroy_comp_channel(channel_);
    }
}

/// Nothing goes over the network for this: it takes microseconds, unless the adapter is emulated by
/// a program that waits for a processor.
Status SystemQueue::await(uint64_t id) {
    constexpr uint64_t kNanosMax = 2'000'000'000;
    const uint64_t until = platform::monotonicNanos() + kNanosMax;
    do {
        ibv_wc one;
        const int count = ibv_poll_cq(queue_, 1, &one);
        if (count < 0) {
            return Status(Code::kIo, "The completion queue is lost");
        }
        if (count == 0) {
            continue;
        }
        const Completion completion = completionOf(one);
        if (completion.id == id) {
            return completion.status == CompletionStatus::kOk
                       ? Status::ok()
                       : Status(Code::kIo,
                                std::string("An adapter's own request failed: ") +
                                    ibv_wc_status_str(one.status));
        }
        kept_.push_back(completion);
    } while (platform::monotonicNanos() < until);
    return Status(Code::kTimeout, "The adapter does not answer");
}

StatusOr<size_t> SystemQueue::poll(std::span<Completion> out) {
    size_t count = 0;
    for (; count < out.size() && !kept_.empty(); kept_.pop_front()) {
        out[count++] = kept_.front();
    }
    ibv_wc some[kBatch];
    const int wanted = static_cast<int>(std::min(out.size() - count, kBatch));
    const int more = wanted == 0 ? 0 : ibv_poll_cq(queue_, wanted, some);
    if (more < 0) {
        return Status(Code::kIo, "The completion queue is lost");
    }
    for (int i = 0; i < more; ++i) {
        out[count++] = completionOf(some[i]);
    }
    return count;
}

Status SystemQueue::arm() {
    return ibv_req_notify_cq(queue_, 0) == 0 ? Status::ok()
                                             : systemFailure("Cannot arm a completion queue");
}

void SystemQueue::clearEvents() {
    ibv_cq* which;
    void* context;
    while (ibv_get_cq_event(channel_, &which, &context) == 0) {
        ++unacknowledged_;
    }
    if (unacknowledged_ >= kAcknowledgeEvery) {  // acknowledging takes a lock
        ibv_ack_cq_events(queue_, unacknowledged_);
        unacknowledged_ = 0;
    }
}

}  // namespace freshet::transport::verbs

#endif
