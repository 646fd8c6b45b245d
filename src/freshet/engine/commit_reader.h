// SPDX-License-Identifier: Apache-2.0
/// Reads the body of a COMMIT record (docs/formats/commit.md): for replay, and for whatever else
/// reads the log.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"
#include "freshet/engine/store.h"

#include <cstdint>

namespace freshet::engine {

enum class CommitOp : uint8_t { kPut = 1, kDelete = 2 };

/// A key's new value, or that it has none. A key may come twice; the later change counts.
struct CommitChange {
    TreeId tree = 0;
    CommitOp op = CommitOp::kPut;
    ByteView key;
    ByteView value;  // empty for a delete
};

class CommitReader {
public:
    /// Checks the whole body. All views point into it; it must outlive them and the reader.
    /// kCorruption: not what the engine writes. kUnsupported: of a newer version.
    static StatusOr<CommitReader> open(ByteView body);
    /// Whether the body has events, without checking it.
    static bool hasEvents(ByteView body);

    uint32_t changes() const { return changesLeft_; }
    /// The next change, in the order in which they were made. False: there is none.
    bool next(CommitChange* change);
    /// Those that next() and nextEvent() have not returned yet.
    uint32_t events() const { return eventsLeft_; }
    /// The next event, as passed to Txn::addEvent().
    bool nextEvent(ByteView* event);
    /// When the commit began, in milliseconds since 1970; 0 if it has no event section.
    int64_t wallMs() const { return wallMs_; }

private:
    CommitReader() = default;
    Status checkChanges(ByteView body);
    Status checkEvents(ByteView section);

    ByteView rest_;    // of the changes
    ByteView events_;  // those that are left
    uint32_t changesLeft_ = 0;
    uint32_t eventsLeft_ = 0;
    int64_t wallMs_ = 0;
};

}  // namespace freshet::engine
