// SPDX-License-Identifier: Apache-2.0
/// SlabRegions: the slabs (platform/slabs.h) that a device may send from, and the protection domain
/// that they share with the queue pairs of one reactor. A slab is registered when something in it
/// is first sent, so no memory is locked where no large value is read.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/platform/slabs.h"
#include "freshet/sync/mutex.h"
#include "freshet/transport/verbs.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace freshet::transport {

class SlabRegions final : public platform::SlabUser {
public:
    /// kUnsupported: queue pairs of that device cannot share memory safely (verbs.h).
    static StatusOr<std::unique_ptr<SlabRegions>> create(verbs::Device& device,
                                                         platform::Slabs& slabs);
    /// REQUIRES: no queue pair of the domain is left.
    ~SlabRegions();
    SlabRegions(const SlabRegions&) = delete;
    SlabRegions& operator=(const SlabRegions&) = delete;

    verbs::Domain& domain() { return *domain_; }
    /// The local key to send `bytes` with; the caller keeps the bytes allocated. None: they are in
    /// no slab, or in one that the device refuses, which is logged once.
    std::optional<uint32_t> keyOf(ByteView bytes);
    /// Any thread. Nothing is sent from that slab any more.
    void onSlabGoes(const platform::Slab& slab) override;

private:
    SlabRegions(std::unique_ptr<verbs::Domain> domain, platform::Slabs& slabs)
        : domain_(std::move(domain)), slabs_(slabs) {}
    std::unique_ptr<verbs::Region> registered(const platform::Slab& slab);

    const std::unique_ptr<verbs::Domain> domain_;  // outlives the regions
    platform::Slabs& slabs_;
    sync::Mutex mutex_;  // guards all below; taken while no mutex of the slabs is held, except
                         // users'
    std::map<uint64_t, std::unique_ptr<verbs::Region>> regions_;  // by slab; null: was refused
    bool hasComplained_ = false;
};

}  // namespace freshet::transport
