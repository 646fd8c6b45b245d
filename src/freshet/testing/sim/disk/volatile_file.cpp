// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/sim/disk/volatile_file.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace freshet::testing {

Status VolatileFile::checkAlive() const {
    return durable_ != nullptr ? Status::ok() : Status(Code::kIo, "the simulated power is off");
}

/// The part of a block that is inside a file of `fileBytes` bytes.
ByteView VolatileFile::used(const std::string& block, uint64_t index, uint64_t fileBytes) {
    uint64_t start = index * kDiskBlockBytes;
    return start >= fileBytes ? ByteView() : ByteView(block).substr(0, fileBytes - start);
}

StatusOr<std::string> VolatileFile::blockAt(uint64_t index) {
    if (auto found = blocks_.find(index); found != blocks_.end()) {
        return found->second;
    }
    std::string block(kDiskBlockBytes, '\0');
    uint64_t start = index * kDiskBlockBytes;
    if (start < valid_) {
        size_t want = std::min(kDiskBlockBytes, valid_ - start);
        FRESHET_ASSIGN_OR_RETURN(size_t got, durable_->pread(block.data(), want, start));
        if (got != want) {
            return Status(Code::kIo, "the durable file is shorter than it was");
        }
    }
    return block;
}

StatusOr<size_t> VolatileFile::pread(char* out, size_t bytes, uint64_t offset) {
    FRESHET_RETURN_IF_ERROR(faults_->begin(DiskFaults::Op::kRead));
    std::lock_guard<sync::Mutex> lock(mutex_);
    FRESHET_RETURN_IF_ERROR(checkAlive());
    if (offset >= bytes_) {
        return size_t{0};
    }
    bytes = std::min<uint64_t>(bytes, bytes_ - offset);
    for (size_t done = 0; done < bytes;) {
        uint64_t at = offset + done;
        FRESHET_ASSIGN_OR_RETURN(std::string block, blockAt(at / kDiskBlockBytes));
        size_t n = std::min<uint64_t>(bytes - done, kDiskBlockBytes - at % kDiskBlockBytes);
        std::memcpy(out + done, block.data() + at % kDiskBlockBytes, n);
        done += n;
    }
    return bytes;
}

Status VolatileFile::writeVolatile(ByteView data, uint64_t offset) {
    for (size_t done = 0; done < data.size();) {
        uint64_t at = offset + done;
        uint64_t index = at / kDiskBlockBytes;
        if (!blocks_.contains(index)) {
            FRESHET_ASSIGN_OR_RETURN(blocks_[index], blockAt(index));
        }
        size_t n = std::min<uint64_t>(data.size() - done, kDiskBlockBytes - at % kDiskBlockBytes);
        std::memcpy(blocks_[index].data() + at % kDiskBlockBytes, data.data() + done, n);
        done += n;
    }
    if (!data.empty()) {
        bytes_ = std::max<uint64_t>(bytes_, offset + data.size());
    }
    return Status::ok();
}

Status VolatileFile::pwrite(ByteView data, uint64_t offset) {
    Status planned = faults_->begin(DiskFaults::Op::kWrite, data.size());
    std::lock_guard<sync::Mutex> lock(mutex_);
    FRESHET_RETURN_IF_ERROR(checkAlive());
    if (!planned.isOk()) {
        FRESHET_RETURN_IF_ERROR(writeVolatile(data.substr(0, data.size() / 2), offset));
        return planned;
    }
    FRESHET_RETURN_IF_ERROR(writeVolatile(data, offset));
    return leak_ != nullptr ? leakSome(offset, data.size()) : Status::ok();
}

Status VolatileFile::leakSome(uint64_t offset, size_t bytes) {
    const uint64_t first = offset / kSectorBytes * kSectorBytes;
    for (uint64_t at = first; bytes != 0 && at < offset + bytes; at += kSectorBytes) {
        // Above valid_ the durable file has old bytes, which a sync cuts off first.
        const uint64_t end = std::min(at + kSectorBytes, bytes_);
        if (end > valid_ || !leak_->next()) {
            continue;
        }
        const std::string& block = blocks_.at(at / kDiskBlockBytes);
        FRESHET_RETURN_IF_ERROR(
            durable_->pwrite(ByteView(block).substr(at % kDiskBlockBytes, end - at), at));
    }
    return Status::ok();
}

Status VolatileFile::writeOut() {
    FRESHET_ASSIGN_OR_RETURN(uint64_t durableBytes, durable_->size());
    if (valid_ < durableBytes) {
        FRESHET_RETURN_IF_ERROR(durable_->truncate(valid_));
    }
    for (const auto& [index, block] : blocks_) {
        FRESHET_RETURN_IF_ERROR(
            durable_->pwrite(used(block, index, bytes_), index * kDiskBlockBytes));
    }
    FRESHET_RETURN_IF_ERROR(durable_->truncate(bytes_));
    blocks_.clear();
    valid_ = bytes_;
    return Status::ok();
}

Status VolatileFile::sync() {
    FRESHET_RETURN_IF_ERROR(faults_->begin(DiskFaults::Op::kSync));
    std::lock_guard<sync::Mutex> lock(mutex_);
    FRESHET_RETURN_IF_ERROR(checkAlive());
    return writeOut();
}

StatusOr<uint64_t> VolatileFile::size() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    FRESHET_RETURN_IF_ERROR(checkAlive());
    return bytes_;
}

Status VolatileFile::truncate(uint64_t bytes) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    FRESHET_RETURN_IF_ERROR(checkAlive());
    if (bytes < bytes_) {
        blocks_.erase(blocks_.lower_bound((bytes + kDiskBlockBytes - 1) / kDiskBlockBytes),
                      blocks_.end());
        if (auto last = blocks_.find(bytes / kDiskBlockBytes); last != blocks_.end()) {
            // Bytes above the cut must read as zeros if the file grows again.
            std::fill(last->second.begin() + static_cast<ptrdiff_t>(bytes % kDiskBlockBytes),
                      last->second.end(),
                      '\0');
        }
        valid_ = std::min(valid_, bytes);
    }
    bytes_ = bytes;
    return Status::ok();
}

}  // namespace freshet::testing
