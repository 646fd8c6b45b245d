// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/net/sim_verbs.h"

#include "freshet/sync/mutex.h"
#include "freshet/testing/net/network/event_fd.h"
#include "freshet/testing/net/network/exchange.h"
#include "freshet/testing/net/network/unanswered.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <set>

namespace freshet::testing {
namespace verbs = transport::verbs;
using verbs::CompletionStatus;

namespace {

class QueueImpl;
class PairImpl;
class DeviceImpl;
class RegionImpl;

}  // namespace

struct SimVerbs::Network {
    explicit Network(const SimVerbsOptions& optionsIn)
        : options(optionsIn), random(optionsIn.seed) {}

    const SimVerbsOptions options;
    mutable sync::Mutex mutex;  // guards everything here, and all its objects
    std::mt19937_64 random;
    std::map<uint32_t, PairImpl*> pairs;
    std::map<uint32_t, RegionImpl*> regions;  // by key, also by the window's
    std::set<DeviceImpl*> devices;
    struct Held {
        uint32_t pair;
        verbs::Write write;
        std::string inlineBytes;  // the writer may free them
    };
    std::deque<Held> held;
    SimVerbsCounts counts;
    uint32_t nextNumber = 1;
    uint64_t writeToFail = UINT64_MAX;
    CompletionStatus failure = CompletionStatus::kOther;
    bool isHolding = false;
    bool isOutOfMemory = false;
};

/// All of it guarded by the network's mutex.
struct SimVerbs::Process {
    /// REQUIRES: the network's lock, as of all here.
    void die();

    std::set<PairImpl*> pairs;
    uint64_t writesLeft = UINT64_MAX;
    bool isDead = false;
};

namespace {

using ProcessPtr = std::shared_ptr<SimVerbs::Process>;
using NetworkPtr = std::shared_ptr<SimVerbs::Network>;
using Lock = std::lock_guard<sync::Mutex>;

class QueueImpl final : public verbs::CompletionQueue {
public:
    QueueImpl(NetworkPtr network, uint32_t entries)
        : network_(std::move(network)), entriesMax_(entries) {
        ++network_->counts.completionQueues;
    }
    ~QueueImpl() override {
        Lock lock(network_->mutex);
        --network_->counts.completionQueues;
    }
    StatusOr<size_t> poll(std::span<verbs::Completion> out) override {
        Lock lock(network_->mutex);
        if (isOverrun_) {
            return Status(Code::kIo, "The completion queue has overrun");
        }
        size_t count = 0;
        while (count < out.size() && !waiting_.empty()) {
            if (waiting_.front().pollsLeft > 0) {
                --waiting_.front().pollsLeft;
                break;
            }
            network_->counts.changedTooSoon += waiting_.front().sent.isUnchanged() ? 0 : 1;
            out[count++] = waiting_.front().completion;
            waiting_.pop_front();
        }
        return count;
    }
    Status arm() override {
        Lock lock(network_->mutex);
        isArmed_ = true;
        if (!waiting_.empty() && waiting_.front().pollsLeft > 0) {
            ringIfArmed();  // a late one arrives while the caller sleeps
        }
        return Status::ok();
    }
    int fd() const override { return ready_.fd(); }
    void clearEvents() override { ready_.clear(); }

