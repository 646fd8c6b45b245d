// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/process/process_files.h"

#include "freshet/platform/signals.h"
#include "freshet/platform/thread.h"
#include "freshet/server/run_server.h"

#include <charconv>
#include <cstdio>

namespace freshet::server {
namespace {

constexpr const char* kLockFile = "freshetd.lock";
constexpr size_t kIdDigitsMax = 20;
constexpr uint64_t kLookEveryMs = 100;

/// The process id in a directory's lock file; 0 when there is none.
int64_t lockHolder(const std::string& dbPath, platform::FileSystem& files) {
    auto file = files.open(dbPath + "/" + kLockFile, platform::OpenMode::kRead);
    char text[kIdDigitsMax];
    auto got = file.isOk() ? (*file)->pread(text, sizeof(text), 0) : StatusOr<size_t>(size_t{0});
    int64_t id = 0;
    if (got.isOk()) {
        std::from_chars(text, text + *got, id);
    }
    return id;
}

/// The lock is free: the id in a stale file may belong to an unrelated process by now.
bool isUnlocked(const std::string& dbPath, platform::FileSystem& files) {
    return files.lock(dbPath + "/" + kLockFile).isOk();
}

}  // namespace

PidFile::~PidFile() {
    if (!path_.empty()) {
        static_cast<void>(platform::FileSystem::posix().remove(path_).isOk());
    }
}

Status PidFile::write(const std::string& path) {
    if (path.empty()) {
        return Status::ok();
    }
    auto& files = platform::FileSystem::posix();
    FRESHET_ASSIGN_OR_RETURN(auto file, files.open(path, platform::OpenMode::kCreate));
    FRESHET_RETURN_IF_ERROR(file->truncate(0));
    FRESHET_RETURN_IF_ERROR(file->pwrite(std::to_string(platform::processId()) + "\n", 0));
    path_ = path;
    return Status::ok();
}

int shutdownOther(const std::string& dbPath, platform::FileSystem& files) {
    const int64_t holder = lockHolder(dbPath, files);
    if (holder == 0 || isUnlocked(dbPath, files)) {
        std::fprintf(stderr, "There is no server running on %s\n", dbPath.c_str());
        return kExitFailure;
    }
    if (!platform::requestEndOf(holder)) {
        std::fprintf(stderr, "Process %ld cannot be ended\n", static_cast<long>(holder));
        return kExitFailure;
    }
    std::printf("Killing process with pid: %ld\n", static_cast<long>(holder));
    while (platform::processExists(holder) && !isUnlocked(dbPath, files)) {
        platform::sleepMillis(kLookEveryMs);
    }
    return kExitClean;
}

}  // namespace freshet::server
