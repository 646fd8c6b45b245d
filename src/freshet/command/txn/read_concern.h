// SPDX-License-Identifier: Apache-2.0
/// The argument readConcern: {level, afterClusterTime, atClusterTime}. Pure, except checkTimes();
/// any thread.
#pragma once

#include "freshet/command/run/arguments.h"

namespace freshet::command {

/// Checks the read concern and reduces it to what the server acts on. REQUIRES: `out` says whether
/// the command is in a transaction.
Status parseReadConcern(bson::Document concern,
                        const Command& command,
                        bool isReplicaSet,
                        GenericArguments* out);

/// kInvalid (kInvalidOptions): the read concern names a time that the server's log has not reached.
Status checkTimes(const GenericArguments& generic, const Services& services);

/// kConflict (kSnapshotTooOld): what was there at this time can no longer be read.
Status snapshotTooOld(uint64_t clusterTime);

}  // namespace freshet::command
