// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/txn/commit_record.h"

#include "freshet/base/free_memory.h"

#include <algorithm>
#include <utility>

namespace freshet::engine {

namespace {

/// What follows the changes of a record with one event that has no document.
constexpr size_t kRoomForEnd = kEventsHeaderBytes + kCommitEventBytes + kChainBytes + 256;

/// Makes room for `more` bytes and not for twice as many as there are: they may be 16 MB.
void reserveExactly(std::string* bytes, size_t more) {
    if (bytes->capacity() - bytes->size() < more) {
        std::string larger;
        larger.reserve(bytes->size() + more);
        larger.append(*bytes);
        *bytes = std::move(larger);
    }
}

/// Empties the string; a large one gives its memory back, for the record waits for the journal.
void dropBytes(std::string* bytes) {
    constexpr size_t kKeptBytes = 1u << 20;
    if (bytes->capacity() > kKeptBytes) {
        freeMemory(bytes);
    } else {
        bytes->clear();
    }
}

}  // namespace

CommitRecordWriter::CommitRecordWriter(size_t bytesMax) : bytesMax_(bytesMax) {
    begin();
}

void CommitRecordWriter::begin() {
    body_.assign(kCommitHeaderBytes, '\0');  // seal() fills it in
}

size_t CommitRecordWriter::memoryBytes() const {
    size_t bytes = body_.capacity() + events_.capacity();
    for (const std::string& body : sealed_) {
        bytes += body.capacity();
    }
    return bytes;
}

void CommitRecordWriter::makeRoom(size_t bytes) {
    const bool isEmpty = ops_ == 0 && eventCount_ == 0;
    if (!isEmpty && recordBytes() + bytes > bytesMax_) {
        seal(0, false);
        sealedBytes_ += body_.size();
        sealed_.push_back(std::exchange(body_, {}));
        begin();
    }
}

void CommitRecordWriter::add(TreeId tree, CommitOp op, ByteView key, ByteView value) {
    const size_t bytes = kCommitOpBytes + key.size() + value.size();
    makeRoom(bytes);
    // Also for what seal() appends if the event is small; std::string doubles its capacity when
    // more is needed.
    body_.reserve(body_.size() + bytes + kRoomForEnd);
    appendLe(body_, tree);
    appendLe(body_, static_cast<uint32_t>(op));  // kind, then flags and reserved
    appendLe(body_, static_cast<uint32_t>(key.size()));
    appendLe(body_, static_cast<uint32_t>(value.size()));
    body_.append(key).append(value);
    ++ops_;
}

void CommitRecordWriter::addEvent(ByteView event) {
    makeRoom(kCommitEventBytes + event.size());
    appendLe(events_, static_cast<uint32_t>(event.size()));
    events_.append(event);
    ++eventCount_;
    hasEvents_ = true;
}

void CommitRecordWriter::seal(int64_t wallMs, bool isLast) {
    const bool isChain = !isLast || !sealed_.empty();
    storeLe(body_.data(), isChain ? kCommitChainVersion : kCommitVersion);
    storeLe(body_.data() + kCommitOpsOffset, ops_);
    // The last record of a chain says when it was committed, also if its events are elsewhere.
    if (eventCount_ != 0 || (isLast && hasEvents_)) {
        reserveExactly(&body_, kEventsHeaderBytes + events_.size() + kChainBytes);
        storeLe(body_.data() + kCommitFlagsOffset, kCommitHasEvents);
        appendLe(body_, static_cast<uint32_t>(kEventsHeaderBytes + events_.size()));
        appendLe(body_, uint32_t{kEventsVersion});  // then flags and reserved
        appendLe(body_, eventCount_);
        appendLe(body_, wallMs);
        body_.append(events_);
    } else {
        appendLe(body_, uint32_t{0});
    }
    if (isChain) {
        appendLe(body_, uint64_t{0});
        appendLe(body_, static_cast<uint32_t>(sealed_.size()));
        appendLe(body_, uint32_t{isLast});
    }
    dropBytes(&events_);
    ops_ = 0;
    eventCount_ = 0;
}

void CommitRecordWriter::finish(int64_t wallMs) {
    seal(wallMs, true);
}

std::string CommitRecordWriter::takeBody(journal::Lsn first) {
    const bool isFirst = taken_ == 0;
    std::string& next = taken_ < sealed_.size() ? sealed_[taken_++] : body_;
    std::string body = std::move(next);
    next.clear();
    if (!sealed_.empty() && !isFirst) {
        storeLe(body.data() + body.size() - kChainBytes, uint64_t{first});
    }
    return body;
}

}  // namespace freshet::engine
