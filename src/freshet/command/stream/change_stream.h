// SPDX-License-Identifier: Apache-2.0
/// The source of a change stream: events of the log that concern a collection, a database or the
/// whole server, as documents for clients.
#pragma once

#include "freshet/command/stream/change_hub.h"
#include "freshet/command/stream/change_options.h"
#include "freshet/query/tail.h"

#include <memory>
#include <string>

namespace freshet::command {

/// Begins where the options say, else with what is committed from now on. kInvalid
/// (kChangeStreamHistoryLost) when the log no longer has, or never had, that place; perhaps only
/// next() says so. `key`: others need not be given, since the pipeline would drop them. Catalog and
/// hub must outlive the source.
StatusOr<std::unique_ptr<query::TailSource>> openChangeStream(catalog::Catalog& catalog,
                                                              ChangeHub& hub,
                                                              WatchedPlace place,
                                                              ChangeOptions options,
                                                              std::optional<EventKey> key);

}  // namespace freshet::command
