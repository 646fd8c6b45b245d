// SPDX-License-Identifier: Apache-2.0
/// Whether a directory may become a data directory: nobody else's data lies in it.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/file.h"

#include <string>

namespace freshet::engine {

/// Ok: it has a store, or nothing but what lies beside one (logs, process ids, certificates,
/// configuration, names that begin with a dot, lost+found). Else kInvalid: the text names what was
/// found, whose it seems to be and what to do.
Status checkForeignFiles(platform::FileSystem& files, const std::string& directory);

}  // namespace freshet::engine
