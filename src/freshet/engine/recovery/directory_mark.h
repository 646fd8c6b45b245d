// SPDX-License-Identifier: Apache-2.0
/// Empty files in the data directory whose names say who may open it.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/file.h"

#include <string>

namespace freshet::engine {

/// A repair has begun and not come to its end. The repair of the store heals pages for good before
/// others (the catalog) have mended what depends on them; until then nobody but another repair may
/// open the directory.
inline constexpr char kRepairMark[] = "repair.unfinished";
/// It was used without a journal: its pages are of no one moment, so nobody may open it again.
inline constexpr char kNoJournalMark[] = "without.journal";

/// Whether there is the mark.
StatusOr<bool> hasMark(platform::FileSystem& files, const std::string& directory, const char* mark);
/// Durable when it returns.
Status setMark(platform::FileSystem& files, const std::string& directory, const char* mark);
Status removeMark(platform::FileSystem& files, const std::string& directory, const char* mark);

}  // namespace freshet::engine
