// SPDX-License-Identifier: Apache-2.0
/// Where options come from: the command line and a configuration file in YAML.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/file.h"
#include "freshet/server/options/option_table.h"

#include <string>
#include <utility>
#include <vector>

namespace freshet::server {

/// The error for an invalid source of options.
inline Status bad(std::string text) {
    return Status(Code::kInvalid, std::move(text));
}

/// `--name value`, `--name=value`, a bare `--name`, `-f file`, `-v` to `-vvvvv`, in the order
/// given. kInvalid with mongod's text.
StatusOr<std::vector<Given>> readCommandLine(const std::vector<std::string>& arguments);

/// The options in a file's text. kInvalid: not YAML, or "Unrecognized option: x".
StatusOr<std::vector<Given>> readConfigText(const std::string& text);
/// The same for a file.
StatusOr<std::vector<Given>> readConfigFile(platform::FileSystem& files, const std::string& path);

}  // namespace freshet::server
