// SPDX-License-Identifier: Apache-2.0
/// What benchRun() stands on: several connections, each on a thread of its own, that run the same
/// commands over and over for some time.
#pragma once

#include "freshet/client/client.h"

namespace freshet::shell {

/// `config`: {parallel: 1 to 256, seconds: above 0, operations: [{kind: "insert", database: "test",
/// command: {...}, reads: true when the command gives a cursor, which is then read to its end}]}.
/// Commands may hold the places of template.h. Gives {elapsedMicros, error: the first error's text
/// or "", operations: [{kind, count, errors, micros}]}, each with the sums of all threads. Each
/// connection runs each operation at least once, however short the time. One that is lost ends its
/// thread; Ctrl-C ends all of them after their present command.
StatusOr<bson::OwnedDocument> runLoad(const client::ConnectionString& where, bson::Document config);

}  // namespace freshet::shell
