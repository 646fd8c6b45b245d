// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/rdma/immediate.h"

namespace freshet::transport::rdma {
namespace {
constexpr uint32_t kKindShift = 28;
constexpr uint32_t kReceivesShift = 22;
}  // namespace

uint32_t encodeImmediate(const Immediate& immediate) {
    dcheck(immediate.receives <= Immediate::kReceivesMax);
    dcheck(immediate.ringUnits <= Immediate::kUnitsMax);
    return static_cast<uint32_t>(immediate.kind) << kKindShift |
           immediate.receives << kReceivesShift | immediate.ringUnits;
}

StatusOr<Immediate> decodeImmediate(uint32_t bits) {
    const uint32_t kind = bits >> kKindShift;
    if (kind < static_cast<uint32_t>(ImmediateKind::kData) ||
        kind > static_cast<uint32_t>(ImmediateKind::kGoodbye)) {
        return invalid(Reason::kProtocolError,
                       "An RDMA write of unknown kind " + std::to_string(kind));
    }
    Immediate out;
    out.kind = static_cast<ImmediateKind>(kind);
    out.receives = bits >> kReceivesShift & Immediate::kReceivesMax;
    out.ringUnits = bits & Immediate::kUnitsMax;
    return out;
}

}  // namespace freshet::transport::rdma
