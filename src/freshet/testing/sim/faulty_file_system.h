// SPDX-License-Identifier: Apache-2.0
/// FaultyFileSystem: any other file system with the faults of a FaultPlan. The effects of a fault
/// are in the file system below, so a test puts it over a MemoryFileSystem, a SimFileSystem or the
/// real one. A rule's path is matched against a file's current name: an open file follows its
/// renames. Any thread.
#pragma once

#include "freshet/platform/file.h"
#include "freshet/testing/sim/fault_plan.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace freshet::testing {

/// The current name of an open file; shared by its handles.
class FileName {
public:
    explicit FileName(std::string path) : path_(std::move(path)) {}
    std::string path() const {
        std::lock_guard<sync::Mutex> lock(mutex_);
        return path_;
    }
    void set(std::string path) {
        std::lock_guard<sync::Mutex> lock(mutex_);
        path_ = std::move(path);
    }

private:
    mutable sync::Mutex mutex_;
    std::string path_;  // guarded by mutex_
};

class FaultyFileSystem final : public platform::FileSystem {
public:
    /// Both must outlive this and every file opened through it.
    FaultyFileSystem(platform::FileSystem& below, FaultPlan& plan) : below_(below), plan_(plan) {}

    StatusOr<std::unique_ptr<platform::File>> open(const std::string& path,
                                                   platform::OpenMode mode) override;
    StatusOr<std::vector<std::string>> list(const std::string& directory) override;
    Status makeDirectory(const std::string& path) override;
    Status rename(const std::string& from, const std::string& to) override;
    Status remove(const std::string& path) override;
    Status syncDirectory(const std::string& path) override;
    StatusOr<std::unique_ptr<platform::FileLock>> lock(const std::string& path) override;

private:
    /// The fault of a call that can only fail.
    Status failing(FileOp op, const std::string& path, const std::string& path2 = "");

    std::shared_ptr<FileName> nameOf(const std::string& path);

    platform::FileSystem& below_;
    FaultPlan& plan_;
    sync::Mutex mutex_;
    std::map<std::string, std::shared_ptr<FileName>> names_;  // guarded by mutex_
};

}  // namespace freshet::testing
