// SPDX-License-Identifier: Apache-2.0
/// Empty files in the data directory whose names restrict who may open it.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/file.h"

#include <string>

namespace freshet::engine {

/// A repair has begun and is not finished. The store's repair heals pages for good before other
/// rooms (the catalog) have mended what depends on them; until then only another repair may open
/// the directory.
inline constexpr char kRepairMark[] = "repair.unfinished";
/// The directory was used without a journal: its pages are not of one moment, so it must never be
/// opened again.
inline constexpr char kNoJournalMark[] = "without.journal";

/// Whether the mark exists.
StatusOr<bool> hasMark(platform::FileSystem& files, const std::string& directory, const char* mark);
/// The mark is durable when this returns.
Status setMark(platform::FileSystem& files, const std::string& directory, const char* mark);
Status removeMark(platform::FileSystem& files, const std::string& directory, const char* mark);

}  // namespace freshet::engine
