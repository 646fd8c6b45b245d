// SPDX-License-Identifier: Apache-2.0
/// Reports of operations that have ended: a line in the slow query log, a document in the profile
/// of the database.
#pragma once

#include "freshet/command/run/slow_log.h"

namespace freshet::command {

/// Whether the operation may have to be reported. Cheap: called for every one.
inline bool mayBeReported(const Invocation& call, const OperationEnd& end) {
    const Services& services = call.services;
    return services.profiler.isUsed() ||
           end.millis() >= ParameterValues::get(services.parameters.slowOpThresholdMs);
}

/// Logs and records the operation, if it is to be. A failure here is not the operation's: it is
/// only logged. `end` must live until it is done.
sync::Task<void> report(Invocation& call, const OperationEnd& end);

}  // namespace freshet::command
