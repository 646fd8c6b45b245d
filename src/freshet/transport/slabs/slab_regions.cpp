// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/slabs/slab_regions.h"

#include "freshet/telemetry/log.h"

#include <mutex>
#include <utility>

namespace freshet::transport {

StatusOr<std::unique_ptr<SlabRegions>> SlabRegions::create(verbs::Device& device,
                                                           platform::Slabs& slabs) {
    FRESHET_ASSIGN_OR_RETURN(std::unique_ptr<verbs::Domain> domain, device.makeDomain());
    std::unique_ptr<SlabRegions> out(new SlabRegions(std::move(domain), slabs));
    slabs.add(out.get());
    return out;
}

SlabRegions::~SlabRegions() {
    slabs_.remove(this);
}

std::optional<uint32_t> SlabRegions::keyOf(ByteView bytes) {
    const platform::Slab slab = slabs_.find(bytes.data());
    if (slab.number == 0) {
        return std::nullopt;
    }
    std::lock_guard<sync::Mutex> lock(mutex_);
    const auto [found, isNew] = regions_.try_emplace(slab.number);
    if (isNew) {
        found->second = registered(slab);
    }
    return found->second == nullptr ? std::nullopt
                                    : std::optional<uint32_t>(found->second->localKey());
}

std::unique_ptr<verbs::Region> SlabRegions::registered(const platform::Slab& slab) {
    StatusOr<std::unique_ptr<verbs::Region>> region =
        domain_->registerMemory(slab.begin, slab.bytes);
    if (region.isOk()) {
        return std::move(*region);
    }
    if (!std::exchange(hasComplained_, true)) {
        telemetry::logWarning(
            "transport",
            "Some RDMA replies are copied, not sent in place: " + region.status().toString());
    }
    return nullptr;
}

void SlabRegions::onSlabGoes(const platform::Slab& slab) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    regions_.erase(slab.number);
}

}  // namespace freshet::transport
