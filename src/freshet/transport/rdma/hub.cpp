// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/rdma/hub.h"

#include "freshet/platform/clock.h"
#include "freshet/telemetry/log.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

namespace freshet::transport::rdma {

namespace {

/// Completions come in bursts: when the gaps are shorter than this, polling is cheaper than
/// sleeping.
constexpr uint64_t kDenseNanos = 15'000;
constexpr size_t kBatch = 32;

}  // namespace

/// A device as known by one of its addresses, with its completion queue.
struct Hub::Port : sync::WorkItem {
    /// One of the device's descriptors: an event sets `flag` and queues the port; the next one
    /// comes after await().
    class Bell : private Watched {
    public:
        Bell(Port& port, bool Port::*flag) : port_(port), flag_(flag) {}
        Bell(const Bell&) = delete;
        Bell& operator=(const Bell&) = delete;
        ~Bell() {
            if (fd_ >= 0) {
                port_.hub.reactor_.poller().unwatch(fd_);
            }
        }
        /// `fd` outlives this.
        Status hang(int fd) {
            FRESHET_RETURN_IF_ERROR(port_.hub.reactor_.poller().watch(fd, EPOLLONESHOT, this));
            fd_ = fd;
            return Status::ok();
        }
        void await() { port_.hub.reactor_.poller().rewatch(fd_, EPOLLIN | EPOLLONESHOT, this); }

    private:
        void onEvents(uint32_t) override {
            port_.*flag_ = true;
            port_.hub.enqueue(port_);
        }

        Port& port_;
        bool Port::*const flag_;
        int fd_ = -1;
    };

    Port(Hub& hubIn, std::shared_ptr<verbs::Device> deviceIn)
        : hub(hubIn), device(std::move(deviceIn)) {}
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;
    ~Port() = default;

