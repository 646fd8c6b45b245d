// SPDX-License-Identifier: Apache-2.0
/// A queue pair of libibverbs, and helpers that the rest of this closet shares. Includes
/// libibverbs: for adapter/*.cpp only.
#pragma once

#include "freshet/transport/verbs.h"

#ifdef FRESHET_HAS_VERBS

#include "freshet/transport/adapter/system_domain.h"
#include "freshet/transport/adapter/system_queue.h"

#include <infiniband/verbs.h>

#include <memory>
#include <string>
#include <vector>

struct rdma_cm_id;

namespace freshet::transport::verbs {

/// A status with the text of errno.
Status systemFailure(const std::string& what);
uint32_t mtuBytes(ibv_mtu mtu);

/// A port, its context, and the GID table entry that peers are given.
struct PortHandle {
    ibv_context* context = nullptr;
    uint8_t port = 1;
    uint8_t gidIndex = 0;
    ibv_gid gid{};
    ibv_port_attr attributes{};
};

class SystemPair final : public QueuePair {
public:
    /// `shared` may be null.
    static StatusOr<std::unique_ptr<QueuePair>> create(const PortHandle& port,
                                                       SystemQueue& queue,
                                                       const QueuePairLimits& limits,
                                                       const SystemDomain* shared);
    ~SystemPair() override;
    StatusOr<std::unique_ptr<Region>> registerMemory(void* memory,
                                                     size_t bytes,
                                                     bool peerMayWrite) override;
    const Address& address() const override { return address_; }
    Status connect(const Address& peer) override;
    /// The connection manager knows the peer and the path.
    Status connectBy(rdma_cm_id* id);
    Status postReceive(uint64_t id) override;
    Status postWrite(const Write& write) override;
    void fail() override;
    uint32_t inlineBytesMax() const override { return inlineBytes_; }

private:
    SystemPair(const PortHandle& port, SystemQueue& queue, ibv_pd* shared)
        : port_(port), queue_(queue), isSharing_(shared != nullptr), domain_(shared) {}
    Status makePair(const QueuePairLimits& limits);
    Status initialize();
    Status bindWindows();
    Status toReceive(const Address& peer);
    Status toSend();

    const PortHandle port_;
    SystemQueue& queue_;
    const bool isSharing_;
    ibv_pd* domain_;                            // owned, unless it is shared
    std::vector<const SystemWindow*> unbound_;  // until the pair is connected
    ibv_qp* pair_ = nullptr;
    uint32_t inlineBytes_ = 0;
    Address address_;
};

}  // namespace freshet::transport::verbs

#endif
