// SPDX-License-Identifier: Apache-2.0
/// PassingFileSystem, PassingFile: pass every call on to another one, for tests that observe some
/// calls or refuse them, and override those. File::forget() is not passed on.
#pragma once

#include "freshet/platform/file.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace freshet::testing {

class PassingFile : public platform::File {
public:
    explicit PassingFile(std::shared_ptr<platform::File> file) : file_(std::move(file)) {}
    StatusOr<size_t> pread(char* out, size_t bytes, uint64_t offset) override {
        return file_->pread(out, bytes, offset);
    }
    Status pwrite(ByteView data, uint64_t offset) override { return file_->pwrite(data, offset); }
    Status sync() override { return file_->sync(); }
    StatusOr<uint64_t> size() override { return file_->size(); }
    Status truncate(uint64_t bytes) override { return file_->truncate(bytes); }
    void forget(uint64_t, uint64_t) override {}

private:
    const std::shared_ptr<platform::File> file_;
};

class PassingFileSystem : public platform::FileSystem {
public:
    /// `disk` must outlive it.
    explicit PassingFileSystem(platform::FileSystem& disk) : disk_(disk) {}
    StatusOr<std::unique_ptr<platform::File>> open(const std::string& path,
                                                   platform::OpenMode mode) override {
        return disk_.open(path, mode);
    }
    StatusOr<std::vector<std::string>> list(const std::string& directory) override {
        return disk_.list(directory);
    }
    Status makeDirectory(const std::string& path) override { return disk_.makeDirectory(path); }
    Status rename(const std::string& from, const std::string& to) override {
        return disk_.rename(from, to);
    }
    Status remove(const std::string& path) override { return disk_.remove(path); }
    Status syncDirectory(const std::string& path) override { return disk_.syncDirectory(path); }
    StatusOr<std::unique_ptr<platform::FileLock>> lock(const std::string& path) override {
        return disk_.lock(path);
    }

private:
    platform::FileSystem& disk_;
};

}  // namespace freshet::testing
