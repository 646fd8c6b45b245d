// SPDX-License-Identifier: Apache-2.0
/// Files and folders for scripts.
#pragma once

#include "freshet/script/context.h"

namespace freshet::shell {

/// readFile, writeFile, fileExists, listFiles, makeFolder, removeFile, currentFolder, changeFolder.
Status defineFiles(script::Context& context);
/// kNotFound or kIo with the path and the reason.
StatusOr<std::string> readFile(const std::string& path);

}  // namespace freshet::shell
