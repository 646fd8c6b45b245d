// SPDX-License-Identifier: Apache-2.0
/// SimFileSystem: the real file system behind a volatile cache in this process. What was written
/// reaches a real file when its sync() returns, not before, so that `kill -9` of the process is
/// what a power cut is to a machine: unsynced bytes and sizes are gone. Names are real at once. For
/// freshetd-sim and for tests over real directories. Any thread.
#pragma once

#include "freshet/platform/file.h"
#include "freshet/testing/sim/disk_faults.h"

#include <map>
#include <memory>
#include <string>

namespace freshet::testing {

class VolatileFile;

class SimFileSystem final : public platform::FileSystem {
public:
    /// `real` is usually platform::FileSystem::posix() and must outlive this.
    explicit SimFileSystem(platform::FileSystem& real) : real_(real) {}
    ~SimFileSystem() override;

    StatusOr<std::unique_ptr<platform::File>> open(const std::string& path,
                                                   platform::OpenMode mode) override;
    StatusOr<std::vector<std::string>> list(const std::string& directory) override;
    Status makeDirectory(const std::string& path) override;
    Status rename(const std::string& from, const std::string& to) override;
    Status remove(const std::string& path) override;
    Status syncDirectory(const std::string& path) override;
    StatusOr<std::unique_ptr<platform::FileLock>> lock(const std::string& path) override;

    DiskFaults& faults() { return faults_; }

private:
    platform::FileSystem& real_;
    DiskFaults faults_;
    sync::Mutex mutex_;
    // By path; all handles of a file share one. A file that nobody has open has lost nothing yet:
    // its unsynced bytes live on here. Guarded by mutex_.
    std::map<std::string, std::shared_ptr<VolatileFile>> files_;
};

}  // namespace freshet::testing
