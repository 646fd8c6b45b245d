// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/rdma_check/rdma_check.h"

#include "freshet/platform/clock.h"
#include "freshet/transport/connector.h"
#include "freshet/transport/rdma_question.h"

#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace freshet::shell {
namespace {

using transport::verbs::PortInfo;

constexpr uint32_t kSmallMtu = 1024;

/// What the reasons mean for an administrator. The first entry whose text is in the reason applies.
struct Remedy {
    std::string_view words;
    std::string_view text;
};
constexpr Remedy kRemedies[] = {
    {"the server knows no RDMA", "Start freshetd with --rdma. Its log names the devices it found."},
    {"connection's address belongs to no RDMA device",
     "On the server's machine, connect to the address of its adapter: `rdma link` there shows the "
     "adapter's network device, `ip addr` that device's addresses."},
    {"No RDMA device has the address",
     "Connect to an address in the network of this machine's adapter: `rdma link` shows the "
     "adapter's network device. Loopback never belongs to one."},
    {"RoCE v2",
     "The adapter must have the IP address as a GID of type RoCE v2: see `show_gids`, or "
     "/sys/class/infiniband/*/ports/*/gids."},
    {"too many RDMA sessions", "Raise the server's --rdmaMaxSessions, or close connections."},
    {"Cannot register", "Raise the limit on locked memory here: `ulimit -l unlimited`."},
    {"device refused",
     "The server could not register memory: raise its limit on locked memory (`ulimit -l`, "
     "LimitMEMLOCK=infinity in its systemd unit) and see its log."},
    {"nothing came through",
     "Both adapters are there, but not for each other: compare MTU, VLAN and GIDs, and let UDP "
     "port 4791 through. `ibv_rc_pingpong -g INDEX` between the machines must work."},
    {"versions differ", "Use the same release of Freshet on both machines."},
    {"encrypted", "What is encrypted stays on TCP: leave TLS out."},
    {"Nobody takes calls", "Start freshetd with --rdma --rdmaPort, and name that port."},
    {"Nobody listens", "Is the server running, and does its --bind_ip have this address?"},
    {"without libibverbs",
     "Use a build with libibverbs: install libibverbs-dev and librdmacm-dev "
     "before building."},
};

class RdmaCheck {
public:
    RdmaCheck(const RdmaCheckOptions& options, std::ostream& out)
        : where_(options.where),
          verbs_(options.verbs),
          lockedBytesMax_(options.lockedBytesMax),
          out_(out) {
        where_.username.clear();
        where_.rdma = true;
    }
    bool run() {
        out_ << "This machine\n";
        const bool hasDevices = checkDevices();
        const bool hasMemory = hasDevices && checkMemory();
        out_ << "The server " << where_.whereText() << "\n";
        // Whether the server accepts TCP connections is worth knowing in any case.
        const bool isReached = lookUp() && (where_.rdmaByCall || checkTcp());
        const bool works = isReached && hasDevices && checkRdma();
        out_ << (works ? "RDMA works" : "RDMA does not work") << " between here and "
             << where_.whereText() << "."
             << (works && !hasMemory ? " See above for its limits." : "") << std::endl;
        return works;
    }

private:
    void good(const std::string& text) { out_ << "  ok    " << text << "\n"; }
    void note(const std::string& text) { out_ << "  note  " << text << "\n"; }
    bool bad(const std::string& text, std::string_view remedy) {
        out_ << "  no    " << text << "\n";
        if (!remedy.empty()) {
            out_ << "        To mend it: " << remedy << "\n";
        }
        return false;
    }
    bool bad(const std::string& reason) {
        for (const Remedy& each : kRemedies) {
            if (reason.find(each.words) != std::string::npos) {
                return bad(reason, each.text);
            }
        }
        return bad(reason, "");
    }

    bool checkDevices();
    bool checkPort(const PortInfo& port);
    bool checkMemory();
    bool lookUp();
    bool checkTcp();
    bool askServer(const transport::ConnectOptions& plain);
    bool checkRdma();
    bool ping(client::Connection& connection);

