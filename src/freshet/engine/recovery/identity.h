// SPDX-License-Identifier: Apache-2.0
/// The name of a data directory, which every journal segment repeats: files of another directory
/// are not taken for ours.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/file.h"

#include <array>
#include <string>
#include <vector>

namespace freshet::engine {

/// In every data directory.
inline constexpr char kDataFile[] = "/data.freshet";
inline constexpr char kJournalFolder[] = "/journal";

using DbUuid = std::array<char, 16>;

/// Reads the directory's name; makes one, durably, when the directory is new. kCorruption when the
/// file is damaged, or missing beside a data file, kUnsupported when it is of a newer version.
StatusOr<DbUuid> readOrMakeIdentity(platform::FileSystem& files, const std::string& directory);
/// The same for a repair: what is damaged or missing is made again from the data file, and told in
/// `losses`.
StatusOr<DbUuid> repairIdentity(platform::FileSystem& files,
                                const std::string& directory,
                                std::vector<std::string>* losses);

}  // namespace freshet::engine
