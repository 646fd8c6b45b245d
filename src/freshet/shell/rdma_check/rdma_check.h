// SPDX-License-Identifier: Apache-2.0
/// Tells in plain words what of RDMA works between this machine and a server, and what to mend.
#pragma once

#include "freshet/client/client.h"
#include "freshet/transport/verbs.h"

#include <cstdint>
#include <memory>
#include <ostream>

namespace freshet::shell {

struct RdmaCheckOptions {
    client::ConnectionString where;  // logins are left out: nothing of the data is asked for
    /// Null: this machine's.
    std::shared_ptr<transport::verbs::Verbs> verbs;
    /// Of memory that may be locked; UINT64_MAX: no limit.
    uint64_t lockedBytesMax = UINT64_MAX;
};

/// What this process may lock.
uint64_t lockedBytesMax();

/// True only if a ping came back over RDMA. Blocks, for up to a few times the connection's time
/// limit.
bool checkRdma(const RdmaCheckOptions& options, std::ostream& out);

}  // namespace freshet::shell
