// SPDX-License-Identifier: Apache-2.0
/// A file in the data directory that says that a repair has begun and not come to its end. The
/// repair of the store heals pages for good before others (the catalog) have mended what depends on
/// them; until then nobody but another repair may open the directory.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/file.h"

#include <string>

namespace freshet::engine {

/// Whether there is one.
StatusOr<bool> hasRepairMark(platform::FileSystem& files, const std::string& directory);
/// Durable when it returns.
Status setRepairMark(platform::FileSystem& files, const std::string& directory);
Status removeRepairMark(platform::FileSystem& files, const std::string& directory);

}  // namespace freshet::engine
