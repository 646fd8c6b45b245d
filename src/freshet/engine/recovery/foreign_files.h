// SPDX-License-Identifier: Apache-2.0
/// Whether a directory may become a data directory: it must not hold other programs' data.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/file.h"

#include <string>

namespace freshet::engine {

/// Ok: it has a store, or only files that are common beside one (logs, process ids, certificates,
/// configuration, names that begin with a dot, lost+found). Else kInvalid: the text names a file,
/// the program that seems to have written it, and what to do.
Status checkForeignFiles(platform::FileSystem& files, const std::string& directory);

}  // namespace freshet::engine