    client::ConnectionString where_;
    std::shared_ptr<transport::verbs::Verbs> verbs_;
    const uint64_t lockedBytesMax_;
    std::ostream& out_;
};

bool RdmaCheck::checkDevices() {
    if (verbs_ == nullptr) {
        auto found = transport::verbs::systemVerbs();
        if (!found.isOk()) {
            return bad(std::string(found.status().text()));
        }
        verbs_ = std::move(*found);
    }
    const std::vector<PortInfo> ports = verbs_->ports();
    bool isAnyActive = false;
    for (const PortInfo& port : ports) {
        isAnyActive = checkPort(port) || isAnyActive;
    }
    return !ports.empty() ? isAnyActive
                          : bad("There is no RDMA device",
                                "Install rdma-core and the adapter's driver; `ibv_devinfo` must "
                                "show the adapter. To try it without one: `rdma link add rxe0 type "
                                "rxe netdev DEVICE`.");
}

bool RdmaCheck::checkPort(const PortInfo& port) {
    const std::string text = "Device " + port.device + " port " + std::to_string(port.port) + ": " +
                             port.state + ", " + port.linkLayer + ", MTU " +
                             std::to_string(port.mtuBytes);
    const bool isActive = port.state.find("ACTIVE") != std::string::npos || port.state == "active";
    if (!isActive) {
        return bad(
            text,
            "The port must be active: look at its cable and switch, `ip link set DEVICE up`, "
            "and with InfiniBand at the subnet manager.");
    }
    good(text);
    if (port.mtuBytes <= kSmallMtu && port.linkLayer == "Ethernet") {
        note(
            "A larger MTU is faster: `ip link set DEVICE mtu 4200`, on both machines and all "
            "switches between them, makes it 4096");
    }
    return true;
}

bool RdmaCheck::checkMemory() {
    constexpr uint64_t kKiB = 1024;
    const uint64_t perConnection = uint64_t{transport::RdmaOptions().ringBytes} * 3 / 2;
    if (lockedBytesMax_ == UINT64_MAX) {
        good("Locked memory: no limit");
        return true;
    }
    const std::string text = "Locked memory: " + std::to_string(lockedBytesMax_ / kKiB) +
                             " KiB, a connection takes " + std::to_string(perConnection / kKiB) +
                             " KiB";
    if (lockedBytesMax_ < perConnection) {
        return bad(text,
                   "`ulimit -l unlimited`, or memlock in /etc/security/limits.conf; "
                   "LimitMEMLOCK=infinity in a systemd unit.");
    }
    good(text);
    return true;
}

/// Finds the route to the server, which decides about the adapter.
bool RdmaCheck::checkTcp() {
    transport::ConnectOptions plain;
    plain.host = where_.host;
    plain.port = where_.port;
    plain.timeoutMs = where_.connectTimeoutMs;
    const auto session = transport::connect(plain);
    if (!session.isOk()) {
        return bad(std::string(session.status().text()));
    }
    const std::string local = (*session)->peer().local;
    good("It listens for TCP; the way there begins at " + local);
    if (verbs_ == nullptr || verbs_->ports().empty()) {
        return askServer(plain);
    }
    const auto address = client::ConnectionString::parse("mongodb://" + local);
    if (!address.isOk()) {
        return bad(std::string(address.status().text()));
    }
    const auto device = verbs_->open(address->host);
    if (!device.isOk()) {
        return bad(std::string(device.status().text()));
    }
    const PortInfo& port = (*device)->info();
    good("That address belongs to device " + port.device + " port " + std::to_string(port.port) +
         ", GID " + port.gid);
    return true;
}

/// Without a device here nothing more can be tried.
bool RdmaCheck::askServer(const transport::ConnectOptions& plain) {
    const Status offered = transport::askForRdma(plain);
    if (!offered.isOk()) {
        return bad(std::string(offered.text()));
    }
    good("It offers RDMA; whether a connection can move cannot be tried without a device here");
    return true;
}

bool RdmaCheck::lookUp() {
    StatusOr<client::ConnectionString> found = where_.lookedUp();
    if (!found.isOk()) {
        return bad(std::string(found.status().text()));
    }
    where_ = std::move(*found);
    return true;
}

bool RdmaCheck::checkRdma() {
    std::string whyTcp;
    const auto connection = client::Connection::open(
        where_, {verbs_, [&whyTcp](const std::string& text) { whyTcp = text; }});
    if (!connection.isOk()) {
        return bad(std::string(connection.status().text()));
    }
    if ((*connection)->transportKind() != "rdma") {
        return bad(whyTcp);
    }
    good(where_.rdmaByCall ? "It took the call, and answered the greeting over RDMA"
                           : "It offers RDMA: the connection moved, and the greeting came back");
    return ping(**connection);
}

bool RdmaCheck::ping(client::Connection& connection) {
    constexpr uint64_t kNanosPerMicro = 1'000;
    const std::string command = bson::Builder().add("ping", 1).finish();
    const uint64_t began = platform::monotonicNanos();
    const auto reply = connection.runChecked("admin", bson::Document(command));
    const uint64_t micros = (platform::monotonicNanos() - began) / kNanosPerMicro;
    if (!reply.isOk()) {
        return bad("No ping came back over RDMA: " + std::string(reply.status().text()));
    }
    good("A ping came back over RDMA, after " + std::to_string(micros) + " microseconds");
    return true;
}

}  // namespace

uint64_t lockedBytesMax() {
    rlimit limit{};
    const bool isKnown = ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0;
    return !isKnown || limit.rlim_cur == RLIM_INFINITY || ::geteuid() == 0 ? UINT64_MAX
                                                                           : limit.rlim_cur;
}

bool checkRdma(const RdmaCheckOptions& options, std::ostream& out) {
    return RdmaCheck(options, out).run();
}

}  // namespace freshet::shell
