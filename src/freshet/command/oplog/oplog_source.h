// SPDX-License-Identifier: Apache-2.0
/// The oplog's entries as a source of documents: from a time on and further as they come, or those
/// that are there, from the oldest or from the newest.
///
/// Where the log's oldest record is no entry (a session's document, a checkpoint), an entry {op:
/// "n"} has its place: the oplog is never empty, as MongoDB's is not. Errors:
/// kCappedPositionLost, entries were recycled before they were read; those of LogEvents.
#pragma once

#include "freshet/base/status.h"
#include "freshet/journal/journal.h"
#include "freshet/query/tail.h"

#include <cstdint>
#include <memory>

namespace freshet::command {

/// Which entries, by their ts.
struct OplogRange {
    uint64_t from = 0;
    uint64_t to = UINT64_MAX;  // inclusive

    bool isEmpty() const { return from > to; }
};

enum class OplogOrder : uint8_t {
    kFollow,    // ascending, and then those that come
    kForward,   // ascending; those that are durable now
    kBackward,  // descending; the same. A few hundred KiB of the log are read at a time
};

/// The journal must outlive the source.
std::unique_ptr<query::TailSource> openOplog(journal::Journal& journal,
                                             const OplogRange& range,
                                             OplogOrder order);

/// Appends a record that changes nothing, as MongoDB's member does when it becomes primary: the
/// oplog then has an entry. Waits for room in the log. Not on an executor's thread.
Status noteStartInLog(journal::Journal& journal);

}  // namespace freshet::command
