// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/file/recycling.h"

#include "freshet/journal/file/block_format.h"

#include <algorithm>

namespace freshet::journal {
namespace {

constexpr const char* kSparePrefix = "spare.";
constexpr size_t kSparePrefixBytes = 6;
constexpr size_t kSpareDigitsMax = 18;

/// The number in a spare's name; empty when it is not one.
std::optional<uint64_t> spareNumber(const std::string& name) {
    if (name.compare(0, kSparePrefixBytes, kSparePrefix) != 0 || name.size() == kSparePrefixBytes ||
        name.size() > kSparePrefixBytes + kSpareDigitsMax ||
        name.find_first_not_of("0123456789", kSparePrefixBytes) != std::string::npos) {
        return std::nullopt;
    }
    return std::stoull(name.substr(kSparePrefixBytes));
}

}  // namespace

Status syncNames(platform::FileSystem& files, const std::string& directory) {
    Status synced = files.syncDirectory(directory);
    return synced.isOk() ? synced : Status(Code::kIo, synced.toString());
}

bool SparePool::hasRoom(uint64_t bytes, const std::vector<Spare>& others) const {
    uint64_t all = bytes_.load(sync::kRelaxed) + bytes;  // [spares.count]
    for (const Spare& other : others) {
        all += other.bytes;
    }
    return count_.load(sync::kRelaxed) + others.size() < kSparesMax && all <= bytesMax_;
}

void SparePool::give(Spare spare) {
    count_.fetch_add(1, sync::kRelaxed);  // [spares.count]
    bytes_.fetch_add(spare.bytes, sync::kRelaxed);
    given_.push(std::move(spare));
}

std::optional<Spare> SparePool::take() {
    for (Spare& spare : given_.takeAll()) {
        taken_.push_back(std::move(spare));
    }
    if (taken_.empty()) {
        return std::nullopt;
    }
    Spare spare = std::move(taken_.back());
    taken_.pop_back();
    count_.fetch_sub(1, sync::kRelaxed);  // [spares.count]
    bytes_.fetch_sub(spare.bytes, sync::kRelaxed);
    return spare;
}

void Recycler::finished(FinishedSegment segment) {
    keptBytes_.fetch_add(segment.bytes, sync::kRelaxed);  // [recycler.count]
    finished_.push(std::move(segment));
}

Status Recycler::findSpares() {
    FRESHET_ASSIGN_OR_RETURN(auto names, files_->list(directory_));
    for (const std::string& name : names) {
        std::optional<uint64_t> number = spareNumber(name);
        if (!number) {
            continue;
        }
        nextSpare_ = std::max(nextSpare_, *number + 1);
        std::string path = directory_ + "/" + name;
        FRESHET_ASSIGN_OR_RETURN(auto file, files_->open(path, platform::OpenMode::kWrite));
        FRESHET_ASSIGN_OR_RETURN(uint64_t bytes, file->size());
        if (bytes >= bytesMin_ && spares_.hasRoom(bytes)) {
            spares_.give({path, bytes / kBlockAlign * kBlockAlign});
        } else {
            FRESHET_RETURN_IF_ERROR(files_->remove(path));
        }
    }
    return Status::ok();
}

Status Recycler::spareOne(const std::string& path, uint64_t bytes) {
    std::vector<Spare> spares;
    FRESHET_RETURN_IF_ERROR(letGo(path, bytes, &spares));
    for (Spare& spare : spares) {
        spares_.give(std::move(spare));
    }
    return Status::ok();
}

bool Recycler::mayGo(const FinishedSegment& oldest, Lsn redoLsn, Lsn durableLsn) const {
    // durableLsn above its end means that the block that follows, which begins another segment, is
    // durable, so the next open finds a beginning of the log.
    return oldest.end <= redoLsn && oldest.end < durableLsn;
}

/// What is only kept for readers takes no more of the disk than it leaves free.
uint64_t Recycler::retainBytesNow() const {
    const platform::DiskSpace space =
        retainBytes_ == 0 ? platform::DiskSpace() : files_->spaceOf(directory_);
    return space.totalBytes == 0 ? retainBytes_ : std::min(retainBytes_, space.freeBytes);
}

bool Recycler::isRetained(const FinishedSegment& oldest, uint64_t bytesMax, uint64_t now) const {
    return keptBytes_.load(sync::kRelaxed) - oldest.bytes < bytesMax ||  // [recycler.count]
           (retainSeconds_ != 0 && (oldest.timestamp >> 32) + retainSeconds_ > now);
}

bool Recycler::pinsEndAt(const FinishedSegment& oldest, uint64_t now) const {
    return keptBytes_.load(sync::kRelaxed) > pinBytesMax_ ||  // [recycler.count]
           (pinSeconds_ != 0 && (oldest.timestamp >> 32) + pinSeconds_ <= now);
}

Status Recycler::letGo(const std::string& path, uint64_t bytes, std::vector<Spare>* spares) {
    if (bytes < bytesMin_ || !spares_.hasRoom(bytes, *spares)) {
        return files_->remove(path);
    }
    Spare spare{directory_ + "/" + kSparePrefix + std::to_string(nextSpare_++),
                bytes / kBlockAlign * kBlockAlign};
    FRESHET_RETURN_IF_ERROR(files_->rename(path, spare.path));
    spares->push_back(std::move(spare));
    return Status::ok();
}

Status Recycler::recycle(Lsn redoLsn, Lsn durableLsn, uint64_t now, bool isShort, uint64_t* gone) {
    for (FinishedSegment& segment : finished_.takeAll()) {
        kept_.push_back(std::move(segment));
    }
    std::vector<Spare> spares;
    Status status;
    uint64_t before = *gone;
    const uint64_t retained = retainBytesNow();
    while (status.isOk() && !kept_.empty() && mayGo(kept_.front(), redoLsn, durableLsn) &&
           (isShort || !isRetained(kept_.front(), retained, now)) &&
           pins_.letGo(kept_.front().end, isShort || pinsEndAt(kept_.front(), now))) {
        status = letGo(kept_.front().path, kept_.front().bytes, &spares);
        if (status.isOk()) {
            keptBytes_.fetch_sub(kept_.front().bytes, sync::kRelaxed);  // [recycler.count]
            recycled_.fetch_add(1, sync::kRelaxed);
            kept_.pop_front();
            ++*gone;
        }
    }
    if (*gone != before) {
        // Before the spares can be written to: blocks written under a new name must not be found
        // under the old one.
        FRESHET_RETURN_IF_ERROR(syncNames(*files_, directory_));
    }
    for (Spare& spare : spares) {
        spares_.give(std::move(spare));
    }
    return status;
}

}  // namespace freshet::journal
