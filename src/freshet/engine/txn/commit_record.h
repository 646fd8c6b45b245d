// SPDX-License-Identifier: Apache-2.0
/// Writing the body of a COMMIT record (commit_format.h). Reading: engine/commit_reader.h.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/engine/commit_reader.h"
#include "freshet/engine/txn/commit_format.h"

#include <string>

namespace freshet::engine {

class CommitRecordWriter {
public:
    CommitRecordWriter();
    void add(TreeId tree, CommitOp op, ByteView key, ByteView value);
    void addEvent(ByteView event);
    uint32_t events() const { return eventCount_; }
    size_t bytes() const { return body_.size() + events_.size(); }
    size_t memoryBytes() const { return body_.capacity() + events_.capacity(); }
    /// The finished body. The writer is then empty. `wallMs`: for the event section, if there is
    /// one.
    std::string take(int64_t wallMs);

private:
    std::string body_;
    std::string events_;  // each with its length
    uint32_t ops_ = 0;
    uint32_t eventCount_ = 0;
};

}  // namespace freshet::engine
