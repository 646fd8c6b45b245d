// SPDX-License-Identifier: Apache-2.0
/// The engine of benchRun(): several connections, each on a thread of its own, that repeat the same
/// commands for some time.
#pragma once

#include "freshet/client/client.h"

namespace freshet::shell {

/// `config`: {parallel: 1 to 256, seconds: above 0, operations: [{kind: "insert", database: "test",
/// command: {...}, reads: true when the command returns a cursor, which is then read to its end}]}.
/// Commands may contain the placeholders of template.h. Returns {elapsedMicros, error: the first
/// error's text or "", operations: [{kind, count, errors, micros}]}, with the sums over all
/// threads. Each connection runs each operation at least once, however short the time. A lost
/// connection ends its thread; Ctrl-C ends all threads after their current command.
StatusOr<bson::OwnedDocument> runLoad(const client::ConnectionString& where, bson::Document config);

}  // namespace freshet::shell
