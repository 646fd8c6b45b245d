// SPDX-License-Identifier: Apache-2.0
/// Files that name the process which serves a directory, for scripts and for --shutdown.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/file.h"

#include <string>

namespace freshet::server {

/// A file with our process id, removed with this object.
class PidFile {
public:
    PidFile() = default;
    ~PidFile();
    PidFile(const PidFile&) = delete;
    PidFile& operator=(const PidFile&) = delete;
    /// Does nothing for an empty path.
    Status write(const std::string& path);

private:
    std::string path_;
};

/// Asks the server that holds the lock of `dbPath` to end and waits until it has. Returns the
/// process's exit code; reports on standard output and error.
int shutdownOther(const std::string& dbPath, platform::FileSystem& files);

}  // namespace freshet::server