    Hub& hub;
    std::shared_ptr<verbs::Device> device;
    std::unique_ptr<verbs::CompletionQueue> queue;
    std::unique_ptr<SlabRegions> slabs;  // null: replies are copied
    uint32_t linksMax = 0;
    uint32_t links = 0;
    Bell wakeup{*this, &Port::isReadable};  // of the completion queue
    Bell events{*this, &Port::hasEvents};   // of the device
    bool isQueued = false;                  // on the run queue
    bool isAwaited = false;                 // the completion channel's event will queue it
    bool isReadable = false;                // that event has come
    bool hasEvents = false;                 // of the device: there are some
    bool isLost = false;
    uint64_t foundAt = 0;
    uint64_t gapNanos = kDenseNanos;  // between completions, on average
    uint64_t patience = 0;            // how long to poll without finding any
};

HubOptions hubOptions(const RdmaOptions& options, unsigned hubs) {
    constexpr uint64_t kNanosPerMicro = 1'000;
    HubOptions out;
    out.sizes.ringBytes = options.ringBytes;
    out.sizes.stageBytes = options.ringBytes / 2;
    out.slabs = options.slabs;
    out.linksMax = std::max(1u, options.sessionsMax / hubs);
    out.readsInPlace = options.readsInPlace;
    out.grantsOneSlot = options.oneSlot;
    out.bootstrapMillisMax = options.bootstrapMillisMax;
    out.signMillis = options.signMillis;
    out.spinNanosMax = options.spinMicrosMax * kNanosPerMicro;
    return out;
}

Hub::Hub(Reactor& reactor, std::shared_ptr<verbs::Verbs> verbs, const HubOptions& options)
    : reactor_(reactor), verbs_(std::move(verbs)), options_(options) {}

Hub::~Hub() {
    invariant(links_.empty());
}

StatusOr<Hub::Member> Hub::makeLink(const std::string& localAddress,
                                    Layout layout,
                                    LinkUser* user) {
    const bool isOneSlot = layout == Layout::kOneSlot;
    if (isOneSlot && !options_.grantsOneSlot) {
        return Status(Code::kUnsupported, "it is for comparison only");
    }
    FRESHET_ASSIGN_OR_RETURN(Port * port, openPort(localAddress));
    if (port->links >= port->linksMax) {
        return Status(Code::kLimit, "Too many RDMA sessions");
    }
    const uint32_t tag = nextTag_++;
    FRESHET_ASSIGN_OR_RETURN(
        std::unique_ptr<Link> link,
        Link::create({*port->device, *port->queue, reactor_.blocks(), counters_, port->slabs.get()},
                     tag,
                     isOneSlot ? LinkSizes::oneSlot() : options_.sizes));
    links_[tag] = {port, link.get(), user};
    ++port->links;
    return Member{tag, std::move(link)};
}

void Hub::forget(Member member) {
    const auto found = links_.find(member.tag);
    invariant(found != links_.end());
    Port& port = *found->second.port;
    links_.erase(found);
    member.link.reset();
    if (--port.links == 0 && port.isLost) {
        port.slabs.reset();
    }
}

StatusOr<Hub::Port*> Hub::openPort(const std::string& localAddress) {
    if (const auto found = ports_.find(localAddress); found != ports_.end()) {
        return found->second.get();
    }
    FRESHET_ASSIGN_OR_RETURN(auto device, verbs_->open(localAddress));
    auto port = std::make_unique<Port>(*this, std::move(device));
    // As many as the device's queues have room for: a queue that overruns is lost.
    Status status;
    for (uint32_t links = options_.linksMax; links > 0 && port->queue == nullptr; links /= 2) {
        auto queue = port->device->makeCompletionQueue(links * Link::kCompletionsMax);
        if (queue.isOk()) {
            port->queue = std::move(*queue);
            port->linksMax = links;
        }
        status = queue.status();
    }
    FRESHET_RETURN_IF_ERROR(status);
    FRESHET_RETURN_IF_ERROR(port->wakeup.hang(port->queue->fd()));
    FRESHET_RETURN_IF_ERROR(port->events.hang(port->device->eventFd()));
    port->run = [](sync::WorkItem* item) {
        auto* self = static_cast<Port*>(item);
        self->isQueued = false;
        self->hub.look(*self);
    };
    shareSlabs(*port);
    port->events.await();
    enqueue(*port);
    return (ports_[localAddress] = std::move(port)).get();
}

void Hub::shareSlabs(Port& port) {
    if (options_.slabs == nullptr) {
        return;
    }
    auto shared = SlabRegions::create(*port.device, *options_.slabs);
    if (shared.isOk()) {
        port.slabs = std::move(*shared);
    } else {
        telemetry::logInfo("transport",
                           "RDMA replies are copied on device " + port.device->info().device +
                               ": " + shared.status().toString());
    }
}

void Hub::enqueue(Port& port) {
    if (!std::exchange(port.isQueued, true)) {
        reactor_.post(&port);
    }
}

void Hub::lookNow() {
    std::vector<Port*> all;
    for (const auto& [address, port] : ports_) {
        all.push_back(port.get());
    }
    for (Port* port : all) {  // a port that fails leaves the map
        drain(*port);
    }
}

/// Polls once, and decides when to poll next: at once, or when the channel becomes readable.
void Hub::look(Port& port) {
    if (std::exchange(port.hasEvents, false)) {
        takeDeviceEvents(port);
    }
    if (port.isLost) {
        return;
    }
    if (std::exchange(port.isReadable, false)) {
        port.isAwaited = false;
        port.queue->clearEvents();
    }
    if (drain(port) > 0 || spin(port)) {
        const uint64_t now = platform::monotonicNanos();
        const uint64_t gap = std::min(now - std::exchange(port.foundAt, now), 8 * kDenseNanos);
        port.gapNanos = (3 * port.gapNanos + gap) / 4;
        port.patience = port.gapNanos < kDenseNanos ? options_.spinNanosMax : 0;
        enqueue(port);
        return;
    }
    port.patience /= 2;
    sleep(port);
}

/// Polls while that is worth it and the reactor has nothing else to do. True: something came.
bool Hub::spin(Port& port) {
    if (port.patience == 0) {
        return false;
    }
    while (reactor_.isQueueEmpty() && platform::monotonicNanos() - port.foundAt < port.patience) {
        if (drain(port) > 0) {
            return true;
        }
    }
    return false;
}

/// Completions between the last poll and the arming raise no event, so poll once more.
void Hub::sleep(Port& port) {
    if (Status armed = port.queue->arm(); !armed.isOk()) {
        failPort(port, armed);
        return;
    }
    if (drain(port) > 0) {
        enqueue(port);
        return;
    }
    if (port.isLost) {
        return;
    }
    counters_.sleeps.add(1);
    if (!std::exchange(port.isAwaited, true)) {
        port.wakeup.await();
    }
}

size_t Hub::drain(Port& port) {
    std::array<verbs::Completion, kBatch> some;
    std::array<uint32_t, kBatch> touched;
    const StatusOr<size_t> count = port.isLost ? size_t{0} : port.queue->poll(some);
    if (!count.isOk()) {
        failPort(port, count.status());
        return 0;
    }
    (*count > 0 ? counters_.polls : counters_.emptyPolls).add(1);
    size_t users = 0;
    for (size_t i = 0; i < *count; ++i) {
        const uint32_t tag = Link::tagOf(some[i].id);
        const auto found = links_.find(tag);
        if (found == links_.end()) {
            continue;  // its link no longer exists
        }
        found->second.link->onCompletion(some[i]);
        if (std::find(touched.begin(), touched.begin() + users, tag) == touched.begin() + users) {
            touched[users++] = tag;
        }
    }
    for (size_t i = 0; i < users; ++i) {
        if (const auto found = links_.find(touched[i]); found != links_.end()) {
            found->second.user->onLinkProgress();
        }
    }
    return *count;
}

void Hub::takeDeviceEvents(Port& port) {
    while (true) {
        const StatusOr<verbs::DeviceEvent> event = port.device->nextEvent();
        if (!event.isOk()) {
            break;
        }
        if (event->isFatal) {
            failPort(port, Status(Code::kIo, "RDMA device " + event->text));
            return;
        }
    }
    port.events.await();
}

/// All its links end; the next session opens the device anew. Its memory stays until they are gone.
void Hub::failPort(Port& port, const Status& why) {
    if (std::exchange(port.isLost, true)) {
        return;
    }
    telemetry::logWarning("transport", "RDMA sessions end: " + why.toString());
    for (auto it = ports_.begin(); it != ports_.end(); ++it) {
        if (it->second.get() == &port) {
            lost_.push_back(std::move(it->second));
            ports_.erase(it);
            break;
        }
    }
    std::vector<uint32_t> tags;
    for (const auto& [tag, registered] : links_) {
        if (registered.port == &port) {
            tags.push_back(tag);
        }
    }
    for (const uint32_t tag : tags) {
        if (const auto found = links_.find(tag); found != links_.end()) {
            found->second.link->fail(why);
            found->second.user->onLinkProgress();
        }
    }
}

void Hub::addTo(RdmaStats* stats) const {
    stats->sessions += counters_.links.read();
    stats->sessionsMade += counters_.linksMade.read();
    for (size_t i = 0; i < RdmaStats::kFallbacks; ++i) {
        stats->fallbacks[i] += counters_.fallbacks[i].read();
    }
    stats->callsTaken += counters_.callsTaken.read();
    stats->callsRefused += counters_.callsRefused.read();
    stats->writes += counters_.writes.read();
    stats->inlineWrites += counters_.inlineWrites.read();
    stats->creditWrites += counters_.creditWrites.read();
    stats->creditStalls += counters_.creditStalls.read();
    stats->stagedBytes += counters_.stagedBytes.read();
    stats->sentInPlaceBytes += counters_.sentInPlaceBytes.read();
    stats->copiedBytes += counters_.copiedInBytes.read();
    stats->inPlaceBytes += counters_.inPlaceBytes.read();
    stats->polls += counters_.polls.read();
    stats->emptyPolls += counters_.emptyPolls.read();
    stats->sleeps += counters_.sleeps.read();
}

void Hub::sessionEnded() {
    if (--sessions_ == 0 && emptied_.isSet()) {
        emptied_.complete();
    }
}

sync::WaitToken Hub::emptied() {
    emptied_ = sessions_ == 0 ? sync::WaitToken::completed() : sync::WaitToken::create();
    return emptied_;
}

}  // namespace freshet::transport::rdma
