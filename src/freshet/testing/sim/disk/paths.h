// SPDX-License-Identifier: Apache-2.0
/// Names of files in a simulated disk: absolute, without dots and doubled slashes.
#pragma once

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

/// Of a normal path.
inline std::string parentOf(const std::string& path) {
    return std::filesystem::path(path).parent_path().string();
}

}  // namespace freshet::testing
