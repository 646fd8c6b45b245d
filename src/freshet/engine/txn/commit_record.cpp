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

std::string CommitRecordWriter::take() {
    storeLe(body_.data() + kCommitOpsOffset, ops_);
    appendLe(body_, uint32_t{0});
    std::string result = std::move(body_);
    *this = CommitRecordWriter();
    return result;
}

namespace {

Status damaged(const char* what) {
    return Status(Code::kCorruption, std::string("commit record: ") + what);
}

}  // namespace

Status readCommitRecord(ByteView body, const std::function<void(const CommitChange&)>& apply) {
    if (body.size() < kCommitHeaderBytes + kCommitEventBytes) {
        return damaged("too short");
    }
    if (loadLe<uint8_t>(body.data()) != kCommitVersion) {
        return Status(Code::kUnsupported, "commit record of a newer version");
    }
    const auto ops = loadLe<uint32_t>(body.data() + kCommitOpsOffset);
    ByteView rest = body.substr(kCommitHeaderBytes);
    for (uint32_t i = 0; i < ops; ++i) {
        if (rest.size() < kCommitOpBytes) {
            return damaged("an operation is cut off");
        }
        const auto tree = loadLe<uint32_t>(rest.data());
        const auto kind = loadLe<uint32_t>(rest.data() + 4);
        const size_t keyBytes = loadLe<uint32_t>(rest.data() + 8);
        const size_t valueBytes = loadLe<uint32_t>(rest.data() + 12);
        rest.remove_prefix(kCommitOpBytes);
        if (kind != static_cast<uint32_t>(CommitOp::kPut) &&
            kind != static_cast<uint32_t>(CommitOp::kDelete)) {
            return damaged("an unknown operation");
        }
        if (rest.size() < keyBytes || rest.size() - keyBytes < valueBytes) {
            return damaged("a key or value is cut off");
        }
        apply({tree,
               static_cast<CommitOp>(kind),
               rest.substr(0, keyBytes),
               rest.substr(keyBytes, valueBytes)});
        rest.remove_prefix(keyBytes + valueBytes);
    }
    if (rest.size() < kCommitEventBytes ||
        rest.size() - kCommitEventBytes != loadLe<uint32_t>(rest.data())) {
        return damaged("the event section has the wrong length");
    }
    return Status::ok();
}

}  // namespace freshet::engine
