// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/sim/sim_file_system.h"

#include "freshet/platform/thread.h"
#include "freshet/testing/sim/disk/paths.h"
#include "freshet/testing/sim/disk/volatile_file.h"
#include "freshet/testing/sim/passing_file_system.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>

namespace freshet::testing {
namespace {

/// Files that have no real name yet.
constexpr const char* kHiddenPrefix = ".unsynced.";

std::string normal(const std::string& path) {
    std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
    return (normal.has_filename() ? normal : normal.parent_path()).string();
}

std::string folderOf(const std::string& path) {
    std::string parent = std::filesystem::path(path).parent_path().string();
    return parent.empty() ? "." : parent;
}

std::string nameOf(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

bool isHidden(const std::string& name) {
    return name.compare(0, std::char_traits<char>::length(kHiddenPrefix), kHiddenPrefix) == 0;
}

/// For this process.
std::string hiddenPrefix() {
    return kHiddenPrefix + std::to_string(platform::processId()) + ".";
}

}  // namespace

using platform::OpenMode;

SimFileSystem::~SimFileSystem() = default;

void SimFileSystem::leak(double chance, uint64_t seed) {
    leak_.set(chance, seed);
}

std::string SimFileSystem::realPath(const std::string& path) const {
    auto found = elsewhere_.find(path);
    return found == elsewhere_.end() ? path : found->second;
}

StatusOr<std::unique_ptr<platform::File>> SimFileSystem::open(const std::string& path,
                                                              OpenMode mode) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    std::string name = normal(path);
    auto known = files_.find(name);
    if (known == files_.end()) {
        std::string real = realPath(name);
        // Opened for writing whatever the caller wants: a later handle may need it.
        auto durable = real.empty() ? StatusOr<std::unique_ptr<platform::File>>(missing(path))
                                    : real_.open(real, OpenMode::kWrite);
        bool create = mode == OpenMode::kCreate || mode == OpenMode::kCreateNew;
        if (!durable.isOk() && durable.status().code() == Code::kNotFound && create) {
            real = folderOf(name) + "/" + hiddenPrefix() + std::to_string(hiddenMade_++);
            durable = real_.open(real, OpenMode::kCreateNew);
            if (durable.isOk()) {
                FRESHET_RETURN_IF_ERROR(change(real, name));
            }
        } else if (durable.isOk() && mode == OpenMode::kCreateNew) {
            return Status(Code::kExists, path + ": file exists");
        }
        if (!durable.isOk()) {
            return durable.status();
        }
        FRESHET_ASSIGN_OR_RETURN(uint64_t bytes, (*durable)->size());
        known = files_
                    .emplace(name,
                             std::make_shared<VolatileFile>(
                                 std::move(*durable), bytes, &faults_, &leak_))
                    .first;
    } else if (mode == OpenMode::kCreateNew) {
        return Status(Code::kExists, path + ": file exists");
    }
    return std::unique_ptr<platform::File>(std::make_unique<PassingFile>(known->second));
}

StatusOr<std::vector<std::string>> SimFileSystem::list(const std::string& directory) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    FRESHET_ASSIGN_OR_RETURN(auto names, real_.list(directory));
    std::set<std::string> seen;
    for (const std::string& name : names) {
        if (!isHidden(name)) {
            seen.insert(name);
        } else if (name.compare(0, hiddenPrefix().size(), hiddenPrefix()) != 0) {
            // Left by a killed process: the file was never created.
            FRESHET_RETURN_IF_ERROR(real_.remove(directory + "/" + name));
        }
    }
    for (const auto& [path, real] : elsewhere_) {
        if (folderOf(path) == normal(directory)) {
            real.empty() ? static_cast<void>(seen.erase(nameOf(path)))
                         : static_cast<void>(seen.insert(nameOf(path)));
        }
    }
    return std::vector<std::string>(seen.begin(), seen.end());
}

Status SimFileSystem::makeDirectory(const std::string& path) {
    return real_.makeDirectory(path);
}

/// `from` is the file's real name, whatever it is called here.
Status SimFileSystem::change(const std::string& from, const std::string& to) {
    unsynced_.push_back({from, to});
    if (!to.empty()) {
        elsewhere_[to] = from;
    }
    return leak_.next() ? makeReal(folderOf(from)) : Status::ok();
}

Status SimFileSystem::rename(const std::string& from, const std::string& to) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    std::string real = realPath(normal(from));
    if (real.empty() ||
        (!files_.contains(normal(from)) && !real_.open(real, OpenMode::kRead).isOk())) {
        return missing(from);
    }
    files_.erase(normal(to));
    if (auto moved = files_.extract(normal(from))) {
        moved.key() = normal(to);
        files_.insert(std::move(moved));
    }
    elsewhere_[normal(from)] = "";
    return change(real, normal(to));
}

Status SimFileSystem::remove(const std::string& path) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    std::string real = realPath(normal(path));
    if (real.empty() ||
        (!files_.contains(normal(path)) && !real_.open(real, OpenMode::kRead).isOk())) {
        return missing(path);
    }
    files_.erase(normal(path));
    elsewhere_[normal(path)] = "";
    return change(real, "");
}

/// Applies all changes of the directory, in their order. A file may have been renamed more than
/// once.
Status SimFileSystem::makeReal(const std::string& directory) {
    std::map<std::string, std::string> moved;  // the new names of renamed files
    for (const NameChange& change : std::exchange(unsynced_, {})) {
        if (folderOf(change.from) != directory) {
            unsynced_.push_back(change);
            continue;
        }
        std::string from = moved.contains(change.from) ? moved[change.from] : change.from;
        if (change.to.empty()) {
            FRESHET_RETURN_IF_ERROR(real_.remove(from));
            continue;
        }
        FRESHET_RETURN_IF_ERROR(real_.rename(from, change.to));
        moved[change.from] = change.to;
    }
    std::erase_if(elsewhere_,
                  [&](const auto& entry) { return folderOf(entry.first) == directory; });
    return Status::ok();
}

Status SimFileSystem::syncDirectory(const std::string& path) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    FRESHET_RETURN_IF_ERROR(makeReal(normal(path)));
    return real_.syncDirectory(path);
}

StatusOr<std::unique_ptr<platform::FileLock>> SimFileSystem::lock(const std::string& path) {
    return real_.lock(path);
}

}  // namespace freshet::testing
