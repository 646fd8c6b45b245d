// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/sim/sim_file_system.h"

#include "freshet/testing/sim/disk/volatile_file.h"

#include <filesystem>
#include <mutex>

namespace freshet::testing {
namespace {

std::string normal(const std::string& path) {
    return std::filesystem::path(path).lexically_normal().string();
}

}  // namespace

using platform::OpenMode;

SimFileSystem::~SimFileSystem() = default;

StatusOr<std::unique_ptr<platform::File>> SimFileSystem::open(const std::string& path,
                                                              OpenMode mode) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    auto& file = files_[normal(path)];
    if (file == nullptr || mode == OpenMode::kCreateNew) {
        // The durable side is opened for writing whatever the caller wants: a later handle may.
        OpenMode durableMode = mode == OpenMode::kRead ? OpenMode::kWrite : mode;
        auto durable = real_.open(path, durableMode);
        StatusOr<uint64_t> bytes =
            durable.isOk() ? (*durable)->size() : StatusOr<uint64_t>(durable.status());
        if (!bytes.isOk()) {
            if (file == nullptr) {
                files_.erase(normal(path));
            }
            return bytes.status();
        }
        file = std::make_shared<VolatileFile>(std::move(*durable), *bytes, &faults_);
    }
    return std::unique_ptr<platform::File>(std::make_unique<VolatileHandle>(file));
}

StatusOr<std::vector<std::string>> SimFileSystem::list(const std::string& directory) {
    return real_.list(directory);
}

Status SimFileSystem::makeDirectory(const std::string& path) {
    return real_.makeDirectory(path);
}

Status SimFileSystem::rename(const std::string& from, const std::string& to) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    FRESHET_RETURN_IF_ERROR(real_.rename(from, to));
    files_.erase(normal(to));
    if (auto moved = files_.extract(normal(from))) {
        moved.key() = normal(to);
        files_.insert(std::move(moved));
    }
    return Status::ok();
}

Status SimFileSystem::remove(const std::string& path) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    FRESHET_RETURN_IF_ERROR(real_.remove(path));
    files_.erase(normal(path));
    return Status::ok();
}

Status SimFileSystem::syncDirectory(const std::string& path) {
    return real_.syncDirectory(path);
}

StatusOr<std::unique_ptr<platform::FileLock>> SimFileSystem::lock(const std::string& path) {
    return real_.lock(path);
}

}  // namespace freshet::testing
