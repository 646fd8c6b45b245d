// SPDX-License-Identifier: Apache-2.0
/// FaultyFileSystem: any other file system with the faults of a FaultPlan. What a fault leaves
/// behind is in the file system below, so a test puts it over a MemoryFileSystem, a SimFileSystem
/// or the real one. Any thread.
#pragma once

#include "freshet/platform/file.h"
#include "freshet/testing/sim/fault_plan.h"

#include <memory>
#include <string>

namespace freshet::testing {

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

    platform::FileSystem& below_;
    FaultPlan& plan_;
};

}  // namespace freshet::testing
