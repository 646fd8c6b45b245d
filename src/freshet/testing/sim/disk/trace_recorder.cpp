// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/sim/trace_recorder.h"

#include "freshet/testing/sim/disk/paths.h"

#include <mutex>

namespace freshet::testing {

using platform::OpenMode;
using Kind = TraceOp::Kind;

template <typename Call>
Status TraceRecorder::record(TraceOp op, Call&& call) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    Status status = call();
    if (status.isOk()) {
        trace_.push_back(std::move(op));
    }
    return status;
}

class RecordedFile final : public platform::File {
public:
    RecordedFile(std::unique_ptr<platform::File> below,
                 std::string path,
                 uint32_t number,
                 TraceRecorder& recorder)
        : below_(std::move(below)), path_(std::move(path)), number_(number), recorder_(recorder) {}

    StatusOr<size_t> pread(char* out, size_t bytes, uint64_t offset) override {
        return below_->pread(out, bytes, offset);
    }
    Status pwrite(ByteView data, uint64_t offset) override {
        return recorder_.record(op(Kind::kWrite, offset, std::string(data)),
                                [&] { return below_->pwrite(data, offset); });
    }
    Status sync() override {
        return recorder_.record(op(Kind::kSync, 0, ""), [&] { return below_->sync(); });
    }
    StatusOr<uint64_t> size() override { return below_->size(); }
    Status truncate(uint64_t bytes) override {
        return recorder_.record(op(Kind::kTruncate, bytes, ""),
                                [&] { return below_->truncate(bytes); });
    }
    void forget(uint64_t offset, uint64_t bytes) override { below_->forget(offset, bytes); }

private:
    TraceOp op(Kind kind, uint64_t offset, std::string data) const {
        return {.kind = kind,
                .path = path_,
                .file = number_,
                .offset = offset,
                .data = std::move(data)};
    }

    const std::unique_ptr<platform::File> below_;
    const std::string path_;
    const uint32_t number_;
    TraceRecorder& recorder_;
};

StatusOr<std::unique_ptr<platform::File>> TraceRecorder::open(const std::string& path,
                                                              OpenMode mode) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    FRESHET_ASSIGN_OR_RETURN(auto file, below_.open(path, mode));
    auto [known, made] = files_.try_emplace(normalPath(path), filesMade_ + 1);
    if (made) {
        ++filesMade_;
        trace_.push_back({.kind = Kind::kCreate, .path = known->first, .file = known->second});
    }
    return std::unique_ptr<platform::File>(
        std::make_unique<RecordedFile>(std::move(file), known->first, known->second, *this));
}

StatusOr<std::vector<std::string>> TraceRecorder::list(const std::string& directory) {
    return below_.list(directory);
}

Status TraceRecorder::makeDirectory(const std::string& path) {
    return record({.kind = Kind::kMakeDirectory, .path = normalPath(path)},
                  [&] { return below_.makeDirectory(path); });
}

Status TraceRecorder::rename(const std::string& from, const std::string& to) {
    return record({.kind = Kind::kRename, .path = normalPath(from), .to = normalPath(to)}, [&] {
        FRESHET_RETURN_IF_ERROR(below_.rename(from, to));
        files_[normalPath(to)] = files_[normalPath(from)];
        files_.erase(normalPath(from));
        return Status::ok();
    });
}

Status TraceRecorder::remove(const std::string& path) {
    return record({.kind = Kind::kRemove, .path = normalPath(path)}, [&] {
        FRESHET_RETURN_IF_ERROR(below_.remove(path));
        files_.erase(normalPath(path));
        return Status::ok();
    });
}

Status TraceRecorder::syncDirectory(const std::string& path) {
    return record({.kind = Kind::kSyncDirectory, .path = normalPath(path)},
                  [&] { return below_.syncDirectory(path); });
}

StatusOr<std::unique_ptr<platform::FileLock>> TraceRecorder::lock(const std::string& path) {
    return below_.lock(path);
}

size_t TraceRecorder::position() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return trace_.size();
}

Trace TraceRecorder::trace() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return trace_;
}

}  // namespace freshet::testing
