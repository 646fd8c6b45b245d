// SPDX-License-Identifier: Apache-2.0
/// The 32 bits that travel with every write: its kind, and the credit that it returns.
/// docs/formats/rdma.md. Pure.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>

namespace freshet::transport::rdma {

enum class ImmediateKind : uint8_t {
    kData = 1,     // bytes of the message stream
    kCredit = 2,   // no bytes
    kProbe = 3,    // the nonce, which proves that TCP peer and RDMA peer are the same
    kGoodbye = 4,  // no bytes: the sender sends nothing more
};

struct Immediate {
    static constexpr uint32_t kUnitBytes = 64;
    static constexpr uint32_t kReceivesMax = (1u << 6) - 1;
    static constexpr uint32_t kUnitsMax = (1u << 22) - 1;

    ImmediateKind kind = ImmediateKind::kData;
    uint32_t receives = 0;   // posted again since the last one; at most kReceivesMax
    uint32_t ringUnits = 0;  // of kUnitBytes, read out of the ring; at most kUnitsMax
};

uint32_t encodeImmediate(const Immediate& immediate);
/// kInvalid (kProtocolError) for an unknown kind.
StatusOr<Immediate> decodeImmediate(uint32_t bits);

}  // namespace freshet::transport::rdma
