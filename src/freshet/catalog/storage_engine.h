// SPDX-License-Identifier: Apache-2.0
/// mongod's storageEngine options, of which only block_compressor has an effect here: {wiredTiger:
/// {configString: "block_compressor=zstd"}}.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/view.h"
#include "freshet/engine/store.h"

#include <optional>
#include <string_view>

namespace freshet::catalog {

/// By mongod's names, in any case of letters: none, snappy, zstd; zlib means zstd, which compresses
/// as well and is faster. Null: no such name.
std::optional<engine::Codec> codecNamed(std::string_view name);

/// The compression that the options choose; null: none is chosen. kInvalid, with mongod's text, for
/// malformed options. Other settings of a configString have no effect.
StatusOr<std::optional<engine::Codec>> codecOf(bson::Document storageEngine);

}  // namespace freshet::catalog
