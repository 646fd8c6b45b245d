// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/rdma/credits.h"

#include <algorithm>

namespace freshet::transport::rdma {

size_t SendCredits::room() const {
    return maySendPlain() ? std::min(freeBytes(), ringBytes_ - position()) : 0;
}

void SendCredits::sent(size_t bytes) {
    invariant(receives_ > 0 && bytes <= freeBytes() && bytes <= ringBytes_ - position());
    --receives_;
    head_ += bytes > 0 && layout_ == Layout::kOneSlot ? ringBytes_ : bytes;
}

Status SendCredits::returned(const Immediate& immediate) {
    const uint64_t bytes = uint64_t{immediate.ringUnits} * Immediate::kUnitBytes;
    if (immediate.receives > receivesMax_ - receives_ || bytes > head_ - consumed_) {
        return invalid(Reason::kProtocolError, "The peer gives back credit that was not used");
    }
    receives_ += immediate.receives;
    consumed_ += bytes;
    return Status::ok();
}

Status ReceiveCredits::arrived(size_t bytes) {
    // What the peer knows to be free, so that a write never covers a byte that is still being read.
    const uint64_t free = ringBytes_ - (head_ - reported_);
    const bool isTaken = layout_ == Layout::kOneSlot && bytes > 0 && free < ringBytes_;
    if (bytes > free || bytes > ringBytes_ - head_ % ringBytes_ || isTaken) {
        return invalid(Reason::kProtocolError,
                       "The peer wrote " + std::to_string(bytes) + " bytes into a ring with " +
                           std::to_string(free) + " free");
    }
    head_ += bytes;
    return Status::ok();
}

size_t ReceiveCredits::skipRest() {
    const size_t rest =
        layout_ == Layout::kRing ? 0 : (ringBytes_ - head_ % ringBytes_) % ringBytes_;
    head_ += rest;
    return rest;
}

Immediate ReceiveCredits::take(ImmediateKind kind) {
    Immediate out;
    out.kind = kind;
    out.receives = std::min(receivesOwed_, Immediate::kReceivesMax);
    receivesOwed_ -= out.receives;
    const uint64_t units = (consumed_ - reported_) / Immediate::kUnitBytes;
    out.ringUnits = static_cast<uint32_t>(std::min<uint64_t>(units, Immediate::kUnitsMax));
    reported_ += uint64_t{out.ringUnits} * Immediate::kUnitBytes;
    return out;
}

}  // namespace freshet::transport::rdma
