// SPDX-License-Identifier: Apache-2.0
/// EntryReader: the oplog's entries in the log's order, from a place or from the oldest. Thread
/// rule: as LogEvents.
#pragma once

#include "freshet/command/oplog/oplog_entry.h"
#include "freshet/command/stream/log_events.h"

#include <memory>
#include <utility>

namespace freshet::command {

/// {op: "n"} at that time.
bson::OwnedDocument noopEntry(uint64_t timestamp);

class EntryReader {
public:
    explicit EntryReader(journal::Journal& journal) : journal_(journal) {}

    /// Begins anew. What is wrong with the place, next() tells: kNotFound, the log does not reach
    /// back so far.
    void open(const journal::ReadFrom& from);
    /// From the log's oldest record on, but not before a time. If that record is no entry, an entry
    /// {op: "n"} stands for it.
    void openOldest(uint64_t timestamp = 0);
    bool isFromOldest() const { return isFromOldest_; }
    /// The time of the oldest record if it was found, but is not below the `end` of next(); else 0.
    uint64_t takeOldestTime() { return std::exchange(oldestTime_, 0); }

    /// The next entry of a commit below `end`. *isOver: there are no more. WouldBlock: wait for
    /// token().
    Status next(journal::Lsn end, bson::OwnedDocument* entry, bool* isOver);
    const sync::WaitToken& token() const { return token_; }
    /// After WouldBlock: as LogEvents.
    bool isDry() const { return isDry_; }
    uint64_t heldBytes() const { return writer_.heldBytes(); }

private:
    void openEvents(const journal::ReadFrom& from);
    Status findOldest(journal::Lsn end, bool* isOver);
    Status nextEvent(journal::Lsn end, bool* isOver);
    bool takeNoop(bool isOver, bson::OwnedDocument* entry);
    bool skipLostCommit();

    journal::Journal& journal_;
    Status failure_;                           // to open
    std::unique_ptr<journal::Reader> oldest_;  // finds the oldest record
    std::unique_ptr<LogEvents> events_;
    const CommittedEvent* event_ = nullptr;  // the next to be written, if it is here already
    OplogWriter writer_;
    bool isFromOldest_ = false;
    uint64_t notBefore_ = 0;
    uint64_t oldestTime_ = 0;  // of the oldest record, until it is known whether it is an entry
    journal::Lsn skippedTo_ = 0;
    sync::WaitToken token_ = sync::WaitToken::completed();
    bool isDry_ = false;
};

}  // namespace freshet::command
