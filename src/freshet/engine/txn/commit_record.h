// SPDX-License-Identifier: Apache-2.0
/// Writing and reading the body of a COMMIT record (commit_format.h).
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"
#include "freshet/engine/store.h"
#include "freshet/engine/txn/commit_format.h"

#include <functional>
#include <string>

namespace freshet::engine {

class CommitRecordWriter {
public:
    CommitRecordWriter();
    void add(TreeId tree, CommitOp op, ByteView key, ByteView value);
    size_t bytes() const { return body_.size(); }
    size_t memoryBytes() const { return body_.capacity(); }
    /// The finished body. The writer is then empty.
    std::string take();

private:
    std::string body_;
    uint32_t ops_ = 0;
};

struct CommitChange {
    TreeId tree;
    CommitOp op;
    ByteView key;
    ByteView value;
};
/// Calls `apply` for each change in order. kCorruption when the body is not what a writer makes;
/// kUnsupported when it comes from a newer version.
Status readCommitRecord(ByteView body, const std::function<void(const CommitChange&)>& apply);

}  // namespace freshet::engine
