// SPDX-License-Identifier: Apache-2.0
/// mongod's storageEngine options, of which block_compressor has a meaning here:
/// {wiredTiger: {configString: "block_compressor=zstd"}}.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/view.h"
#include "freshet/engine/store.h"

#include <optional>
#include <string_view>

namespace freshet::catalog {

/// By mongod's names, in any case: none, snappy, zstd; zlib stands for zstd, which is as small and
/// faster. Null: there is no such name.
std::optional<engine::Codec> codecNamed(std::string_view name);

/// What the options say of compression; null: nothing. kInvalid, with mongod's text, when they are
/// not what it takes. Other settings of a configString have no effect.
StatusOr<std::optional<engine::Codec>> codecOf(bson::Document storageEngine);

}  // namespace freshet::catalog
