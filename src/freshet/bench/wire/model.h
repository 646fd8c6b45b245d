// SPDX-License-Identifier: Apache-2.0
/// `--op model`: a large binary, as the parameters of a neural network are, is stored in chunks as
/// GridFS does it, read back and compared. Own thread.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/bench/wire/subject.h"

#include <cstdint>
#include <functional>
#include <string>

namespace freshet::bench {

/// Where models are: the bucket of that name in kDatabase; the file is "model-<bytes>" and stays.
inline constexpr const char* kModelBucket = "models";

/// The bytes of every model: the same for the same place, and no two MiB alike. Calls `each` for
/// one part after the other, while it returns ok.
Status forModelBytes(uint64_t bytes, const std::function<Status(ByteView)>& each);

/// Puts, gets and prints a line for each of the two. kCorruption when what came back is not what
/// was sent.
Status measureModel(const WireOptions& options, Subject& subject, uint64_t bytes);

}  // namespace freshet::bench
