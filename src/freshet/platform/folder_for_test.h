// SPDX-License-Identifier: Apache-2.0
/// A new folder on the real disk, for tests that need one.
#pragma once

#include "freshet/base/assert.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace freshet::platform {

/// Removed with this object, with everything in it.
class FolderForTest {
public:
    FolderForTest() {
        std::string name = (std::filesystem::temp_directory_path() / "freshet-XXXXXX").string();
        invariant(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~FolderForTest() { std::filesystem::remove_all(path_); }
    FolderForTest(const FolderForTest&) = delete;
    FolderForTest& operator=(const FolderForTest&) = delete;

    const std::filesystem::path& path() const { return path_; }
    /// The path of a file or a folder in it.
    std::string path(const std::string& name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

}  // namespace freshet::platform
