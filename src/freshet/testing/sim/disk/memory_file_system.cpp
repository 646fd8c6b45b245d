// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/sim/memory_file_system.h"

#include "freshet/base/assert.h"
#include "freshet/platform/thread.h"
#include "freshet/testing/sim/disk/paths.h"
#include "freshet/testing/sim/disk/volatile_file.h"
#include "freshet/testing/sim/passing_file_system.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <random>

namespace freshet::testing {
namespace {

using platform::OpenMode;

/// The durable bytes, in memory. Guarded by the VolatileFile in front of it.
class Platter final : public platform::File {
public:
    explicit Platter(std::string data = {}) : data_(std::move(data)) {}
    StatusOr<size_t> pread(char* out, size_t bytes, uint64_t offset) override {
        if (offset >= data_.size()) {
            return size_t{0};
        }
        bytes = std::min<uint64_t>(bytes, data_.size() - offset);
        std::memcpy(out, data_.data() + offset, bytes);
        return bytes;
    }
    Status pwrite(ByteView data, uint64_t offset) override {
        if (data_.size() < offset + data.size()) {
            data_.resize(offset + data.size());
        }
        std::memcpy(data_.data() + offset, data.data(), data.size());
        return Status::ok();
    }
    Status sync() override { return Status::ok(); }
    StatusOr<uint64_t> size() override { return uint64_t{data_.size()}; }
    Status truncate(uint64_t bytes) override {
        data_.resize(bytes);
        return Status::ok();
    }
    void forget(uint64_t, uint64_t) override {}

private:
    std::string data_;
};

}  // namespace

struct MemoryFileSystem::Locks {
    sync::Mutex mutex;
    std::set<std::string> held;  // guarded by mutex
};

class MemoryFileSystem::Lock final : public platform::FileLock {
public:
    Lock(std::shared_ptr<Locks> locks, std::string path)
        : locks_(std::move(locks)), path_(std::move(path)) {}
    ~Lock() override {
        std::lock_guard<sync::Mutex> guard(locks_->mutex);
        locks_->held.erase(path_);
    }

private:
    const std::shared_ptr<Locks> locks_;
    const std::string path_;
};

MemoryFileSystem::MemoryFileSystem() : directories_{"/"}, locks_(std::make_shared<Locks>()) {}
MemoryFileSystem::~MemoryFileSystem() = default;

bool MemoryFileSystem::isDirectory(const std::string& path) const {
    return directories_.contains(path);
}

StatusOr<std::unique_ptr<platform::File>> MemoryFileSystem::open(const std::string& path,
                                                                 OpenMode mode) {
    std::lock_guard<sync::Mutex> guard(mutex_);
    std::string name = normalPath(path);
    auto found = files_.find(name);
    if (found != files_.end() && mode == OpenMode::kCreateNew) {
        return Status(Code::kExists, path + ": file exists");
    }
    if (found == files_.end()) {
        if (mode == OpenMode::kRead || mode == OpenMode::kWrite || !isDirectory(parentOf(name))) {
            return missing(path);
        }
        auto file = std::make_shared<VolatileFile>(std::make_unique<Platter>(), 0, &faults_);
        change({.from = "", .to = name, .made = std::move(file)});
        found = files_.find(name);
    }
    return std::unique_ptr<platform::File>(std::make_unique<PassingFile>(found->second));
}

StatusOr<std::vector<std::string>> MemoryFileSystem::list(const std::string& directory) {
    std::lock_guard<sync::Mutex> guard(mutex_);
    std::string parent = normalPath(directory);
    if (!isDirectory(parent)) {
        return missing(directory);
    }
    std::vector<std::string> names;
    auto take = [&](const std::string& path) {
        if (path != "/" && parentOf(path) == parent) {
            names.push_back(std::filesystem::path(path).filename().string());
        }
    };
    for (const auto& [path, file] : files_) {
        take(path);
    }
    std::for_each(directories_.begin(), directories_.end(), take);
    std::sort(names.begin(), names.end());
    return names;
}

Status MemoryFileSystem::makeDirectory(const std::string& path) {
    std::lock_guard<sync::Mutex> guard(mutex_);
    for (std::string name = normalPath(path); name != "/"; name = parentOf(name)) {
        directories_.insert(name);
    }
    return Status::ok();
}

Status MemoryFileSystem::rename(const std::string& from, const std::string& to) {
    std::lock_guard<sync::Mutex> guard(mutex_);
    if (!files_.contains(normalPath(from))) {
        return missing(from);
    }
    change({.from = normalPath(from), .to = normalPath(to), .made = nullptr});
    return Status::ok();
}

Status MemoryFileSystem::remove(const std::string& path) {
    std::lock_guard<sync::Mutex> guard(mutex_);
    if (!files_.contains(normalPath(path))) {
        return missing(path);
    }
    change({.from = normalPath(path), .to = "", .made = nullptr});
    return Status::ok();
}

Status MemoryFileSystem::syncDirectory(const std::string& path) {
    std::lock_guard<sync::Mutex> guard(mutex_);
    std::string directory = normalPath(path);
    if (!isDirectory(directory)) {
        return missing(path);
    }
    std::erase_if(unsynced_, [&](const NameChange& change) {
        if (parentOf(change.to.empty() ? change.from : change.to) != directory) {
            return false;
        }
        apply(change, &durable_);
        return true;
    });
    return Status::ok();
}

StatusOr<std::unique_ptr<platform::FileLock>> MemoryFileSystem::lock(const std::string& path) {
    FRESHET_ASSIGN_OR_RETURN(auto file, open(path, OpenMode::kCreate));
    std::shared_ptr<Locks> locks;
    {
        std::lock_guard<sync::Mutex> guard(mutex_);
        locks = locks_;
    }
    std::lock_guard<sync::Mutex> guard(locks->mutex);
    std::string id = std::to_string(platform::processId());
    if (!locks->held.insert(normalPath(path)).second) {
        return Status(Code::kUnavailable, path + " is held by process " + id);
    }
    return std::unique_ptr<platform::FileLock>(std::make_unique<Lock>(locks, normalPath(path)));
}

void MemoryFileSystem::apply(const NameChange& change, Names* names) {
    std::shared_ptr<VolatileFile> file = change.made;
    if (!change.from.empty()) {
        auto found = names->extract(change.from);
        if (!found) {
            return;  // a crash has kept only a later change
        }
        file = found.mapped();
    }
    if (!change.to.empty()) {
        names->insert_or_assign(change.to, std::move(file));
    }
}

void MemoryFileSystem::change(NameChange change) {
    apply(change, &files_);
    unsynced_.push_back(std::move(change));
}

void MemoryFileSystem::put(const std::string& path, std::string bytes) {
    std::lock_guard<sync::Mutex> guard(mutex_);
    for (std::string name = parentOf(normalPath(path)); name != "/"; name = parentOf(name)) {
        directories_.insert(name);
    }
    uint64_t size = bytes.size();
    auto file =
        std::make_shared<VolatileFile>(std::make_unique<Platter>(std::move(bytes)), size, &faults_);
    files_.insert_or_assign(normalPath(path), file);
    durable_.insert_or_assign(normalPath(path), std::move(file));
}

void MemoryFileSystem::damage(const std::string& path, uint64_t offset) {
    auto file = open(path, platform::OpenMode::kWrite);
    invariant(file.isOk());
    char byte = 0;
    auto bytes = (*file)->pread(&byte, 1, offset);
    invariant(bytes.isOk() && *bytes == 1);
    byte = static_cast<char>(~byte);
    invariant((*file)->pwrite(ByteView(&byte, 1), offset).isOk());
    invariant((*file)->sync().isOk());
}

template <typename KeepBytes, typename KeepName>
void MemoryFileSystem::crashWith(KeepBytes&& keepBytes, KeepName&& keepName) {
    std::lock_guard<sync::Mutex> guard(mutex_);
    for (const NameChange& change : unsynced_) {
        if (keepName()) {
            apply(change, &durable_);
        }
    }
    unsynced_.clear();
    Names lost = std::exchange(files_, {});
    for (auto& [path, file] : durable_) {
        std::unique_ptr<platform::File> platter = file->crash(keepBytes);
        uint64_t bytes = *platter->size();
        file = std::make_shared<VolatileFile>(std::move(platter), bytes, &faults_);
    }
    for (auto& [path, file] : lost) {
        file->crash([](uint64_t) { return false; });  // handles of files without a name
    }
    files_ = durable_;
    locks_ = std::make_shared<Locks>();
}

void MemoryFileSystem::crash() {
    crashWith([](uint64_t) { return false; }, [] { return false; });
}

void MemoryFileSystem::crashKeepingSome(uint64_t seed, uint64_t granularity) {
    std::mt19937_64 random(seed);
    const uint64_t sectors = granularity / kSectorBytes;
    bool kept = false;
    crashWith(
        [&](uint64_t sector) {
            if (sector % sectors == 0) {
                kept = (random() & 1) != 0;
            }
            return kept;
        },
        [&] { return (random() & 1) != 0; });
}

}  // namespace freshet::testing
