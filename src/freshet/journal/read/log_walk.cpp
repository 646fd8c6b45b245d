// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/read/log_walk.h"

#include "freshet/journal/file/framing.h"
#include "freshet/journal/file/segment.h"

#include <optional>
#include <utility>

namespace freshet::journal {
namespace {

// Of one step:
constexpr uint64_t kReadBytes = 256 * 1024;
constexpr int kReadBlocks = 256;
constexpr int kHeaders = 256;

constexpr uint64_t kRecentBytesMax = 2u << 20;
constexpr size_t kFilesMax = 16;

Status historyLost(const std::string& why) {
    return Status(Code::kNotFound, "the journal's history is lost: " + why);
}

}  // namespace

LogWalk::LogWalk(const Options& options, const PinSet& pins)
    : options_(options), pins_(pins), finder_(uuidLow(options)) {}

StatusOr<bool> LogWalk::run(ReadStep& step, Lsn durable) {
    if (files_.size() > kFilesMax) {
        files_.clear();
    }
    if (step.what == ReadStep::What::kRead) {
        return read(step, durable);
    }
    return step.isInSegment ? find(step, durable) : locate(step, durable);
}

void LogWalk::forget() {
    recent_.clear();
    recentBytes_ = 0;
}

StatusOr<SegmentRef> LogWalk::segment(uint32_t index) {
    SegmentFile& known = files_[index];
    if (known.file == nullptr) {
        known.path = options_.directory + "/" + segmentName(index);
        auto file = options_.files->open(known.path, platform::OpenMode::kRead);
        if (file.isOk()) {
            known.file = std::move(*file);
        } else if (file.status().code() != Code::kNotFound) {
            return file.status();
        }
    }
    return SegmentRef{known.file.get(), known.path};
}

StatusOr<const BlockHeader*> LogWalk::firstHeader(uint32_t index, Lsn durable) {
    if (auto known = firsts_.find(index); known != firsts_.end()) {
        return &known->second;
    }
    FRESHET_ASSIGN_OR_RETURN(const SegmentRef ref, segment(index));
    if (!ref.exists()) {
        return nullptr;
    }
    FRESHET_ASSIGN_OR_RETURN(const bool ours, finder_.readHeaderAt(ref, 0));
    // Blank, or being written; or damaged, which the chain shows if it matters.
    if (!ours || slotStart(finder_.header().slotNo + 1) > durable) {
        return nullptr;
    }
    return &firsts_.insert({index, finder_.header()}).first->second;
}

StatusOr<bool> LogWalk::locate(ReadStep& step, Lsn durable) {
    const bool isByTime = step.what == ReadStep::What::kFindTime;
    const Lsn recycledTo = pins_.recycledTo();
    FRESHET_ASSIGN_OR_RETURN(const auto names, options_.files->list(options_.directory));
    std::optional<uint32_t> chosen;
    bool reachesBack = false;
    for (auto name = names.rbegin(); name != names.rend() && !reachesBack; ++name) {
        const std::optional<uint32_t> index = segmentIndex(*name);
        if (!index) {
            continue;
        }
        FRESHET_ASSIGN_OR_RETURN(const BlockHeader* first, firstHeader(*index, durable));
        if (first != nullptr) {
            chosen = index;
            const uint64_t begin = isByTime ? first->timeBase : historyBegins(*first);
            reachesBack = begin <= step.target || historyBegins(*first) == 0;
        }
    }
    if (pins_.recycledTo() != recycledTo) {
        // A file may have been read under a name that it had no longer.
        firsts_.clear();
        files_.clear();
        return false;
    }
    if (!chosen) {
        return Status(Code::kCorruption,
                      "journal: no segment in " + options_.directory + " begins with a block");
    }
    const bool fromOldest = !isByTime && step.target == 0;
    if (!reachesBack && !fromOldest) {
        return historyLost("it begins at " + std::to_string(historyBegins(firsts_[*chosen])));
    }
    firsts_.erase(firsts_.begin(), firsts_.lower_bound(*chosen));  // recycled ones among them
    const BlockHeader& first = firsts_[*chosen];
    step.place = {{first.prevSlotNo, first.prevBlockCrc, 0}, *chosen, 0};
    step.isInSegment = true;
    return false;
}

StatusOr<bool> LogWalk::find(ReadStep& step, Lsn durable) {
    for (int i = 0; i < kHeaders; ++i) {
        if (step.place.end() >= durable) {
            step.what = ReadStep::What::kRead;
            return true;
        }
        ChainPlace behind = step.place;
        FRESHET_RETURN_IF_ERROR(advance(&behind, BlockFinder::Depth::kHeader));
        const BlockHeader& header = finder_.header();
        const bool isReached = step.what == ReadStep::What::kFindTime
                                   ? header.timeBase + header.fill / kUnitBytes > step.target
                                   : behind.end() > step.target;
        if (isReached) {
            step.what = ReadStep::What::kRead;
            return false;
        }
        step.place = behind;
    }
    return false;
}

StatusOr<bool> LogWalk::read(ReadStep& step, Lsn durable) {
    uint64_t bytes = 0;
    for (int i = 0; i < kReadBlocks && bytes < kReadBytes && step.place.end() < durable; ++i) {
        LogBlockRef block = recent(step.place.last);
        if (block == nullptr) {
            Status status = advance(&step.place, BlockFinder::Depth::kWhole);
            if (!status.isOk()) {
                // What is in front of it can be returned; the next task meets it again.
                return step.blocks.empty() ? StatusOr<bool>(status) : StatusOr<bool>(true);
            }
            auto read = std::make_shared<LogBlock>();
            read->header = finder_.header();
            read->bytes = finder_.takeBlock();
            read->segment = step.place.segment;
            read->end = step.place.offset;
            block = std::move(read);
            recent_.push_back(block);
            recentBytes_ += block->bytes.size();
            for (; recentBytes_ > kRecentBytesMax && recent_.size() > 1; recent_.pop_front()) {
                recentBytes_ -= recent_.front()->bytes.size();
            }
        }
        step.place = ChainPlace::behind(*block);
        bytes += block->bytes.size();
        step.blocks.push_back(std::move(block));
    }
    return true;
}

LogBlockRef LogWalk::recent(const ChainLink& after) const {
    for (const LogBlockRef& block : recent_) {
        if (block->header.prevSlotNo == after.slotNo &&
            block->header.prevBlockCrc == after.blockCrc) {
            return block;
        }
    }
    return nullptr;
}

Status LogWalk::advance(ChainPlace* place, BlockFinder::Depth depth) {
    FRESHET_ASSIGN_OR_RETURN(const SegmentRef here, segment(place->segment));
    FRESHET_ASSIGN_OR_RETURN(const SegmentRef next, segment(place->segment + 1));
    const BlockSearch search{
        .after = place->last, .here = here, .offset = place->offset, .next = next};
    auto found = finder_.find(search, depth);
    if (!found.isOk() || !*found) {
        return blame(found.isOk() ? Status::ok() : found.status(), search);
    }
    const BlockHeader& header = finder_.header();
    place->segment += (*found)->isInNextSegment ? 1 : 0;
    place->offset = (*found)->offset + header.fill;
    place->last = {header.slotNo, header.headerCrc, header.era};
    return Status::ok();
}

Status LogWalk::blame(Status found, const BlockSearch& search) {
    // A segment is reused only after it was noted as recycled, so what was read in one that had
    // been reused is blamed on that.
    if (isLost(slotStart(search.after.slotNo + 1))) {
        return historyLost("the segment was recycled before it had been read");
    }
    FRESHET_RETURN_IF_ERROR(found);
    FRESHET_ASSIGN_OR_RETURN(const std::string place, finder_.placeOfMissing(search, true));
    return Status(Code::kCorruption,
                  place + ": journal block damaged or missing, though it had been made durable");
}

}  // namespace freshet::journal
