// SPDX-License-Identifier: Apache-2.0
/// SimFileSystem: the real file system behind a volatile cache in this process. Written bytes reach
/// a real file when its sync() returns, not before, and a name created, moved or removed becomes
/// real when its directory is synced. So a `kill -9` of the process is like a power cut of a
/// machine: what was not synced is lost, or, with leaking, partly lost. Directories are real at
/// once. For freshetd-sim and for tests over real directories. Any thread.
#pragma once

#include "freshet/platform/file.h"
#include "freshet/testing/sim/disk_faults.h"
#include "freshet/testing/sim/leak.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

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

    /// From now on each sector written, and each change of a name, becomes real at once with this
    /// chance, drawn from `seed`: a disk writes out what it likes, in any order.
    void leak(double chance, uint64_t seed);

    DiskFaults& faults() { return faults_; }

private:
    /// A name created, moved or removed, not yet real.
    struct NameChange {
        std::string from;  // what must be renamed or removed; for a new file, its hidden name
        std::string to;    // empty: removed
    };
    /// The real path of the file that is called `path` here; empty: none.
    std::string realPath(const std::string& path) const;
    Status change(const std::string& from, const std::string& to);
    Status makeReal(const std::string& directory);

    platform::FileSystem& real_;
    DiskFaults faults_;
    Leak leak_;
    sync::Mutex mutex_;  // guards all below
    std::vector<NameChange> unsynced_;
    /// Names that differ from the real ones: the real name, or empty for none.
    std::map<std::string, std::string> elsewhere_;
    uint64_t hiddenMade_ = 0;
    // By path; all handles of a file share one. A file without open handles has lost nothing yet:
    // its unsynced bytes stay here.
    std::map<std::string, std::shared_ptr<VolatileFile>> files_;
};

}  // namespace freshet::testing
