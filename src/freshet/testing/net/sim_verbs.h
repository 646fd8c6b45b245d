// SPDX-License-Identifier: Apache-2.0
/// SimVerbs: RDMA adapters in memory, connected to one network within this process. Order, keys,
/// bounds, receives, errors and flushes are those of reliable connected queue pairs; the test
/// chooses faults and how late completions are, drawn from its seed.
#pragma once

#include "freshet/transport/calls.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace freshet::testing {

class Exchange;

struct SimVerbsOptions {
    uint64_t seed = 1;
    /// A completion becomes visible at one of the first `latenessMax` polls; 1: at once.
    uint32_t latenessMax = 1;
    uint32_t inlineBytesMax = 220;
    /// Queue pairs can share a domain.
    bool hasWindows = true;
    /// Addresses that belong to an adapter.
    std::vector<std::string> addresses{"127.0.0.1"};
};

struct SimVerbsCounts {
    uint64_t writes = 0;
    uint64_t missingReceives = 0;   // writes that found no receive posted: must stay 0
    uint64_t refusals = 0;          // of keys, addresses, lengths
    uint64_t queuePairs = 0;        // live
    uint64_t changedTooSoon = 0;    // writes whose bytes changed before their completion: must stay
                                    // 0
    uint64_t regions = 0;           // live; of queue pairs
    uint64_t windows = 0;           // live; of these
    uint64_t sharedRegions = 0;     // live; besides these, of domains
    uint64_t domains = 0;           // live; shared
    uint64_t completionQueues = 0;  // live
    uint64_t calls = 0;             // ends of calls, live
};

/// Any thread. Need not outlive its objects: they keep the network alive.
class SimVerbs final : public transport::verbs::Verbs {
public:
    explicit SimVerbs(const SimVerbsOptions& options = {});
    ~SimVerbs() override;
    /// Adapters of another process on the same network, which dies at its n-th write (0: the
    /// first).
    std::shared_ptr<SimVerbs> anotherProcess(uint64_t diesAtWrite = UINT64_MAX);
    /// Of such a process: nothing leaves or reaches it any more, and no queue pair elsewhere is
    /// notified.
    void die();

    std::vector<transport::verbs::PortInfo> ports() override;
    StatusOr<std::shared_ptr<transport::verbs::Device>> open(
        const std::string& localAddress) override;
    /// Only on addresses that belong to an adapter.
    StatusOr<std::unique_ptr<transport::verbs::CallListener>> listen(const std::string& address,
                                                                     uint16_t port) override;
    StatusOr<std::unique_ptr<transport::verbs::Call>> dial(const std::string& host,
                                                           uint16_t port,
                                                           uint32_t timeoutMs) override;

    /// The n-th write from now (0: the next) fails with `status`, and its queue pair with it.
    void failWrite(uint64_t n, transport::verbs::CompletionStatus status);
    /// Writes between true and false wait in the network; it is reliable, so they arrive, in order.
    void setHoldingWrites(bool isHolding);
    /// Every device reports it, and every queue pair fails.
    void takePortsDown();
    /// True: no memory can be registered any more; false: it can again.
    void setOutOfMemory(bool isOut);
    /// True: requests of calls are lost from now on; false: no longer.
    void setLosingRequests(bool isLosing);
    SimVerbsCounts counts() const;

    struct Network;
    struct Process;

private:
    SimVerbs(std::shared_ptr<Network> network,
             std::shared_ptr<Exchange> exchange,
             uint64_t diesAtWrite);
    Status checkOwn(const std::string& address) const;

    std::shared_ptr<Network> network_;
    std::shared_ptr<Exchange> exchange_;
    std::shared_ptr<Process> process_;  // null in the first: it does not die
};

}  // namespace freshet::testing
