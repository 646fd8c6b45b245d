// SPDX-License-Identifier: Apache-2.0
/// The part of RDMA verbs that Freshet uses: reliable connected queue pairs, writes with immediate
/// data into a peer's registered memory, completion queues with a descriptor to sleep on. The
/// implementation uses libibverbs; tests use testing/net's SimVerbs.
#pragma once

#include "freshet/base/status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace freshet::transport::verbs {

/// A port of an adapter, for people and for choosing.
struct PortInfo {
    std::string device;  // "mlx5_0", "rxe0"
    uint32_t port = 1;
    std::string gid;        // the one in use, such as "::ffff:10.9.0.1"
    uint32_t mtuBytes = 0;  // active
    std::string state;      // "active", or another state
    std::string linkLayer;  // "Ethernet" (RoCE), "InfiniBand"
};

/// What a peer must know to reach a queue pair.
struct Address {
    uint32_t queuePair = 0;       // 24 bits
    uint32_t packetSequence = 0;  // 24 bits: the first one that it sends
    uint16_t lid = 0;             // InfiniBand; 0 with RoCE
    uint16_t mtuBytes = 0;
    std::array<uint8_t, 16> gid{};
};

enum class CompletionStatus : uint8_t {
    kOk,
    kFlushed,    // the queue pair had failed before
    kAccess,     // the peer refused the address, the length or the key
    kPeerGone,   // no answer after all retries
    kNoReceive,  // the peer had no receive posted
    kLocal,      // our own request was wrong
    kOther,
};
const char* name(CompletionStatus status);

struct Completion {
    uint64_t id = 0;  // of the request
    CompletionStatus status = CompletionStatus::kOk;
    bool isReceive = false;  // only meaningful when kOk
    uint32_t bytes = 0;      // of a receive: how many the peer wrote
    uint32_t immediate = 0;  // of a receive
};

/// One piece of the local memory that a write sends.
struct Piece {
    const void* data = nullptr;
    uint32_t bytes = 0;
    uint32_t localKey = 0;  // of the region; ignored for inline writes
};

/// RDMA_WRITE_WITH_IMM, or RDMA_WRITE.
struct Write {
    uint64_t id = 0;
    Piece piece;  // may be empty
    uint64_t remoteAddress = 0;
    uint32_t remoteKey = 0;
    uint32_t immediate = 0;
    bool isInline = false;     // the adapter copies the bytes now
    bool isSignalled = false;  // a completion also on success
    bool isSilent = false;  // no immediate data: takes no receive, and the peer gets no completion
};

/// Registered memory. Destroyed before its queue pair, or its domain; the adapter does not touch
/// the memory afterwards.
class Region {
public:
    virtual ~Region() = default;
    virtual uint32_t localKey() const = 0;
    virtual uint32_t remoteKey() const = 0;
};

/// Any thread may arm and poll, one at a time.
class CompletionQueue {
public:
    virtual ~CompletionQueue() = default;
    /// Takes up to out.size() completions. kIo: the queue is lost (overrun, device gone).
    virtual StatusOr<size_t> poll(std::span<Completion> out) = 0;
    /// The next completion makes fd() readable. Poll once more afterwards: completions that were
    /// there before do not.
    virtual Status arm() = 0;
    /// For epoll and poll.
    virtual int fd() const = 0;
    /// Consumes the events that made fd() readable.
    virtual void clearEvents() = 0;
};

/// A protection domain that queue pairs share to send from the same memory. Outlives them and the
/// memory registered here, which no peer can reach through any of them.
class Domain {
public:
    virtual ~Domain() = default;
    /// Memory to send from.
    virtual StatusOr<std::unique_ptr<Region>> registerMemory(void* memory, size_t bytes) = 0;
};

/// A queue pair. Memory registered here can be reached by peers through this queue pair and no
/// other: either it has a protection domain of its own, or the remote key is that of a memory
/// window bound to the queue pair. Its completions go to the completion queue it was made with,
/// which outlives it. After the destructor the adapter touches neither its memory nor, for this
/// queue pair, its domain's; completions that were not polled may still come.
class QueuePair {
public:
    virtual ~QueuePair() = default;
    /// Before connect(); remote keys are valid from connect() on.
    virtual StatusOr<std::unique_ptr<Region>> registerMemory(void* memory,
                                                             size_t bytes,
                                                             bool peerMayWrite) = 0;
    virtual const Address& address() const = 0;
    /// To ready-to-send. Receives may be posted before.
    virtual Status connect(const Address& peer) = 0;
    virtual Status postReceive(uint64_t id) = 0;
    virtual Status postWrite(const Write& write) = 0;
    /// To the error state: every request in progress completes as kFlushed.
    virtual void fail() = 0;
    virtual uint32_t inlineBytesMax() const = 0;
};

struct QueuePairLimits {
    uint32_t writes = 64;
    uint32_t receives = 32;
    uint32_t inlineBytes = 220;  // the requested size; see inlineBytesMax()
};

/// An event of a whole device.
struct DeviceEvent {
    bool isFatal = false;  // all its queue pairs are lost: port down, device removed
    std::string text;
};

/// An opened port. Outlives everything made from it.
class Device {
public:
    virtual ~Device() = default;
    virtual const PortInfo& info() const = 0;
    virtual StatusOr<std::unique_ptr<CompletionQueue>> makeCompletionQueue(uint32_t entries) = 0;
    /// kUnsupported: the device has no memory windows bound to one queue pair, so queue pairs that
    /// share a domain would let peers into each other's memory.
    virtual StatusOr<std::unique_ptr<Domain>> makeDomain() = 0;
    /// `domain` is of this device; null: the pair gets one of its own.
    virtual StatusOr<std::unique_ptr<QueuePair>> makeQueuePair(CompletionQueue& queue,
                                                               const QueuePairLimits& limits,
                                                               Domain* domain) = 0;
    /// Readable when there is an event.
    virtual int eventFd() const = 0;
    /// kWouldBlock: no event. Never sleeps.
    virtual StatusOr<DeviceEvent> nextEvent() = 0;
};

class Call;  // calls.h
class CallListener;

class Verbs {
public:
    virtual ~Verbs() = default;
    virtual std::vector<PortInfo> ports() = 0;
    /// The port through which `localAddress` ("10.9.0.1") is reached. kNotFound when it belongs to
    /// no adapter. Each call opens a context of its own, so that every user gets the device's
    /// events.
    virtual StatusOr<std::shared_ptr<Device>> open(const std::string& localAddress) = 0;
    /// Listens for calls to a numeric address of an adapter, or to all ("0.0.0.0", "::"). kNotFound
    /// when it belongs to none, kUnavailable when the port is taken.
    virtual StatusOr<std::unique_ptr<CallListener>> listen(const std::string& address,
                                                           uint16_t port) = 0;
    /// Resolves the route to `host`, a name or an address; no request is sent yet. Blocks.
    /// kNotFound when no adapter reaches it, kTimeout (0: no limit), kUnavailable for a name that
    /// does not resolve.
    virtual StatusOr<std::unique_ptr<Call>> dial(const std::string& host,
                                                 uint16_t port,
                                                 uint32_t timeoutMs) = 0;
};

/// The adapters of this machine. kUnsupported when it was built without libibverbs.
StatusOr<std::shared_ptr<Verbs>> systemVerbs();

}  // namespace freshet::transport::verbs
