// SPDX-License-Identifier: Apache-2.0
/// The books of one direction of a link, one side each: what the sender may still write, and what
/// the receiver owes it. docs/formats/rdma.md argues why the peer's receives never run out, no byte
/// is overwritten unread, and two sides never wait for each other. Pure; nothing of the peer's is
/// believed.
#pragma once

#include "freshet/base/status.h"
#include "freshet/transport/rdma/immediate.h"

#include <cstddef>
#include <cstdint>

namespace freshet::transport::rdma {

/// How a side's registered memory is to be filled by its peer.
enum class Layout : uint32_t {
    kRing = 0,     // one write behind the other
    kOneSlot = 1,  // document 003's: every write begins at the start, when the last one was read
};

/// What we may write into the peer's ring.
class SendCredits {
public:
    /// Kept for messages that bring receives back: whoever has received something can always say
    /// so.
    static constexpr uint32_t kReserved = 2;

    SendCredits(size_t ringBytes, uint32_t receives, Layout layout)
        : ringBytes_(ringBytes), layout_(layout), receivesMax_(receives), receives_(receives) {}

    /// Where the next byte goes, from the ring's start.
    size_t position() const { return head_ % ringBytes_; }
    /// Contiguous bytes that may be written now; 0: wait for credit.
    size_t room() const;
    /// All free bytes.
    size_t freeBytes() const { return ringBytes_ - (head_ - consumed_); }
    /// May a message without news for the peer be sent (data, or ring bytes alone)?
    bool maySendPlain() const { return receives_ > kReserved; }
    /// May one be sent that gives receives back?
    bool maySendReturn() const { return receives_ > 0; }

    /// REQUIRES: the message was allowed.
    void sent(size_t bytes);
    /// Credit has come. kInvalid (kProtocolError) when it is more than was used.
    Status returned(const Immediate& immediate);

private:
    size_t ringBytes_;
    Layout layout_;
    uint32_t receivesMax_;
    uint64_t head_ = 0;      // bytes written in all; of a slot each write is all of it
    uint64_t consumed_ = 0;  // bytes that the peer has given back
    uint32_t receives_;      // posted at the peer and not used, as far as we know
};

/// What the peer may write into our ring, and what it has not been told yet.
class ReceiveCredits {
public:
    /// So many receives are worth a message of their own.
    static constexpr uint32_t kReceivesDue = 8;

    ReceiveCredits(size_t ringBytes, Layout layout) : ringBytes_(ringBytes), layout_(layout) {}

    /// A write of `bytes` has come. kInvalid (kProtocolError) when the peer had no room for it, or
    /// it crosses the ring's end.
    Status arrived(size_t bytes);
    /// All that has come was read. What the slot has behind it counts as come: so many bytes, which
    /// are to be consumed as well. 0: it is a ring.
    size_t skipRest();
    /// A receive was posted again.
    void reposted() { ++receivesOwed_; }
    /// Bytes were read and may be overwritten.
    void consumed(size_t bytes) { consumed_ += bytes; }

    Layout layout() const { return layout_; }
    uint64_t head() const { return head_; }
    bool owesReceives() const { return receivesOwed_ > 0; }
    /// Is it worth telling with nothing else to send?
    bool isDue() const {
        return receivesOwed_ >= kReceivesDue || consumed_ - told_ >= ringBytes_ / 4;
    }
    /// Everything owed, for a message of this kind: it counts as told.
    Immediate take(ImmediateKind kind);

private:
    const size_t ringBytes_;
    const Layout layout_;
    uint64_t head_ = 0;      // bytes that the peer has written in all
    uint64_t consumed_ = 0;  // of these, given up by the reader
    uint64_t told_ = 0;      // of these, told to the peer: whole units
    uint32_t receivesOwed_ = 0;
};

}  // namespace freshet::transport::rdma
