// SPDX-License-Identifier: Apache-2.0
/// Reads the body of a COMMIT record (docs/formats/commit.md): for replay, and for whatever else
/// reads the log.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"
#include "freshet/engine/store.h"

#include <cstdint>
#include <optional>

namespace freshet::engine {

enum class CommitOp : uint8_t { kPut = 1, kDelete = 2 };

/// A key's new value, or that it has none. A key may come twice; the later change counts.
struct CommitChange {
    TreeId tree = 0;
    CommitOp op = CommitOp::kPut;
    ByteView key;
    ByteView value;  // empty for a delete
};

/// The place of a record in a chain of records, which together are one commit. The chain counts
/// when its last record is there; then it changes everything at once. Its events are those of all
/// its records, and its time is that of the last one.
struct CommitChain {
    journal::Lsn first = 0;  // LSN of the chain's first record; 0: it is this one
    uint32_t number = 0;     // of this record, from 0
    bool isLast = false;
};

class CommitReader {
public:
    /// Checks the whole body. All views point into it; it must outlive them and the reader.
    /// kCorruption: not what the engine writes. kUnsupported: of a newer version.
    static StatusOr<CommitReader> open(ByteView body);
    /// Whether the body has events, without checking it.
    static bool hasEvents(ByteView body);

    /// Nothing: the record is a whole commit.
    const std::optional<CommitChain>& chain() const { return chain_; }

    /// How many changes and events next() and nextEvent() have not returned yet.
    uint32_t changes() const { return changesLeft_; }
    uint32_t events() const { return eventsLeft_; }
    /// The next change, in the order in which they were made. False: there is none.
    bool next(CommitChange* change);
    /// The next event, as passed to Txn::addEvent().
    bool nextEvent(ByteView* event);
    /// When the commit began, in milliseconds since 1970; 0 if it has no event section.
    int64_t wallMs() const { return wallMs_; }

private:
    CommitReader() = default;
    Status checkChanges(ByteView body);
    Status checkEvents(ByteView section);
    Status checkChain(ByteView field);

    ByteView rest_;    // of the changes
    ByteView events_;  // those that are left
    uint32_t changesLeft_ = 0;
    uint32_t eventsLeft_ = 0;
    int64_t wallMs_ = 0;
    std::optional<CommitChain> chain_;
};

}  // namespace freshet::engine
