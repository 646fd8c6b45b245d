// SPDX-License-Identifier: Apache-2.0
/// The name of a data directory, which every journal segment repeats: files of another directory
/// are not taken for ours.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/file.h"

#include <array>
#include <string>

namespace freshet::engine {

using DbUuid = std::array<char, 16>;

/// Reads the directory's name; makes one, durably, when the directory has none. kCorruption when
/// the file is damaged, kUnsupported when it is of a newer version.
StatusOr<DbUuid> readOrMakeIdentity(platform::FileSystem& files, const std::string& directory);

}  // namespace freshet::engine
