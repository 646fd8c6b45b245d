// SPDX-License-Identifier: Apache-2.0
/// Hub: RDMA on one reactor. It has the completion queues (one for each device in use), hands
/// completions to their links, and decides when to poll: continually while traffic is dense, never
/// while there is none.
#pragma once

#include "freshet/transport/rdma.h"
#include "freshet/transport/rdma/link.h"
#include "freshet/transport/tcp/reactor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace freshet::transport::rdma {

/// The owner of a link. Called on the reactor, from its run queue: look at the link again.
class LinkUser {
public:
    virtual void onLinkProgress() = 0;

protected:
    ~LinkUser() = default;
};

struct HubOptions {
    LinkSizes sizes;
    platform::Slabs* slabs = nullptr;
    uint32_t linksMax = 1'024;
    bool readsInPlace = false;
    bool grantsOneSlot = false;
    uint64_t spinNanosMax = 20'000;
    uint64_t bootstrapMillisMax = 5'000;
    uint64_t signMillis = 10'000;
};
/// The options of each of `hubs` hubs.
HubOptions hubOptions(const RdmaOptions& options, unsigned hubs);

/// Everything on the reactor's thread, except the constructor and the destructor.
class Hub {
public:
    Hub(Reactor& reactor, std::shared_ptr<verbs::Verbs> verbs, const HubOptions& options);
    /// REQUIRES: the reactor does not run, and no link is left.
    ~Hub();
    Hub(const Hub&) = delete;
    Hub& operator=(const Hub&) = delete;

    /// A link whose completions are handled until forget(). kNotFound: no device has that address;
    /// kLimit: there are too many links; kUnsupported: the layout is not granted.
    struct Member {
        uint32_t tag;
        std::unique_ptr<Link> link;
    };
    StatusOr<Member> makeLink(const std::string& localAddress, Layout layout, LinkUser* user);
    void forget(Member member);
    /// Polls now: before a connection that has ended is treated as such, so that everything sent
    /// before the end is received.
    void lookNow();

    Reactor& reactor() { return reactor_; }
    const HubOptions& options() const { return options_; }
    LinkCounters& counters() { return counters_; }
    /// Any thread.
    void addTo(RdmaStats* stats) const;
    /// Counts the sessions that must end before the reactor stops.
    void sessionBegan() { ++sessions_; }
    void sessionEnded();
    /// Complete once no such session is left.
    sync::WaitToken emptied();

private:
    struct Port;
    struct Registered {
        Port* port;
        Link* link;
        LinkUser* user;
    };

    void shareSlabs(Port& port);
    StatusOr<Port*> openPort(const std::string& localAddress);
    void look(Port& port);
    size_t drain(Port& port);
    bool spin(Port& port);
    void sleep(Port& port);
    void takeDeviceEvents(Port& port);
    void failPort(Port& port, const Status& why);
    void enqueue(Port& port);

    Reactor& reactor_;
    const std::shared_ptr<verbs::Verbs> verbs_;
    const HubOptions options_;
    LinkCounters counters_;
    std::map<std::string, std::unique_ptr<Port>> ports_;  // by local address
    std::vector<std::unique_ptr<Port>> lost_;             // their device failed
    std::unordered_map<uint32_t, Registered> links_;      // by tag
    uint32_t nextTag_ = 1;
    uint32_t sessions_ = 0;
    sync::WaitToken emptied_;
};

}  // namespace freshet::transport::rdma