    /// REQUIRES: the network's lock, as of all below.
    void add(const verbs::Completion& completion, uint32_t pair = 0, Unanswered sent = {}) {
        isOverrun_ = isOverrun_ || waiting_.size() >= entriesMax_;
        const auto lateness =
            static_cast<uint32_t>(network_->random() % network_->options.latenessMax);
        waiting_.push_back({completion, lateness, pair, std::move(sent)});
        ringIfArmed();
    }
    /// The queue pair is destroyed: nothing is resent.
    void forget(uint32_t pair) {
        for (Waiting& each : waiting_) {
            if (each.pair == pair) {
                each.sent.clear();
            }
        }
    }

private:
    struct Waiting {
        verbs::Completion completion;
        uint32_t pollsLeft;
        uint32_t pair;    // of a write: its queue pair
        Unanswered sent;  // the bytes that it completes
    };
    void ringIfArmed() {
        if (std::exchange(isArmed_, false)) {
            ready_.signal();
        }
    }
    const NetworkPtr network_;
    const size_t entriesMax_;
    std::deque<Waiting> waiting_;
    bool isArmed_ = false;
    bool isOverrun_ = false;
    EventFd ready_;
};

/// Access rights of a region.
struct Access {
    uint32_t domain;             // its queue pairs may send from the region
    bool isOfPeers;              // peers may write to it through queue pairs of that domain,
    PairImpl* window = nullptr;  // or only through this one, with a key of its own
    bool isOfDomain = false;     // registered by the domain, not by a queue pair
};

class RegionImpl final : public verbs::Region {
public:
    RegionImpl(NetworkPtr network, const Access& access, void* memory, size_t bytes)
        : access_(access),
          begin_(reinterpret_cast<uint64_t>(memory)),
          end_(begin_ + bytes),
          network_(std::move(network)) {
        localKey_ = remoteKey_ = network_->nextNumber++;
        network_->regions[localKey_] = this;
        ++count();
        if (access_.window != nullptr) {
            remoteKey_ = network_->nextNumber++;
            network_->regions[remoteKey_] = this;
            ++network_->counts.windows;
        }
    }
    ~RegionImpl() override {
        Lock lock(network_->mutex);
        network_->regions.erase(localKey_);
        network_->regions.erase(remoteKey_);
        --count();
        network_->counts.windows -= access_.window != nullptr ? 1 : 0;
    }
    uint32_t localKey() const override { return localKey_; }
    uint32_t remoteKey() const override { return remoteKey_; }
    bool maySend(uint32_t key, uint32_t domain) const {
        return key == localKey_ && domain == access_.domain;
    }
    bool mayWrite(uint32_t key, uint32_t domain, const PairImpl* by) const {
        return access_.isOfPeers && key == remoteKey_ && domain == access_.domain &&
               (access_.window == nullptr || access_.window == by);
    }
    bool holds(uint64_t address, uint64_t bytes) const {
        return address >= begin_ && address <= end_ && bytes <= end_ - address;
    }

private:
    uint64_t& count() {
        return access_.isOfDomain ? network_->counts.sharedRegions : network_->counts.regions;
    }

    const Access access_;
    const uint64_t begin_;
    const uint64_t end_;
    const NetworkPtr network_;
    uint32_t localKey_;
    uint32_t remoteKey_;
};

class DomainImpl final : public verbs::Domain {
public:
    explicit DomainImpl(NetworkPtr network)
        : number(network->nextNumber++), network_(std::move(network)) {
        ++network_->counts.domains;
    }
    ~DomainImpl() override {
        Lock lock(network_->mutex);
        --network_->counts.domains;
    }
    StatusOr<std::unique_ptr<verbs::Region>> registerMemory(void* memory, size_t bytes) override {
        Lock lock(network_->mutex);
        if (network_->isOutOfMemory) {
            return Status(Code::kIo, "Cannot register memory");
        }
        return std::unique_ptr<verbs::Region>(std::make_unique<RegionImpl>(
            network_, Access{number, false, nullptr, true}, memory, bytes));
    }
    const uint32_t number;

private:
    const NetworkPtr network_;
};

class PairImpl final : public verbs::QueuePair {
public:
    PairImpl(NetworkPtr network,
             ProcessPtr process,
             QueueImpl& queue,
             const verbs::QueuePairLimits& limits,
             const DomainImpl* shared)
        : network_(std::move(network)),
          process_(std::move(process)),
          queue_(queue),
          limits_(limits),
          isSharing_(shared != nullptr),
          domain_(shared != nullptr ? shared->number : network_->nextNumber++) {
        address_.queuePair = network_->nextNumber++;
        address_.mtuBytes = 1024;
        network_->pairs[address_.queuePair] = this;
        if (process_ != nullptr) {
            process_->pairs.insert(this);
        }
        ++network_->counts.queuePairs;
    }
    ~PairImpl() override {
        Lock lock(network_->mutex);
        network_->pairs.erase(address_.queuePair);
        queue_.forget(address_.queuePair);
        if (process_ != nullptr) {
            process_->pairs.erase(this);
        }
        --network_->counts.queuePairs;
    }
    StatusOr<std::unique_ptr<verbs::Region>> registerMemory(void* memory,
                                                            size_t bytes,
                                                            bool peerMayWrite) override {
        Lock lock(network_->mutex);
        if (network_->isOutOfMemory) {
            return Status(Code::kIo, "Cannot register memory");
        }
        const Access access{domain_, peerMayWrite, peerMayWrite && isSharing_ ? this : nullptr};
        return std::unique_ptr<verbs::Region>(
            std::make_unique<RegionImpl>(network_, access, memory, bytes));
    }
    const verbs::Address& address() const override { return address_; }
    Status connect(const verbs::Address& peer) override {
        Lock lock(network_->mutex);
        invariant(state_ == State::kNew);
        peer_ = peer.queuePair;
        state_ = State::kReady;
        if (process_ != nullptr && process_->isDead) {
            failNow();
        }
        return Status::ok();
    }
    Status postReceive(uint64_t id) override {
        Lock lock(network_->mutex);
        if (receives_.size() >= limits_.receives) {
            return Status(Code::kIo, "Too many receives");
        }
        receives_.push_back(id);
        if (state_ == State::kFailed) {
            flush();
        }
        return Status::ok();
    }
    Status postWrite(const verbs::Write& write) override;
    void fail() override {
        Lock lock(network_->mutex);
        failNow();
    }
    uint32_t inlineBytesMax() const override {
        return std::min(limits_.inlineBytes, network_->options.inlineBytesMax);
    }

