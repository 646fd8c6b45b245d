// SPDX-License-Identifier: Apache-2.0
/// Reads with read concern snapshot: all that a command and the getMores of its cursor read is as
/// of one time of the log. Belongs to the connection's executor.
#pragma once

#include "freshet/command/run/invocation.h"

namespace freshet::command {

/// Waits for the snapshot of that time of the log, 0: of now. kConflict (kSnapshotTooOld): it can
/// no longer be read.
sync::Task<Status> findSnapshot(Invocation& call, uint64_t time, engine::Snapshot* snapshot);

/// Runs `read`, the handler of a command outside of transactions, in a snapshot
/// (Invocation::snapshot).
sync::Task<Status> runInSnapshot(Invocation& call, sync::Task<Status> read);

/// The cursor's next batch is wanted: takes its snapshot again, if it reads in one. Between batches
/// a cursor holds none.
Status resumeSnapshot(const ClientCursor& cursor);

}  // namespace freshet::command
