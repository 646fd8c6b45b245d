// SPDX-License-Identifier: Apache-2.0
/// `--op model`: stores a large binary, such as the parameters of a neural network, in chunks as
/// GridFS does, reads it back and compares it. Own thread.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/bench/wire/subject.h"

#include <cstdint>
#include <functional>
#include <string>

namespace freshet::bench {

/// Models are stored in this bucket of kDatabase; the file is "model-<bytes>" and is kept.
inline constexpr const char* kModelBucket = "models";

/// The bytes of every model: a function of their offset, and no two MiB are alike. Calls `each` for
/// one part after the other as long as it returns ok.
Status forModelBytes(uint64_t bytes, const std::function<Status(ByteView)>& each);

/// Puts the model with that durability, gets it, and prints a line for each. Returns kCorruption
/// when the bytes read back differ from those sent.
Status measureModel(const WireOptions& options,
                    Subject& subject,
                    uint64_t bytes,
                    const std::string& durability);

}  // namespace freshet::bench
