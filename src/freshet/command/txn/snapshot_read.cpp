// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/txn/snapshot_read.h"

#include "freshet/command/access/replica_set_member.h"
#include "freshet/command/txn/read_concern.h"

namespace freshet::command {

sync::Task<Status> runInSnapshot(Invocation& call, sync::Task<Status> read) {
    if (call.generic.atClusterTime != 0) {
        co_return invalid(Reason::kCommandNotSupported,
                          "readConcern.atClusterTime is not served yet");
    }
    call.snapshot = std::make_shared<SnapshotRead>(call.services.catalog);
    // After the snapshot was taken: everything that it shows is in the log by now.
    call.snapshot->clusterTime = clusterTime(call.services).value;
    co_return co_await std::move(read);
}

}  // namespace freshet::command