    /// REQUIRES: the network's lock, as of all below.
    void deliver(const verbs::Write& write);
    void failNow() {
        state_ = State::kFailed;
        flush();
    }

private:
    enum class State : uint8_t { kNew, kReady, kFailed };

    Status checkLocal(const verbs::Write& write) const;
    CompletionStatus carryOut(const verbs::Write& write);
    void flush() {
        for (; !receives_.empty(); receives_.pop_front()) {
            queue_.add({receives_.front(), CompletionStatus::kFlushed, false, 0, 0});
        }
    }
    void completeWrite(const verbs::Write& write, CompletionStatus status);

    const NetworkPtr network_;
    const ProcessPtr process_;
    QueueImpl& queue_;
    const verbs::QueuePairLimits limits_;
    const bool isSharing_;
    const uint32_t domain_;
    verbs::Address address_;
    uint32_t peer_ = 0;
    State state_ = State::kNew;
    std::deque<uint64_t> receives_;
    Unanswered unanswered_;
    uint32_t writes_ = 0;  // without a completion yet, of their own or of a later write
};

Status PairImpl::checkLocal(const verbs::Write& write) const {
    if (write.isInline) {
        return write.piece.bytes <= inlineBytesMax()
                   ? Status::ok()
                   : Status(Code::kIo, "Too many bytes for an inline write");
    }
    const auto region = network_->regions.find(write.piece.localKey);
    if (region == network_->regions.end() ||
        !region->second->maySend(write.piece.localKey, domain_) ||
        !region->second->holds(reinterpret_cast<uint64_t>(write.piece.data), write.piece.bytes)) {
        return Status(Code::kIo, "The bytes are not in registered memory");
    }
    return Status::ok();
}

Status PairImpl::postWrite(const verbs::Write& write) {
    Lock lock(network_->mutex);
    FRESHET_RETURN_IF_ERROR(checkLocal(write));
    if (writes_ >= limits_.writes) {
        return Status(Code::kIo, "The send queue is full");
    }
    ++writes_;
    ++network_->counts.writes;
    if (process_ != nullptr && process_->writesLeft-- == 0) {
        process_->die();
    }
    if (network_->isHolding) {
        network_->held.push_back({address_.queuePair, write, {}});
        if (write.isInline && write.piece.bytes > 0) {
            network_->held.back().inlineBytes.assign(static_cast<const char*>(write.piece.data),
                                                     write.piece.bytes);
        }
        return Status::ok();
    }
    deliver(write);
    return Status::ok();
}

void PairImpl::deliver(const verbs::Write& write) {
    CompletionStatus status = CompletionStatus::kFlushed;
    if (state_ == State::kReady) {
        const bool isChosen = network_->writeToFail-- == 0;
        status = isChosen ? network_->failure : carryOut(write);
        unanswered_.add(write);
    }
    completeWrite(write, status);
}

void PairImpl::completeWrite(const verbs::Write& write, CompletionStatus status) {
    if (status != CompletionStatus::kOk || write.isSignalled) {
        writes_ = 0;
        queue_.add({write.id, status, false, 0, 0}, address_.queuePair, unanswered_.take());
    }
    if (status != CompletionStatus::kOk) {
        failNow();
    }
}

/// The peer adapter's part.
CompletionStatus PairImpl::carryOut(const verbs::Write& write) {
    const auto found = network_->pairs.find(peer_);
    if (found == network_->pairs.end() || found->second->state_ != State::kReady ||
        found->second->peer_ != address_.queuePair) {
        return CompletionStatus::kPeerGone;
    }
    PairImpl& peer = *found->second;
    if (write.piece.bytes > 0) {
        const auto region = network_->regions.find(write.remoteKey);
        if (region == network_->regions.end() ||
            !region->second->mayWrite(write.remoteKey, peer.domain_, &peer) ||
            !region->second->holds(write.remoteAddress, write.piece.bytes)) {
            ++network_->counts.refusals;
            peer.failNow();
            return CompletionStatus::kAccess;
        }
    }
    if (!write.isSilent && peer.receives_.empty()) {
        ++network_->counts.missingReceives;
        return CompletionStatus::kNoReceive;
    }
    if (write.piece.bytes > 0) {
        std::memcpy(
            reinterpret_cast<void*>(write.remoteAddress), write.piece.data, write.piece.bytes);
    }
    if (write.isSilent) {
        return CompletionStatus::kOk;
    }
    peer.queue_.add(
        {peer.receives_.front(), CompletionStatus::kOk, true, write.piece.bytes, write.immediate});
    peer.receives_.pop_front();
    return CompletionStatus::kOk;
}

class DeviceImpl final : public verbs::Device {
public:
    DeviceImpl(NetworkPtr network, ProcessPtr process, std::string address)
        : network_(std::move(network)), process_(std::move(process)) {
        info_.device = "sim0";
        info_.gid = std::move(address);
        info_.mtuBytes = 1024;
        info_.state = "active";
        info_.linkLayer = "Ethernet";
        Lock lock(network_->mutex);
        network_->devices.insert(this);
    }
    ~DeviceImpl() override {
        Lock lock(network_->mutex);
        network_->devices.erase(this);
    }
    const verbs::PortInfo& info() const override { return info_; }
    StatusOr<std::unique_ptr<verbs::CompletionQueue>> makeCompletionQueue(
        uint32_t entries) override {
        Lock lock(network_->mutex);
        return std::unique_ptr<verbs::CompletionQueue>(
            std::make_unique<QueueImpl>(network_, entries));
    }
    StatusOr<std::unique_ptr<verbs::Domain>> makeDomain() override {
        Lock lock(network_->mutex);
        if (!network_->options.hasWindows) {
            return Status(Code::kUnsupported, "The device has no memory windows");
        }
        return std::unique_ptr<verbs::Domain>(std::make_unique<DomainImpl>(network_));
    }
    StatusOr<std::unique_ptr<verbs::QueuePair>> makeQueuePair(verbs::CompletionQueue& queue,
                                                              const verbs::QueuePairLimits& limits,
                                                              verbs::Domain* domain) override {
        Lock lock(network_->mutex);
        return std::unique_ptr<verbs::QueuePair>(
            std::make_unique<PairImpl>(network_,
                                       process_,
                                       static_cast<QueueImpl&>(queue),
                                       limits,
                                       static_cast<const DomainImpl*>(domain)));
    }
    int eventFd() const override { return ready_.fd(); }
    StatusOr<verbs::DeviceEvent> nextEvent() override {
        Lock lock(network_->mutex);
        if (events_.empty()) {
            ready_.clear();
            return Status::wouldBlock();
        }
        verbs::DeviceEvent event = std::move(events_.front());
        events_.pop_front();
        return event;
    }
    /// REQUIRES: the network's lock.
    void post(verbs::DeviceEvent event) {
        events_.push_back(std::move(event));
        ready_.signal();
    }

private:
    const NetworkPtr network_;
    const ProcessPtr process_;
    verbs::PortInfo info_;
    std::deque<verbs::DeviceEvent> events_;
    EventFd ready_;
};

}  // namespace

SimVerbs::SimVerbs(const SimVerbsOptions& options)
    : network_(std::make_shared<Network>(options)), exchange_(std::make_shared<Exchange>()) {}

SimVerbs::SimVerbs(std::shared_ptr<Network> network,
                   std::shared_ptr<Exchange> exchange,
                   uint64_t diesAtWrite)
    : network_(std::move(network)),
      exchange_(std::move(exchange)),
      process_(std::make_shared<Process>()) {
    process_->writesLeft = diesAtWrite;
}

SimVerbs::~SimVerbs() {
    if (process_ == nullptr) {
        setHoldingWrites(false);
    }
}

std::shared_ptr<SimVerbs> SimVerbs::anotherProcess(uint64_t diesAtWrite) {
    return std::shared_ptr<SimVerbs>(new SimVerbs(network_, exchange_, diesAtWrite));
}

void SimVerbs::die() {
    invariant(process_ != nullptr);
    Lock lock(network_->mutex);
    process_->die();
}

void SimVerbs::Process::die() {
    isDead = true;
    for (PairImpl* pair : pairs) {
        pair->failNow();
    }
}

std::vector<verbs::PortInfo> SimVerbs::ports() {
    std::vector<verbs::PortInfo> out;
    for (const std::string& address : network_->options.addresses) {
        out.push_back({"sim0", 1, address, 1024, "active", "Ethernet"});
    }
    return out;
}

StatusOr<std::shared_ptr<verbs::Device>> SimVerbs::open(const std::string& localAddress) {
    FRESHET_RETURN_IF_ERROR(checkOwn(localAddress));
    return std::shared_ptr<verbs::Device>(
        std::make_shared<DeviceImpl>(network_, process_, localAddress));
}

Status SimVerbs::checkOwn(const std::string& address) const {
    const auto& addresses = network_->options.addresses;
    return std::find(addresses.begin(), addresses.end(), address) == addresses.end()
               ? Status(Code::kNotFound, "No RDMA device has the address " + address)
               : Status::ok();
}

StatusOr<std::unique_ptr<verbs::CallListener>> SimVerbs::listen(const std::string& address,
                                                                uint16_t port) {
    FRESHET_RETURN_IF_ERROR(checkOwn(address));
    return exchange_->listen(address, port);
}

StatusOr<std::unique_ptr<verbs::Call>> SimVerbs::dial(const std::string& host,
                                                      uint16_t port,
                                                      uint32_t /*timeoutMs*/) {
    FRESHET_RETURN_IF_ERROR(checkOwn(host));
    return exchange_->dial(host, port);
}

void SimVerbs::setLosingRequests(bool isLosing) {
    exchange_->setLosingRequests(isLosing);
}

void SimVerbs::failWrite(uint64_t n, CompletionStatus status) {
    Lock lock(network_->mutex);
    network_->writeToFail = n;
    network_->failure = status;
}

void SimVerbs::setHoldingWrites(bool isHolding) {
    Lock lock(network_->mutex);
    network_->isHolding = isHolding;
    while (!isHolding && !network_->held.empty()) {
        SimVerbs::Network::Held late = std::move(network_->held.front());
        network_->held.pop_front();
        if (late.write.isInline) {
            late.write.piece.data = late.inlineBytes.data();
        }
        if (const auto pair = network_->pairs.find(late.pair); pair != network_->pairs.end()) {
            pair->second->deliver(late.write);
        }
    }
}

void SimVerbs::takePortsDown() {
    Lock lock(network_->mutex);
    for (DeviceImpl* device : network_->devices) {
        device->post({true, "The port is down"});
    }
    for (const auto& [number, pair] : network_->pairs) {
        pair->failNow();
    }
}

void SimVerbs::setOutOfMemory(bool isOut) {
    Lock lock(network_->mutex);
    network_->isOutOfMemory = isOut;
}

SimVerbsCounts SimVerbs::counts() const {
    SimVerbsCounts out;
    {
        Lock lock(network_->mutex);
        out = network_->counts;
    }
    out.calls = exchange_->calls();
    return out;
}

}  // namespace freshet::testing
