// SPDX-License-Identifier: Apache-2.0
/// Reports in plain words what of RDMA works between this machine and a server, and what to fix.
#pragma once

#include "freshet/client/client.h"
#include "freshet/transport/verbs.h"

#include <cstdint>
#include <memory>
#include <ostream>

namespace freshet::shell {

struct RdmaCheckOptions {
    client::ConnectionString where;  // without logins: no data is read
    /// Null: this machine's adapters.
    std::shared_ptr<transport::verbs::Verbs> verbs;
    /// How much memory may be locked; UINT64_MAX: no limit.
    uint64_t lockedBytesMax = UINT64_MAX;
};

/// How much memory this process may lock.
uint64_t lockedBytesMax();

/// True only if a ping was answered over RDMA. Blocks for up to a few times the connection's time
/// limit.
bool checkRdma(const RdmaCheckOptions& options, std::ostream& out);

}  // namespace freshet::shell
