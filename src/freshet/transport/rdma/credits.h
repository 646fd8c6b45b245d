// SPDX-License-Identifier: Apache-2.0
/// The accounts of one direction of a link, one class for each side: what the sender may still
/// write, and what the receiver owes it. docs/formats/rdma.md argues why the peer's receives never
/// run out, no byte is overwritten unread, and the two sides never wait for each other. Pure;
/// nothing that the peer says is believed.
#pragma once

#include "freshet/base/status.h"
#include "freshet/transport/rdma/immediate.h"

#include <cstddef>
#include <cstdint>

namespace freshet::transport::rdma {

/// How a side's registered memory is filled by its peer.
enum class Layout : uint32_t {
    kRing = 0,     // one write after the other
    kOneSlot = 1,  // every write begins at the start, after the last one was read
};

/// What we may write into the peer's ring.
class SendCredits {
public:
    /// Reserved for messages that return receives: a side that has received something can always
    /// return it.
    static constexpr uint32_t kReserved = 2;

    SendCredits(size_t ringBytes, uint32_t receives, Layout layout)
        : ringBytes_(ringBytes), layout_(layout), receivesMax_(receives), receives_(receives) {}

    /// Where the next byte goes, from the ring's start.
    size_t position() const { return head_ % ringBytes_; }
    /// Contiguous bytes that may be written now; 0: wait for credit.
    size_t room() const;
    /// All free bytes.
    size_t freeBytes() const { return ringBytes_ - (head_ - consumed_); }
    /// May a message be sent that returns no receives (data, or ring bytes alone)?
    bool maySendPlain() const { return receives_ > kReserved; }
    /// May one be sent that returns receives?
    bool maySendReturn() const { return receives_ > 0; }

    /// REQUIRES: the message was allowed.
    void sent(size_t bytes);
    /// Credit has come. kInvalid (kProtocolError) when it exceeds what was used.
    Status returned(const Immediate& immediate);

private:
    size_t ringBytes_;
    Layout layout_;
    uint32_t receivesMax_;
    uint64_t head_ = 0;      // bytes written in all; with one slot each write counts as all of it
    uint64_t consumed_ = 0;  // bytes that the peer has given back
    uint32_t receives_;      // posted at the peer and not used, as far as we know
};

/// What the peer may write into our ring, and the credit that it has not been told yet.
class ReceiveCredits {
public:
    /// So many unreturned receives justify a message of their own.
    static constexpr uint32_t kReceivesDue = 8;

    ReceiveCredits(size_t ringBytes, Layout layout) : ringBytes_(ringBytes), layout_(layout) {}

    /// A write of `bytes` has come. kInvalid (kProtocolError) when there was no room for it, or it
    /// crosses the ring's end.
    Status arrived(size_t bytes);
    /// All that has come was read. The rest of a slot counts as come: returns how many bytes that
    /// is, which must be consumed as well. 0: it is a ring.
    size_t skipRest();
    /// A receive was posted again.
    void reposted() { ++receivesOwed_; }
    /// Bytes were read and may be overwritten.
    void consumed(size_t bytes) { consumed_ += bytes; }

    Layout layout() const { return layout_; }
    uint64_t head() const { return head_; }
    bool owesReceives() const { return receivesOwed_ > 0; }
    /// Is enough owed to justify a message with nothing else in it?
    bool isDue() const {
        return receivesOwed_ >= kReceivesDue || consumed_ - reported_ >= ringBytes_ / 4;
    }
    /// Everything owed, for a message of this kind; it counts as sent.
    Immediate take(ImmediateKind kind);

private:
    const size_t ringBytes_;
    const Layout layout_;
    uint64_t head_ = 0;      // bytes that the peer has written in all
    uint64_t consumed_ = 0;  // of these, released by the reader
    uint64_t reported_ = 0;  // of these, reported to the peer: whole units
    uint32_t receivesOwed_ = 0;
};

}  // namespace freshet::transport::rdma
