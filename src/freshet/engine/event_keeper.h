// SPDX-License-Identifier: Apache-2.0
/// EventKeeper: somebody above the engine who keeps in memory what events of the log say
/// (Txn::addEvent), and stores it by transactions from time to time, so that a write need not. The
/// log is then the only durable place of what has not been stored yet: the store keeps it, and
/// gives its events back when it is opened.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/journal/journal.h"

#include <cstdint>

namespace freshet::engine {

class EventKeeper {
public:
    /// neededFrom(): no event that is in the log now.
    static constexpr journal::Lsn kNone = UINT64_MAX;

    virtual ~EventKeeper() = default;
    /// While the store is being opened: an event of a commit that is replayed, in the log's order.
    /// The same events may come again at the next opening, and may have been stored before. `lsn`:
    /// of the commit's record, the first one if it has several. `wallMs`: when the commit began.
    virtual void replayed(ByteView event, journal::Lsn lsn, int64_t wallMs) = 0;
    /// A checkpoint begins. What is stored before it ends needs no log. Returns at once: it may be
    /// the thread for which writers wait when memory is short. Any thread.
    virtual void checkpointBegins() = 0;
    /// Events of commits at this LSN or above must come again at the next opening. It may rise from
    /// then on, unless somebody commits an event. To be exact: an event counts here from before its
    /// commit until after it was stored. Any thread; does not wait for transactions.
    virtual journal::Lsn neededFrom() = 0;
};

}  // namespace freshet::engine
