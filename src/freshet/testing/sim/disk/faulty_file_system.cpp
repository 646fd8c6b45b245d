// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/sim/faulty_file_system.h"

#include "freshet/testing/sim/disk/volatile_file.h"

#include <algorithm>

namespace freshet::testing {
namespace {

class FaultyFile final : public platform::File {
public:
    FaultyFile(std::unique_ptr<platform::File> below,
               std::shared_ptr<const FileName> name,
               FaultPlan& plan)
        : below_(std::move(below)), name_(std::move(name)), plan_(plan) {}

    StatusOr<size_t> pread(char* out, size_t bytes, uint64_t offset) override {
        auto fault = meet(FileOp::kRead, offset, bytes);
        if (fault && fault->kind != FaultKind::kFlipOnRead) {
            return fault->error;
        }
        FRESHET_ASSIGN_OR_RETURN(size_t got, below_->pread(out, bytes, offset));
        if (fault && got != 0) {
            flipBit(out, got, fault->random);
        }
        return got;
    }

    Status pwrite(ByteView data, uint64_t offset) override {
        auto fault = meet(FileOp::kWrite, offset, data.size());
        return fault ? writeWith(*fault, data, offset) : below_->pwrite(data, offset);
    }

    Status sync() override {
        auto fault = meet(FileOp::kSync);
        return !fault                                 ? below_->sync()
               : fault->kind == FaultKind::kLyingSync ? Status::ok()
                                                      : fault->error;
    }

    StatusOr<uint64_t> size() override { return below_->size(); }

    Status truncate(uint64_t bytes) override {
        auto fault = meet(FileOp::kTruncate, bytes);
        return fault ? fault->error : below_->truncate(bytes);
    }

    void forget(uint64_t offset, uint64_t bytes) override { below_->forget(offset, bytes); }

private:
    std::optional<FaultPlan::Fault> meet(FileOp op, uint64_t offset = 0, uint64_t bytes = 0) {
        bool grows = false;
        if (op == FileOp::kWrite) {
            auto size = below_->size();
            grows = size.isOk() && offset + bytes > *size;
        }
        return plan_.meet({op, name_->path(), "", offset, bytes, grows});
    }

    static void flipBit(char* bytes, size_t size, uint64_t random) {
        bytes[(random >> 3) % size] ^= static_cast<char>(1u << (random & 7));
    }

    Status writeWith(const FaultPlan::Fault& fault, ByteView data, uint64_t offset) {
        size_t part = data.empty() ? 0 : fault.random % data.size();
        switch (fault.kind) {
            case FaultKind::kShortWrite:
                FRESHET_RETURN_IF_ERROR(below_->pwrite(data.substr(0, part), offset));
                return fault.error;
            case FaultKind::kLateError:
                FRESHET_RETURN_IF_ERROR(below_->pwrite(data, offset));
                return fault.error;
            case FaultKind::kSplitWrite:
                FRESHET_RETURN_IF_ERROR(below_->pwrite(data.substr(0, part), offset));
                return below_->pwrite(data.substr(part), offset + part);
            case FaultKind::kTornWrite:
                return writeSomeSectors(data, offset, fault.random);
            case FaultKind::kDroppedWrite:
                return Status::ok();
            case FaultKind::kMisdirectedWrite:
                return below_->pwrite(data, elsewhere(offset, fault.random));
            case FaultKind::kFlipAtRest: {
                std::string wrong(data);
                if (!wrong.empty()) {
                    flipBit(wrong.data(), wrong.size(), fault.random);
                }
                return below_->pwrite(wrong, offset);
            }
            default:
                return fault.error;
        }
    }

    /// Writes each sector with even odds.
    Status writeSomeSectors(ByteView data, uint64_t offset, uint64_t seed) {
        std::mt19937_64 random(seed);
        for (uint64_t at = 0; at < data.size();) {
            uint64_t n = std::min(data.size() - at, kSectorBytes - (offset + at) % kSectorBytes);
            if ((random() & 1) != 0) {
                FRESHET_RETURN_IF_ERROR(below_->pwrite(data.substr(at, n), offset + at));
            }
            at += n;
        }
        return Status::ok();
    }

    /// Another offset of the same alignment, in the file or right behind it.
    uint64_t elsewhere(uint64_t offset, uint64_t random) {
        auto size = below_->size();
        uint64_t blocks = (size.isOk() ? *size : 0) / kDiskBlockBytes + 1;
        uint64_t other = random % blocks * kDiskBlockBytes + offset % kDiskBlockBytes;
        return other != offset ? other : offset + kDiskBlockBytes;
    }

    const std::unique_ptr<platform::File> below_;
    const std::shared_ptr<const FileName> name_;
    FaultPlan& plan_;
};

}  // namespace

Status FaultyFileSystem::failing(FileOp op, const std::string& path, const std::string& path2) {
    auto fault = plan_.meet({op, path, path2});
    return fault ? fault->error : Status::ok();
}

StatusOr<std::unique_ptr<platform::File>> FaultyFileSystem::open(const std::string& path,
                                                                 platform::OpenMode mode) {
    FRESHET_RETURN_IF_ERROR(failing(FileOp::kOpen, path));
    FRESHET_ASSIGN_OR_RETURN(auto file, below_.open(path, mode));
    return std::unique_ptr<platform::File>(
        std::make_unique<FaultyFile>(std::move(file), nameOf(path), plan_));
}

std::shared_ptr<FileName> FaultyFileSystem::nameOf(const std::string& path) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    auto& name = names_[path];
    if (name == nullptr) {
        name = std::make_shared<FileName>(path);
    }
    return name;
}

StatusOr<std::vector<std::string>> FaultyFileSystem::list(const std::string& directory) {
    return below_.list(directory);
}

Status FaultyFileSystem::makeDirectory(const std::string& path) {
    return below_.makeDirectory(path);
}

Status FaultyFileSystem::rename(const std::string& from, const std::string& to) {
    FRESHET_RETURN_IF_ERROR(failing(FileOp::kRename, from, to));
    FRESHET_RETURN_IF_ERROR(below_.rename(from, to));
    std::lock_guard<sync::Mutex> lock(mutex_);
    names_.erase(to);
    if (auto moved = names_.extract(from)) {
        moved.mapped()->set(to);
        moved.key() = to;
        names_.insert(std::move(moved));
    }
    return Status::ok();
}

Status FaultyFileSystem::remove(const std::string& path) {
    FRESHET_RETURN_IF_ERROR(failing(FileOp::kRemove, path));
    FRESHET_RETURN_IF_ERROR(below_.remove(path));
    std::lock_guard<sync::Mutex> lock(mutex_);
    names_.erase(path);
    return Status::ok();
}

Status FaultyFileSystem::syncDirectory(const std::string& path) {
    auto fault = plan_.meet({FileOp::kSyncDirectory, path, ""});
    return !fault                                 ? below_.syncDirectory(path)
           : fault->kind == FaultKind::kLyingSync ? Status::ok()
                                                  : fault->error;
}

StatusOr<std::unique_ptr<platform::FileLock>> FaultyFileSystem::lock(const std::string& path) {
    return below_.lock(path);
}

}  // namespace freshet::testing
