// SPDX-License-Identifier: Apache-2.0
/// What servers and clients choose about RDMA.
#pragma once

#include "freshet/platform/slabs.h"
#include "freshet/transport/verbs.h"

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>

namespace freshet::transport {

struct RdmaOptions {
    /// Null: no RDMA, everything stays on TCP.
    std::shared_ptr<verbs::Verbs> verbs;
    /// How much a peer may send before we have read it; a multiple of 4 KiB, from 64 KiB to 64 MiB.
    /// A session registers one and a half times as much.
    uint32_t ringBytes = 256 * 1024;
    uint32_t sessionsMax = 1'024;  // of a server; further ones stay on TCP
    /// One buffer of the largest message on each side and one to send from, 96 MB a session, and
    /// one message at a time each way, in place of a ring. Only for comparison
    /// (docs/formats/rdma.md). Of a client: it uses that layout or TCP. Of a server: it grants the
    /// layout to clients that ask for it.
    bool oneSlot = false;
    /// Requests of clients that have logged in are read in place, without a copy. Such a client can
    /// change a request between its check and its use, so it must be trusted with the server's
    /// memory.
    bool readsInPlace = false;
    /// Of a server: the port for clients that connect by the RDMA connection manager alone
    /// (calls.h), on those of its addresses that belong to an adapter. 0: none.
    uint16_t callPort = 0;
    /// Of a server: large pieces of replies that lie in these slabs are sent without a copy, where
    /// the device has memory windows. The slabs outlive the transport. Null: every reply is copied
    /// once.
    platform::Slabs* slabs = nullptr;
    /// The longest time from a client's offer to its move, or from its call to its first
    /// completion.
    uint32_t bootstrapMillisMax = 5'000;
    /// Of a server: how often it probes the adapters of peers that came by a call. (For a
    /// connection that moved from TCP, the TCP connection shows whether the peer lives.)
    uint32_t signMillis = 10'000;
    /// Of a client: how long it waits for the first write through the RDMA network before it stays
    /// on TCP. The server's bootstrapMillisMax runs meanwhile.
    uint32_t probeMillisMax = 1'000;
    /// How long a completion queue is polled without finding anything, while traffic is dense. 0:
    /// never.
    uint32_t spinMicrosMax = 20;
};

/// Why a connection whose client asked for RDMA stays on TCP.
enum class RdmaFallback : uint8_t {
    kVersion,    // the client speaks another version
    kBadOffer,   // the offer is not usable
    kNoDevice,   // the connection's address belongs to no device
    kTooMany,    // sessionsMax
    kTls,        // TLS connections do not move
    kDevice,     // the device, or the limit on locked memory, refused
    kNoProbe,    // nothing came through the RDMA network
    kAbandoned,  // the client did not go on with the move
};

/// Sums over all reactors, for serverStatus.
struct RdmaStats {
    uint64_t sessions = 0;  // live
    uint64_t sessionsMade = 0;
    uint64_t callsTaken = 0;  // of these, by the connection manager
    uint64_t callsRefused = 0;
    static constexpr size_t kFallbacks = 8;
    std::array<uint64_t, kFallbacks> fallbacks{};  // moves that ended on TCP, by RdmaFallback
    uint64_t writes = 0;
    uint64_t inlineWrites = 0;      // of these, without registered memory
    uint64_t creditWrites = 0;      // of these, for nothing but credit
    uint64_t creditStalls = 0;      // times that a message had to wait for the peer
    uint64_t stagedBytes = 0;       // of replies, copied once
    uint64_t sentInPlaceBytes = 0;  // of replies, not copied
    uint64_t copiedBytes = 0;       // of requests, copied out of the ring
    uint64_t inPlaceBytes = 0;      // of requests, read in the ring
    uint64_t polls = 0;             // that found something
    uint64_t emptyPolls = 0;
    uint64_t sleeps = 0;

    uint64_t fallbacksInAll() const {
        return std::accumulate(fallbacks.begin(), fallbacks.end(), uint64_t{0});
    }
    uint64_t fallbacksBy(RdmaFallback why) const { return fallbacks[static_cast<size_t>(why)]; }
    std::array<std::pair<const char*, uint64_t>, kFallbacks> namedFallbacks() const {
        return {{{"version", fallbacksBy(RdmaFallback::kVersion)},
                 {"badOffer", fallbacksBy(RdmaFallback::kBadOffer)},
                 {"noDevice", fallbacksBy(RdmaFallback::kNoDevice)},
                 {"tooManySessions", fallbacksBy(RdmaFallback::kTooMany)},
                 {"tls", fallbacksBy(RdmaFallback::kTls)},
                 {"deviceRefused", fallbacksBy(RdmaFallback::kDevice)},
                 {"noProbe", fallbacksBy(RdmaFallback::kNoProbe)},
                 {"abandoned", fallbacksBy(RdmaFallback::kAbandoned)}}};
    }

    static constexpr size_t kNumbers = 16;
    std::array<std::pair<const char*, uint64_t>, kNumbers> named() const {
        return {{{"sessions", sessions},
                 {"sessionsMade", sessionsMade},
                 {"callsTaken", callsTaken},
                 {"callsRefused", callsRefused},
                 {"fallbacksToTcp", fallbacksInAll()},
                 {"writes", writes},
                 {"inlineWrites", inlineWrites},
                 {"creditWrites", creditWrites},
                 {"creditStalls", creditStalls},
                 {"bytesCopiedOut", stagedBytes},
                 {"bytesSentInPlace", sentInPlaceBytes},
                 {"bytesCopiedIn", copiedBytes},
                 {"bytesReadInPlace", inPlaceBytes},
                 {"polls", polls},
                 {"emptyPolls", emptyPolls},
                 {"sleeps", sleeps}}};
    }
};

}  // namespace freshet::transport
