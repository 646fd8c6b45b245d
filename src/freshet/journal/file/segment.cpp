// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/file/segment.h"

#include <algorithm>
#include <cstdio>

namespace freshet::journal {
namespace {

constexpr size_t kStepBytes = 1u << 20;
constexpr size_t kNameDigits = 8;

}  // namespace

std::string segmentName(uint32_t index) {
    char name[16];
    std::snprintf(name, sizeof(name), "j.%08x", index);
    return name;
}

std::optional<uint32_t> segmentIndex(const std::string& name) {
    if (name.size() != 2 + kNameDigits || name.compare(0, 2, "j.") != 0 ||
        name.find_first_not_of("0123456789abcdef", 2) != std::string::npos) {
        return std::nullopt;
    }
    return static_cast<uint32_t>(std::stoul(name.substr(2), nullptr, 16));
}

StatusOr<std::unique_ptr<Segment>> SegmentMaker::step() {
    auto result = tryStep();
    if (!result.isOk()) {
        unfinished_.reset();
        // Gives the space back; a left-over is overwritten by the next try anyhow.
        static_cast<void>(files_->remove(directory_ + "/" + kUnfinishedName).isOk());
    }
    return result;
}

StatusOr<std::unique_ptr<Segment>> SegmentMaker::makeNow() {
    for (;;) {
        FRESHET_ASSIGN_OR_RETURN(auto segment, step());
        if (segment != nullptr) {
            return segment;
        }
    }
}

StatusOr<std::unique_ptr<Segment>> SegmentMaker::tryStep() {
    if (unfinished_ == nullptr) {
        FRESHET_ASSIGN_OR_RETURN(
            unfinished_,
            files_->open(directory_ + "/" + kUnfinishedName, platform::OpenMode::kCreate));
        FRESHET_RETURN_IF_ERROR(unfinished_->truncate(0));
        zeroed_ = 0;
    }
    static const std::string zeros(kStepBytes, '\0');
    size_t piece = std::min<uint64_t>(kStepBytes, nextBytes_ - zeroed_);
    FRESHET_RETURN_IF_ERROR(unfinished_->pwrite(ByteView(zeros).substr(0, piece), zeroed_));
    FRESHET_RETURN_IF_ERROR(unfinished_->sync());
    zeroed_ += piece;
    return zeroed_ < nextBytes_ ? std::unique_ptr<Segment>() : publish();
}

StatusOr<std::unique_ptr<Segment>> SegmentMaker::publish() {
    unfinished_->forget(0, nextBytes_);
    auto segment = std::make_unique<Segment>();
    segment->path = directory_ + "/" + segmentName(nextIndex_);
    FRESHET_RETURN_IF_ERROR(files_->rename(directory_ + "/" + kUnfinishedName, segment->path));
    FRESHET_RETURN_IF_ERROR(files_->syncDirectory(directory_));
    segment->file = std::move(unfinished_);
    segment->index = nextIndex_++;
    segment->bytes = nextBytes_;
    nextBytes_ = std::min(nextBytes_ * 2, bytesMax_);
    return segment;
}

}  // namespace freshet::journal
