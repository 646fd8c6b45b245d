// SPDX-License-Identifier: Apache-2.0
/// Names of files on a simulated disk: absolute, without dots and doubled slashes; and the error
/// for a missing one.
#pragma once

#include "freshet/base/status.h"

#include <filesystem>
#include <string>

namespace freshet::testing {

inline std::string normalPath(const std::string& path) {
    std::string result = std::filesystem::path("/" + path).lexically_normal().string();
    while (result.size() > 1 && result.back() == '/') {
        result.pop_back();
    }
    return result;
}

/// `path` must be normal.
inline std::string parentOf(const std::string& path) {
    return std::filesystem::path(path).parent_path().string();
}

inline Status missing(const std::string& path) {
    return Status(Code::kNotFound, path + ": no such file or directory");
}

}  // namespace freshet::testing
