// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/spill/spill_file.h"

#include "freshet/base/checksum.h"

#include <algorithm>
#include <cstring>

namespace freshet::query {
namespace {

constexpr size_t kLengthsBytes = 8;
constexpr size_t kBlockBytesMin = 1u << 10;
constexpr size_t kBlockBytesMax = 256u << 10;
constexpr size_t kBlocksOfMemory = 32;  // a merge holds one block of each run

uint32_t lengthAt(const std::string& block, size_t at) {
    uint32_t length = 0;
    std::memcpy(&length, block.data() + at, sizeof(length));
    return length;
}

}  // namespace

StatusOr<SpillBlock> SpillFile::append(std::string_view bytes) {
    if (file_ == nullptr) {
        FRESHET_ASSIGN_OR_RETURN(file_, space_.openFile());
    }
    const SpillBlock block{end_, bytes.size(), crc32c(bytes.data(), bytes.size())};
    FRESHET_RETURN_IF_ERROR(file_->pwrite(bytes, end_));
    end_ += bytes.size();
    space_.count(SpillSpace::Total::kBytes, bytes.size());
    return block;
}

Status SpillFile::read(const SpillBlock& block, std::string* out) {
    out->resize(block.bytes);
    FRESHET_ASSIGN_OR_RETURN(const size_t got,
                             file_->pread(out->data(), block.bytes, block.offset));
    if (got != block.bytes || crc32c(out->data(), got) != block.checksum) {
        return Status(Code::kCorruption,
                      "a temporary file is damaged at offset " + std::to_string(block.offset));
    }
    return Status::ok();
}

Status SpillRun::append(std::string_view block) {
    FRESHET_ASSIGN_OR_RETURN(const SpillBlock written, file->append(block));
    blocks.push_back(written);
    bytes += written.bytes;
    largestBlock = std::max(largestBlock, written.bytes);
    return Status::ok();
}

void appendRecord(const SpillRecord& record, std::string* block) {
    const uint32_t lengths[] = {static_cast<uint32_t>(record.key.size()),
                                static_cast<uint32_t>(record.payload.size())};
    static_assert(sizeof(lengths) == kLengthsBytes);
    block->append(reinterpret_cast<const char*>(lengths), kLengthsBytes);
    block->append(record.key).append(record.payload);
}

size_t blockBytesFor(size_t bytesMax) {
    return std::clamp(bytesMax / kBlocksOfMemory, kBlockBytesMin, kBlockBytesMax);
}

Status RunWriter::add(const SpillRecord& record) {
    appendRecord(record, &block_);
    if (block_.size() < blockBytes_) {
        return Status::ok();
    }
    return finish();
}

Status RunWriter::finish() {
    if (block_.empty()) {
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(run_.append(block_));
    block_.clear();
    return Status::ok();
}

Status RunReader::fetch() {
    FRESHET_RETURN_IF_ERROR(run_.file->read(run_.blocks[nextBlock_], &block_));
    ++nextBlock_;
    at_ = 0;
    return Status::ok();
}

SpillRecord RunReader::record() const {
    const size_t keyBytes = lengthAt(block_, at_);
    const size_t payloadBytes = lengthAt(block_, at_ + sizeof(uint32_t));
    const std::string_view bytes = std::string_view(block_).substr(at_ + kLengthsBytes);
    return {bytes.substr(0, keyBytes), bytes.substr(keyBytes, payloadBytes)};
}

void RunReader::advance() {
    const SpillRecord now = record();
    at_ += kLengthsBytes + now.key.size() + now.payload.size();
}

RunMerge::RunMerge(std::vector<SpillRun> runs) {
    readers_.reserve(runs.size());
    for (SpillRun& run : runs) {
        readers_.emplace_back(std::move(run));
        offer(readers_.size() - 1);
    }
}

bool RunMerge::isAfter(size_t a, size_t b) const {
    const int order = readers_[a].record().key.compare(readers_[b].record().key);
    return order != 0 ? order > 0 : a > b;
}

void RunMerge::offer(size_t reader) {
    if (readers_[reader].hasRecord()) {
        heap_.push_back(reader);
        std::push_heap(
            heap_.begin(), heap_.end(), [this](size_t a, size_t b) { return isAfter(a, b); });
    } else if (readers_[reader].mustFetch()) {
        waiting_.push_back(reader);
    }
}

RunMerge::Step RunMerge::next(SpillRecord* record) {
    if (given_ != kNone) {
        readers_[given_].advance();
        offer(given_);
        given_ = kNone;
    }
    if (!waiting_.empty()) {
        return Step::kMustFetch;
    }
    if (heap_.empty()) {
        return Step::kEnd;
    }
    std::pop_heap(heap_.begin(), heap_.end(), [this](size_t a, size_t b) { return isAfter(a, b); });
    given_ = heap_.back();
    heap_.pop_back();
    *record = readers_[given_].record();
    return Step::kRecord;
}

Status RunMerge::fetch() {
    while (!waiting_.empty()) {
        FRESHET_RETURN_IF_ERROR(readers_[waiting_.back()].fetch());
        const size_t loaded = waiting_.back();
        waiting_.pop_back();
        offer(loaded);
    }
    return Status::ok();
}

}  // namespace freshet::query
