// SPDX-License-Identifier: Apache-2.0
/// Command line and configuration file to Settings.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/file.h"
#include "freshet/server/options/settings.h"

#include <string>
#include <vector>

namespace freshet::server {

/// `arguments` without the program's name. Flags override the file that --config names, which is
/// read from `files`. kInvalid with a text for the operator.
StatusOr<Settings> parseOptions(const std::vector<std::string>& arguments,
                                platform::FileSystem& files);

/// What --help prints.
std::string helpText();

}  // namespace freshet::server
