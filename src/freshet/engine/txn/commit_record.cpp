// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/txn/commit_record.h"

#include <utility>

namespace freshet::engine {

CommitRecordWriter::CommitRecordWriter() {
    appendLe(body_, kCommitVersion);
    body_.append(kCommitHeaderBytes - sizeof(kCommitVersion), '\0');
}

void CommitRecordWriter::add(TreeId tree, CommitOp op, ByteView key, ByteView value) {
    // Includes what take() appends; std::string doubles its capacity when more is needed.
    body_.reserve(body_.size() + kCommitOpBytes + key.size() + value.size() + kCommitEventBytes);
    appendLe(body_, tree);
    appendLe(body_, static_cast<uint32_t>(op));  // kind, then flags and reserved
    appendLe(body_, static_cast<uint32_t>(key.size()));
    appendLe(body_, static_cast<uint32_t>(value.size()));
    body_.append(key).append(value);
    ++ops_;
}

void CommitRecordWriter::addEvent(ByteView event) {
    appendLe(events_, static_cast<uint32_t>(event.size()));
    events_.append(event);
    ++eventCount_;
}

std::string CommitRecordWriter::take(int64_t wallMs) {
    storeLe(body_.data() + kCommitOpsOffset, ops_);
    if (eventCount_ == 0) {
        appendLe(body_, uint32_t{0});
    } else {
        storeLe(body_.data() + kCommitFlagsOffset, kCommitHasEvents);
        appendLe(body_, static_cast<uint32_t>(kEventsHeaderBytes + events_.size()));
        appendLe(body_, uint32_t{kEventsVersion});  // then flags and reserved
        appendLe(body_, eventCount_);
        appendLe(body_, wallMs);
        body_.append(events_);
    }
    std::string result = std::move(body_);
    *this = CommitRecordWriter();
    return result;
}

}  // namespace freshet::engine
