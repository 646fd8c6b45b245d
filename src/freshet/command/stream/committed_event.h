// SPDX-License-Identifier: Apache-2.0
/// CommittedEvent: an event of the log together with what its commit says about it.
#pragma once

#include "freshet/catalog/event.h"
#include "freshet/journal/journal.h"

#include <cstdint>

namespace freshet::command {

/// Views are valid until the reader that gave it is called again.
struct CommittedEvent {
    catalog::Event event;
    journal::Lsn lsn = 0;    // of the commit's last record
    uint32_t number = 0;     // of the event in its commit, from 0
    bool isLast = false;     // in its commit
    uint64_t timestamp = 0;  // of the commit: seconds << 32 | counter, as a BSON Timestamp
    int64_t wallMs = 0;      // when the commit began, since 1970
    /// kInsert, kUpdate, kReplace: the document after it.
    bson::Document after;
    /// {lsid: {id, uid}, txnNumber} if the commit is one of a transaction of several statements,
    /// else empty.
    bson::Document transaction;
    /// {lsid: {id, uid}, txnNumber, stmtId, ...} if the commit is a statement of a retryable write,
    /// else empty.
    bson::Document statement;
};

}  // namespace freshet::command
