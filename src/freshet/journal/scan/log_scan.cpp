// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/scan/log_scan.h"

#include "freshet/journal/file/framing.h"
#include "freshet/journal/file/segment.h"
#include "freshet/journal/scan/record_joiner.h"

#include <algorithm>

namespace freshet::journal {
namespace {

constexpr size_t kSurveyChunk = 256 * 1024;
constexpr uint32_t kFillMin = sizeof(BlockHeader) + kUnitBytes;
constexpr uint32_t kFillMax = 1u << kLsnOffsetBits;

std::string placeOf(const FoundSegment& segment, uint64_t offset) {
    return segment.path + " at offset " + std::to_string(offset);
}

StatusOr<std::vector<FoundSegment>> openSegments(const Options& options) {
    std::vector<FoundSegment> found;
    FRESHET_ASSIGN_OR_RETURN(auto names, options.files->list(options.directory));
    for (const std::string& name : names) {
        std::optional<uint32_t> index = segmentIndex(name);
        if (!index) {
            continue;
        }
        FoundSegment segment;
        segment.index = *index;
        segment.path = options.directory + "/" + name;
        FRESHET_ASSIGN_OR_RETURN(segment.file,
                                 options.files->open(segment.path, platform::OpenMode::kWrite));
        FRESHET_ASSIGN_OR_RETURN(segment.bytes, segment.file->size());
        found.push_back(std::move(segment));
    }
    return found;
}

class LogScan {
public:
    LogScan(const Options& options, const RecordSink& replay, std::vector<FoundSegment> segments)
        : uuidLow_(uuidLow(options)), joiner_(replay) {
        end_.segments = std::move(segments);
    }

    StatusOr<LogEnd> run() {
        if (!end_.segments.empty()) {
            FRESHET_RETURN_IF_ERROR(followChain());
            FRESHET_RETURN_IF_ERROR(surveyBehindEnd());
            FRESHET_RETURN_IF_ERROR(settle());
        }
        return std::move(end_);
    }

private:
    /// Reads the block at `offset` of a segment. True: it is the next one of the log, and header_
    /// and block_ hold it.
    StatusOr<bool> readNext(const FoundSegment& segment, uint64_t offset) {
        char head[sizeof(BlockHeader)];
        FRESHET_ASSIGN_OR_RETURN(size_t got, segment.file->pread(head, sizeof(head), offset));
        if (got < sizeof(head) || !readHeader(head, &header_)) {
            return false;
        }
        if (header_.formatVer > kBlockFormat) {
            return Status(Code::kUnsupported,
                          placeOf(segment, offset) + ": journal format " +
                              std::to_string(header_.formatVer) + " is newer than this server's " +
                              std::to_string(kBlockFormat));
        }
        if (header_.dbUuidLow != uuidLow_) {
            return Status(Code::kCorruption,
                          placeOf(segment, offset) + ": belongs to another data directory");
        }
        if (!chains() || header_.fill < kFillMin || header_.fill > kFillMax ||
            header_.fill % kUnitBytes != 0) {
            return false;
        }
        block_.resize(header_.fill);
        FRESHET_ASSIGN_OR_RETURN(got, segment.file->pread(block_.data(), header_.fill, offset));
        return got == header_.fill && recordsAreWhole(block_, header_);
    }

    bool chains() const {
        if (end_.slotNo == 0) {
            return true;  // the first block that is there; followChain() judges it
        }
        return header_.prevSlotNo == end_.slotNo && header_.prevBlockCrc == end_.blockCrc &&
               header_.slotNo > end_.slotNo && header_.era >= end_.eraMax;
    }

