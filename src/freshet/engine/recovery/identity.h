// SPDX-License-Identifier: Apache-2.0
/// The identity of a data directory. Every journal segment repeats it, so that files of another
/// directory are recognized.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/file.h"

#include <array>
#include <string>
#include <vector>

namespace freshet::engine {

/// Names within a data directory.
inline constexpr char kDataFile[] = "/data.freshet";
inline constexpr char kJournalFolder[] = "/journal";

using DbUuid = std::array<char, 16>;

/// Reads the directory's identity; if the directory is new, makes one durably. kCorruption: the
/// file is damaged, or missing although there is a data file. kUnsupported: it is of a newer
/// version.
StatusOr<DbUuid> readOrMakeIdentity(platform::FileSystem& files, const std::string& directory);
/// The same for a repair: a damaged or missing file is made again from the data file, which is
/// reported in `losses`.
StatusOr<DbUuid> repairIdentity(platform::FileSystem& files,
                                const std::string& directory,
                                std::vector<std::string>* losses);

}  // namespace freshet::engine
