// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/adapter/system_domain.h"

#ifdef FRESHET_HAS_VERBS

#include "freshet/base/assert.h"
#include "freshet/transport/adapter/system_pair.h"

#include <string>
#include <utility>

namespace freshet::transport::verbs {

StatusOr<ibv_mr*> registerWith(ibv_pd* domain, void* memory, size_t bytes, int access) {
    ibv_mr* region = ibv_reg_mr(domain, memory, bytes, access);
    if (region == nullptr) {
        return systemFailure("Cannot register " + std::to_string(bytes) + " bytes (see ulimit -l)");
    }
    return region;
}

StatusOr<std::unique_ptr<SystemWindow>> SystemWindow::create(ibv_pd* domain,
                                                             void* memory,
                                                             size_t bytes) {
    FRESHET_ASSIGN_OR_RETURN(
        ibv_mr * region,
        registerWith(domain, memory, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND));
    std::unique_ptr<SystemWindow> out(new SystemWindow(region));
    out->window_ = ibv_alloc_mw(domain, IBV_MW_TYPE_2);
    if (out->window_ == nullptr) {
        return systemFailure("Cannot make a memory window");
    }
    out->key_ = ibv_inc_rkey(out->window_->rkey);  // the binder chooses the lowest byte of the key
    return out;
}

SystemWindow::~SystemWindow() {
    if (window_ != nullptr) {
        invariant(ibv_dealloc_mw(window_) == 0);
    }
    invariant(ibv_dereg_mr(region_) == 0);
}

ibv_send_wr SystemWindow::binding(uint64_t id) const {
    ibv_send_wr out{};
    out.wr_id = id;
    out.opcode = IBV_WR_BIND_MW;
    out.send_flags = IBV_SEND_SIGNALED;
    out.bind_mw.mw = window_;
    out.bind_mw.rkey = key_;
    out.bind_mw.bind_info.mr = region_;
    out.bind_mw.bind_info.addr = reinterpret_cast<uint64_t>(region_->addr);
    out.bind_mw.bind_info.length = region_->length;
    out.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
    return out;
}

StatusOr<std::unique_ptr<SystemDomain>> SystemDomain::create(ibv_context* context) {
    ibv_device_attr attributes{};
    constexpr unsigned kWindows = IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
    if (ibv_query_device(context, &attributes) != 0 ||
        (static_cast<unsigned>(attributes.device_cap_flags) & kWindows) == 0) {
        return Status(Code::kUnsupported, "The device has no memory windows of type 2");
    }
    ibv_pd* domain = ibv_alloc_pd(context);
    if (domain == nullptr) {
        return systemFailure("Cannot make a protection domain");
    }
    return std::unique_ptr<SystemDomain>(new SystemDomain(domain));
}

SystemDomain::~SystemDomain() {
    invariant(ibv_dealloc_pd(domain_) == 0);
}

StatusOr<std::unique_ptr<Region>> SystemDomain::registerMemory(void* memory, size_t bytes) {
    FRESHET_ASSIGN_OR_RETURN(ibv_mr * region, registerWith(domain_, memory, bytes, 0));
    return std::unique_ptr<Region>(std::make_unique<SystemRegion>(region));
}

}  // namespace freshet::transport::verbs

#endif
