// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/file/segment.h"

#include "freshet/journal/file/block_format.h"
#include "freshet/platform/clock.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace freshet::journal {
namespace {

constexpr size_t kStepBytes = 1u << 20;
/// A spare smaller than this share of a new segment is not worth its renames.
constexpr uint64_t kSpareShareMin = 4;

}  // namespace

std::string segmentName(uint32_t index) {
    char name[16];
    std::snprintf(name, sizeof(name), "j.%08x", index);
    return name;
}

std::optional<uint32_t> segmentIndex(const std::string& name) {
    if (name.size() != 2 + kSegmentDigits || name.compare(0, 2, "j.") != 0 ||
        name.find_first_not_of("0123456789abcdef", 2) != std::string::npos) {
        return std::nullopt;
    }
    return static_cast<uint32_t>(std::stoul(name.substr(2), nullptr, 16));
}

StatusOr<std::unique_ptr<Segment>> SegmentMaker::step(Pace pace, uint64_t keepFreeBytes) {
    if (unfinished_ == nullptr) {
        while (std::optional<Spare> spare = spares_.take()) {
            if (spare->bytes < nextBytes_ / kSpareShareMin) {
                // The log has grown; small segments would only cost renames.
                FRESHET_RETURN_IF_ERROR(files_->remove(spare->path));
                continue;
            }
            auto made = reuse(*spare);
            if (!made.isOk() && made.status().code() == Code::kNoSpace) {
                spares_.give(std::move(*spare));
            }
            return made;
        }
    }
    auto result = zeroStep(pace, keepFreeBytes);
    if (!result.isOk()) {
        unfinished_.reset();
        // Frees the space; the next try overwrites a left-over anyway.
        static_cast<void>(files_->remove(directory_ + "/" + kUnfinishedName).isOk());
    }
    return result;
}

StatusOr<std::unique_ptr<Segment>> SegmentMaker::reuse(const Spare& spare) {
    FRESHET_ASSIGN_OR_RETURN(auto file, files_->open(spare.path, platform::OpenMode::kWrite));
    FRESHET_RETURN_IF_ERROR(file->pwrite(std::string(kBlockAlign, '\0'), 0));
    FRESHET_RETURN_IF_ERROR(file->sync());
    return publish(spare.path, std::move(file), spare.bytes);
}

Status SegmentMaker::beginUnfinished(const std::string& path, uint64_t keepFreeBytes) {
    if (keepFreeBytes != 0 && files_->spaceOf(directory_).freeBytes < nextBytes_ + keepFreeBytes) {
        return Status(Code::kNoSpace, "the rest of the disk is for the next checkpoint");
    }
    FRESHET_ASSIGN_OR_RETURN(unfinished_, files_->open(path, platform::OpenMode::kCreate));
    FRESHET_RETURN_IF_ERROR(unfinished_->truncate(0));
    zeroed_ = 0;
    // Making a segment begins when the log moves into the previous one.
    const uint64_t now = platform::monotonicNanos();
    growsFast_ =
        begunNanos_ != 0 && static_cast<double>(now - begunNanos_) * 1e-9 * zeroedPerSecondMax_ <
                                static_cast<double>(nextBytes_);
    begunNanos_ = now;
    return Status::ok();
}

Status SegmentMaker::zeroSome(Pace pace) {
    if (pace == Pace::kMissed || growsFast_) {
        const uint64_t from = std::exchange(zeroed_, nextBytes_);
        return unfinished_->allocate(from, nextBytes_ - from);
    }
    do {
        const size_t piece = std::min<uint64_t>(kStepBytes, nextBytes_ - zeroed_);
        FRESHET_RETURN_IF_ERROR(unfinished_->pwriteZeros(zeroed_, piece));
        zeroed_ += piece;
    } while (pace == Pace::kAtOnce && zeroed_ < nextBytes_);
    return Status::ok();
}

StatusOr<std::unique_ptr<Segment>> SegmentMaker::zeroStep(Pace pace, uint64_t keepFreeBytes) {
    const std::string path = directory_ + "/" + kUnfinishedName;
    if (unfinished_ == nullptr) {
        FRESHET_RETURN_IF_ERROR(beginUnfinished(path, keepFreeBytes));
    }
    FRESHET_RETURN_IF_ERROR(zeroSome(pace));
    FRESHET_RETURN_IF_ERROR(unfinished_->sync());
    if (zeroed_ < nextBytes_) {
        return std::unique_ptr<Segment>();
    }
    unfinished_->forget(0, nextBytes_);
    FRESHET_ASSIGN_OR_RETURN(auto segment, publish(path, std::move(unfinished_), nextBytes_));
    nextBytes_ = std::min(nextBytes_ * 2, bytesMax_);
    return segment;
}

StatusOr<std::unique_ptr<Segment>> SegmentMaker::publish(const std::string& from,
                                                         std::unique_ptr<platform::File> file,
                                                         uint64_t bytes) {
    auto segment = std::make_unique<Segment>();
    segment->path = directory_ + "/" + segmentName(nextIndex_);
    FRESHET_RETURN_IF_ERROR(files_->rename(from, segment->path));
    FRESHET_RETURN_IF_ERROR(syncNames(*files_, directory_));
    segment->file = std::move(file);
    takeDirectBlocks(*segment->file);
    segment->index = nextIndex_++;
    segment->bytes = bytes;
    return segment;
}

}  // namespace freshet::journal
