// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/oplog/entry_reader.h"

#include <utility>

namespace freshet::command {
namespace {

constexpr int64_t kMillisPerSecond = 1000;

}  // namespace

bson::OwnedDocument noopEntry(uint64_t timestamp) {
    bson::Builder entry;
    entry.add("op", "n").add("ns", "");
    entry.object("o").add("msg", "periodic noop");
    addEntryEnd(timestamp, static_cast<int64_t>(timestamp >> 32) * kMillisPerSecond, &entry);
    return bson::OwnedDocument(entry.finish());
}

void EntryReader::open(const journal::ReadFrom& from) {
    isFromOldest_ = false;
    oldest_.reset();
    openEvents(from);
}

void EntryReader::openOldest(uint64_t timestamp) {
    isFromOldest_ = true;
    notBefore_ = timestamp;
    skippedTo_ = 0;
    events_.reset();
    auto reader = journal::Reader::open(journal_, {.lsn = 0});
    failure_ = reader.isOk() ? Status::ok() : reader.status();
    oldest_ = reader.isOk() ? std::move(*reader) : nullptr;
}

void EntryReader::openEvents(const journal::ReadFrom& from) {
    event_ = nullptr;
    auto events = LogEvents::open(journal_, from);
    failure_ = events.isOk() ? Status::ok() : events.status();
    events_ = events.isOk() ? std::move(*events) : nullptr;
}

Status EntryReader::next(journal::Lsn end, bson::OwnedDocument* entry, bool* isOver) {
    *isOver = false;
    while (!writer_.take(entry)) {
        FRESHET_RETURN_IF_ERROR(failure_);
        if (oldest_ != nullptr) {
            FRESHET_RETURN_IF_ERROR(findOldest(end, isOver));
            if (*isOver) {
                return Status::ok();
            }
            continue;
        }
        const Status status = nextEvent(end, isOver);
        if (takeNoop(*isOver, entry)) {
            *isOver = false;
            return Status::ok();
        }
        if (*isOver) {
            return Status::ok();
        }
        if (status.code() == Code::kNotFound && skipLostCommit()) {
            continue;
        }
        FRESHET_RETURN_IF_ERROR(status);
        FRESHET_RETURN_IF_ERROR(writer_.add(*std::exchange(event_, nullptr)));
    }
    return Status::ok();
}

/// Opens the events at the oldest record.
Status EntryReader::findOldest(journal::Lsn end, bool* isOver) {
    journal::RecordView record;
    const Status status = oldest_->next(&record);
    if (status.isWouldBlock()) {
        *isOver = oldest_->position() >= end;
        token_ = oldest_->token();
        isDry_ = oldest_->position() >= journal_.durableLsn();
        return *isOver ? Status::ok() : status;
    }
    FRESHET_RETURN_IF_ERROR(status);
    *isOver = record.lsn >= end;
    if (record.timestamp < notBefore_) {
        open({.timestamp = notBefore_});
        return Status::ok();
    }
    oldestTime_ = record.timestamp;
    if (!*isOver) {
        openEvents({.lsn = record.lsn});
        oldest_.reset();
    }
    return Status::ok();
}

/// Sets event_, unless it is set.
Status EntryReader::nextEvent(journal::Lsn end, bool* isOver) {
    isDry_ = false;
    const Status status = event_ != nullptr ? Status::ok() : events_->next(&event_);
    if (status.isWouldBlock()) {
        *isOver = events_->position() >= end;
        token_ = events_->token();
        isDry_ = events_->isDry();
    } else if (status.isOk()) {
        *isOver = event_->lsn >= end;
    }
    return status;
}

/// Once it is known what the oldest record is: an entry for it, unless it is one.
bool EntryReader::takeNoop(bool isOver, bson::OwnedDocument* entry) {
    if (oldestTime_ == 0) {
        return false;
    }
    const bool isEntry = event_ != nullptr && event_->timestamp == oldestTime_;
    const bool isPassed = event_ != nullptr || isOver || isDry_ ||
                          (events_ != nullptr && events_->timestamp() > oldestTime_);
    if (!isEntry && !isPassed) {
        return false;
    }
    const uint64_t timestamp = std::exchange(oldestTime_, 0);
    if (!isEntry) {
        *entry = noopEntry(timestamp);
    }
    return !isEntry;
}

/// The oldest commits may be the ends of chains whose beginnings are gone.
bool EntryReader::skipLostCommit() {
    const journal::Lsn behind = events_->position();
    if (!isFromOldest_ || behind <= skippedTo_) {
        return false;
    }
    skippedTo_ = behind;
    openEvents({.lsn = behind});
    return true;
}

}  // namespace freshet::command