    Status followChain() {
        for (;;) {
            const FoundSegment& here = end_.segments[end_.last];
            FRESHET_ASSIGN_OR_RETURN(bool next, readNext(here, end_.offset));
            if (!next && nextSegmentFollows()) {
                // Perhaps the block did not fit here.
                FRESHET_ASSIGN_OR_RETURN(next, readNext(end_.segments[end_.last + 1], 0));
                if (next) {
                    ++end_.last;
                    end_.offset = 0;
                }
            }
            if (!next) {
                return Status::ok();
            }
            if (end_.slotNo == 0 && header_.prevSlotNo != 0) {
                return Status(Code::kCorruption,
                              placeOf(here, end_.offset) +
                                  ": the log begins in its middle; earlier segments are missing");
            }
            FRESHET_RETURN_IF_ERROR(joiner_.take(block_, header_));
            end_.offset += roundUp(header_.fill, kBlockAlign);
            end_.slotNo = header_.slotNo;
            end_.blockCrc = header_.headerCrc;
            noteSeen(header_);
        }
    }

    bool nextSegmentFollows() const {
        return end_.slotNo != 0 && end_.last + 1 < end_.segments.size() &&
               end_.segments[end_.last + 1].index == end_.segments[end_.last].index + 1;
    }

    void noteSeen(const BlockHeader& header) {
        end_.eraMax = std::max(end_.eraMax, header.era);
        end_.slotNoMax = std::max(end_.slotNoMax, header.slotNo);
        end_.timeBaseMax = std::max(end_.timeBaseMax, header.timeBase);
    }

    Status surveyBehindEnd() {
        std::string chunk(kSurveyChunk, '\0');
        for (size_t i = end_.last; i < end_.segments.size(); ++i) {
            const FoundSegment& segment = end_.segments[i];
            uint64_t from = i == end_.last ? end_.offset : 0;
            for (; from < segment.bytes; from += kSurveyChunk) {
                FRESHET_ASSIGN_OR_RETURN(size_t got,
                                         segment.file->pread(chunk.data(), kSurveyChunk, from));
                FRESHET_RETURN_IF_ERROR(surveyChunk(ByteView(chunk.data(), got)));
            }
        }
        return Status::ok();
    }

    Status surveyChunk(ByteView chunk) {
        BlockHeader header;
        for (size_t at = 0; at + sizeof(header) <= chunk.size(); at += kBlockAlign) {
            if (!readHeader(chunk.data() + at, &header) || header.dbUuidLow != uuidLow_) {
                continue;
            }
            noteSeen(header);
            // Slots are durable as a whole, so this speaks of the block that should be at the end.
            if (header.durableLsnAtWrite > slotStart(end_.slotNo + 1)) {
                return damaged(header);
            }
        }
        return Status::ok();
    }

    /// Nothing was ever written there, or there is no "there".
    StatusOr<bool> isBlank(const FoundSegment& segment, uint64_t offset) const {
        char head[sizeof(BlockHeader)] = {};
        FRESHET_RETURN_IF_ERROR(segment.file->pread(head, sizeof(head), offset).status());
        return std::all_of(head, head + sizeof(head), [](char c) { return c == 0; });
    }

    Status damaged(const BlockHeader& witness) const {
        const FoundSegment* segment = &end_.segments[end_.last];
        uint64_t offset = end_.offset;
        FRESHET_ASSIGN_OR_RETURN(bool blank, isBlank(*segment, offset));
        if (blank && nextSegmentFollows()) {
            ++segment;
            offset = 0;
        }
        return Status(Code::kCorruption,
                      placeOf(*segment, offset) +
                          ": journal block damaged or missing, though records up to " +
                          std::to_string(witness.durableLsnAtWrite) +
                          " had been made durable (slot " + std::to_string(witness.slotNo) +
                          " says so); refusing to start without acknowledged data");
    }

    /// After a kill, what was just replayed may still be in the kernel's cache only. New records
    /// will build on it.
    Status settle() {
        for (size_t i = 0; i <= end_.last; ++i) {
            FRESHET_RETURN_IF_ERROR(end_.segments[i].file->sync());
        }
        return Status::ok();
    }

    const uint64_t uuidLow_;
    RecordJoiner joiner_;
    LogEnd end_;
    BlockHeader header_{};
    std::string block_;
};

}  // namespace

StatusOr<LogEnd> scanLog(const Options& options, const RecordSink& replay) {
    FRESHET_ASSIGN_OR_RETURN(auto segments, openSegments(options));
    return LogScan(options, replay, std::move(segments)).run();
}

}  // namespace freshet::journal
