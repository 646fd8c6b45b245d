// SPDX-License-Identifier: Apache-2.0
/// The records of sessions: which statements of a session's newest transaction number were done,
/// and whether its transaction was committed. They are in memory and in the log's events, and are
/// stored in config.transactions when a checkpoint is made. So they are made before the store is
/// opened, which gives back what has not been stored before a crash, and outlive it:
///
///     auto records = makeSessionRecords();
///     store.eventKeeper = &keeperOf(*records);
///     facts.sessionRecords = records;
#pragma once

#include "freshet/engine/event_keeper.h"

#include <memory>

namespace freshet::command {

class SessionRecords;  // opaque; retry/session_records.h

/// Of one store, and one Dispatcher at a time.
std::shared_ptr<SessionRecords> makeSessionRecords();
engine::EventKeeper& keeperOf(SessionRecords& records);

}  // namespace freshet::command
