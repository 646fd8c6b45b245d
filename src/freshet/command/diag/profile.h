// SPDX-License-Identifier: Apache-2.0
/// What becomes known of an operation that has ended: a line in the slow query log, a document in
/// the profile of its database.
#pragma once

#include "freshet/command/run/slow_log.h"

namespace freshet::command {

/// Somebody may want to hear of the operation. Cheap: asked about every one.
inline bool mayBeReported(const Invocation& call, const OperationEnd& end) {
    const Services& services = call.services;
    return services.profiler.isUsed() ||
           end.millis() >= ParameterValues::get(services.parameters.slowOpThresholdMs);
}

/// Logs and records it, where it is to be. Nothing that goes wrong here is the operation's fault,
/// so it tells nobody but the log. `end` must live until it is done.
sync::Task<void> report(Invocation& call, const OperationEnd& end);

}  // namespace freshet::command
