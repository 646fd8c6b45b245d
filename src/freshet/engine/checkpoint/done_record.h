// SPDX-License-Identifier: Apache-2.0
/// Writing and reading the body of a CKPT_DONE record (done_format.h).
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"
#include "freshet/engine/checkpoint/done_format.h"

#include <string>

namespace freshet::engine {

struct CheckpointDone {
    uint64_t checkpointNo = 0;
    uint64_t redoLsn = 0;
};

inline std::string writeCheckpointDone(const CheckpointDone& done) {
    std::string body(kCheckpointDoneNoOffset, '\0');
    storeLe(body.data(), kCheckpointDoneVersion);
    appendLe(body, done.checkpointNo);
    appendLe(body, done.redoLsn);
    return body;
}

inline StatusOr<CheckpointDone> readCheckpointDone(ByteView body) {
    if (body.empty() || loadLe<uint8_t>(body.data()) > kCheckpointDoneVersion) {
        return Status(Code::kUnsupported, "checkpoint record of a newer version");
    }
    if (body.size() != kCheckpointDoneBytes) {
        return Status(Code::kCorruption, "checkpoint record: its length is wrong");
    }
    return CheckpointDone{loadLe<uint64_t>(body.data() + kCheckpointDoneNoOffset),
                          loadLe<uint64_t>(body.data() + kCheckpointDoneRedoOffset)};
}

}  // namespace freshet::engine
