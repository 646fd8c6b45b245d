// SPDX-License-Identifier: Apache-2.0
/// Body of a CKPT_DONE record in the journal: that checkpoint is durable, so the places it replaced
/// may be overwritten from here on. Little endian.
///
///   version u8 = 1 | reserved 7 bytes = 0 | checkpointNo u64 | redoLsn u64
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::engine {

inline constexpr uint8_t kCheckpointDoneVersion = 1;
inline constexpr size_t kCheckpointDoneNoOffset = 8;
inline constexpr size_t kCheckpointDoneRedoOffset = 16;
inline constexpr size_t kCheckpointDoneBytes = 24;

}  // namespace freshet::engine
