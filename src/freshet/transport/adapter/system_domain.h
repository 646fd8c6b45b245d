// SPDX-License-Identifier: Apache-2.0
/// Protection domains of libibverbs, and the memory registered in them. For adapter/*.cpp only.
#pragma once

#include "freshet/transport/verbs.h"

#ifdef FRESHET_HAS_VERBS

#include <infiniband/verbs.h>

#include <memory>

namespace freshet::transport::verbs {

/// Registers memory in `domain` for these kinds of access (ibv_access_flags).
StatusOr<ibv_mr*> registerWith(ibv_pd* domain, void* memory, size_t bytes, int access);

class SystemRegion final : public Region {
public:
    explicit SystemRegion(ibv_mr* region) : region_(region) {}
    ~SystemRegion() override { invariant(ibv_dereg_mr(region_) == 0); }
    uint32_t localKey() const override { return region_->lkey; }
    uint32_t remoteKey() const override { return region_->rkey; }

private:
    ibv_mr* const region_;
};

/// Memory whose own remote key gives no access, with a window of type 2 whose key does, once it is
/// bound, and through one queue pair only.
class SystemWindow final : public Region {
public:
    static StatusOr<std::unique_ptr<SystemWindow>> create(ibv_pd* domain,
                                                          void* memory,
                                                          size_t bytes);
    ~SystemWindow() override;
    uint32_t localKey() const override { return region_->lkey; }
    uint32_t remoteKey() const override { return key_; }
    /// The request that binds it to a queue pair.
    ibv_send_wr binding(uint64_t id) const;

private:
    explicit SystemWindow(ibv_mr* region) : region_(region) {}
    ibv_mr* const region_;
    ibv_mw* window_ = nullptr;
    uint32_t key_ = 0;
};

class SystemDomain final : public Domain {
public:
    /// kUnsupported: the device reports no such windows.
    static StatusOr<std::unique_ptr<SystemDomain>> create(ibv_context* context);
    ~SystemDomain() override;
    ibv_pd* get() const { return domain_; }
    StatusOr<std::unique_ptr<Region>> registerMemory(void* memory, size_t bytes) override;

private:
    explicit SystemDomain(ibv_pd* domain) : domain_(domain) {}
    ibv_pd* const domain_;
};

}  // namespace freshet::transport::verbs

#endif
