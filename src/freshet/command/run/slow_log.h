// SPDX-License-Identifier: Apache-2.0
/// The slow query log: one line (id 51803) for each operation that took longer than the threshold
/// of the `profile` command.
#pragma once

#include "freshet/command/run/invocation.h"

namespace freshet::command {

/// How an operation ended.
struct OperationEnd {
    const Status& status;
    uint64_t micros = 0;
    size_t replyBytes = 0;

    int64_t millis() const { return static_cast<int64_t>(micros / 1'000); }
};

/// It took as long as a slow one, and the sample rate lets it through.
bool isSlow(const Invocation& call, const OperationEnd& end);
void logSlow(const Invocation& call, const OperationEnd& end);

/// What logs and profiles show of the command: of an update or delete with one statement that
/// statement.
bson::OwnedDocument presentedCommand(const Invocation& call);

}  // namespace freshet::command
