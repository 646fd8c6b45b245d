// SPDX-License-Identifier: Apache-2.0
/// The slow query log: one line (id 51803) for each operation that took longer than the threshold
/// of the `profile` command.
#pragma once

#include "freshet/command/run/invocation.h"

namespace freshet::command {

/// Writes the line when the operation is slow and the sample rate lets it through.
void logIfSlow(const Invocation& call, const Status& status, uint64_t micros, size_t replyBytes);

}  // namespace freshet::command
