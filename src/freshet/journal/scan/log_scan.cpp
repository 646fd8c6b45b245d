// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/scan/log_scan.h"

#include "freshet/journal/file/framing.h"
#include "freshet/journal/file/ring_format.h"
#include "freshet/journal/file/segment.h"
#include "freshet/journal/file/witness.h"
#include "freshet/journal/scan/block_finder.h"
#include "freshet/journal/scan/record_joiner.h"
#include "freshet/telemetry/log.h"

#include <algorithm>
#include <optional>

namespace freshet::journal {
namespace {

constexpr size_t kSurveyChunk = 256 * 1024;

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
        : options_(options),
          uuidLow_(uuidLow(options)),
          fromRedoOn_([&options, &replay](const RecordView& record) {
              return record.lsn < options.redoLsn ? Status::ok() : replay(record);
          }),
          finder_(uuidLow_) {
        end_.segments = std::move(segments);
    }

    StatusOr<LogEnd> run() {
        FRESHET_RETURN_IF_ERROR(chooseStart());
        if (!givenUp_ && !end_.segments.empty()) {
            FRESHET_RETURN_IF_ERROR(followChain());
        }
        FRESHET_RETURN_IF_ERROR(surveyBehindEnd());
        if (!givenUp_) {
            FRESHET_RETURN_IF_ERROR(judgeEnd());
        }
        if (end_.slotNo != 0 && end_.losses.empty()) {
            FRESHET_RETURN_IF_ERROR(takeRemains());
        }
        FRESHET_RETURN_IF_ERROR(compareWithWitness());
        end_.wasCutOff = !end_.isClosed && (end_.flags & kBlockWitnessed) != 0;
        for (size_t i = end_.first; i < end_.segments.size() && i <= end_.last; ++i) {
            // After a kill, what was just replayed may still be only in the kernel's cache. New
            // records will build on it.
            FRESHET_RETURN_IF_ERROR(end_.segments[i].file->sync());
        }
        return std::move(end_);
    }

private:
    /// Sets end_ to the beginning of the log: in front of the first block to read.
    Status chooseStart() {
        const FoundSegment* first = nullptr;
        uint64_t slotNo = 0;
        bool found = false;
        for (size_t i = 0; i < end_.segments.size(); ++i) {
            FRESHET_ASSIGN_OR_RETURN(bool ours, finder_.readHeaderAt(refOf(i), 0));
            const BlockHeader& header = finder_.header();
            if (!ours || header.slotNo <= slotNo) {
                continue;  // blank; or damaged, which the chain shows if it matters
            }
            const Lsn begin = slotStart(header.prevSlotNo + 1);
            if (slotNo == 0) {
                first = &end_.segments[i];
                end_.begin = historyBegins(header);
            }
            slotNo = header.slotNo;
            if (begin > options_.redoLsn && header.prevSlotNo != 0) {
                break;
            }
            for (size_t before = end_.first; before < i; ++before) {
                end_.segments[before].end = begin;
                end_.segments[before].timestamp = header.timeBase;
            }
            end_.first = end_.last = i;
            end_.slotNo = header.prevSlotNo;
            end_.blockCrc = header.prevBlockCrc;
            found = true;
        }
        if (found || (first == nullptr && options_.redoLsn == 0)) {
            return Status::ok();
        }
        givenUp_ = true;
        return loss(missing(first != nullptr
                                ? first->path + " is the first segment with any"
                                : "no segment in " + options_.directory + " begins with a block"));
    }

    std::string missing(const std::string& why) {
        // New records must be above what the caller considers past.
        end_.slotNoMax = std::max(end_.slotNoMax, slotOf(options_.redoLsn) + 1);
        return "journal: records from " + std::to_string(options_.redoLsn) + " are missing: " + why;
    }

    /// An error, or with repair an entry in the losses.
    Status loss(std::string text) {
        if (!options_.repair) {
            return Status(Code::kCorruption,
                          text + "; refusing to start without acknowledged data");
        }
        end_.losses.push_back(std::move(text));
        return Status::ok();
    }

    Status followChain() {
        for (;;) {
            const BlockSearch search = searchAtEnd();
            FRESHET_ASSIGN_OR_RETURN(const std::optional<BlockFound> found,
                                     finder_.find(search, BlockFinder::Depth::kWhole));
            if (!found) {
                FRESHET_ASSIGN_OR_RETURN(bool skipped, skipTo(options_.redoLsn));
                if (!skipped) {
                    return Status::ok();
                }
                continue;
            }
            const BlockHeader& header = finder_.header();
            if (found->isInNextSegment) {
                end_.segments[end_.last].end = slotStart(end_.slotNo + 1);
                end_.segments[end_.last].timestamp = header.timeBase;
                ++end_.last;
            }
            FRESHET_RETURN_IF_ERROR(joiner_.take(finder_.block(), header, fromRedoOn_));
            end_.offset = found->offset + header.fill;
            end_.slotNo = header.slotNo;
            end_.blockCrc = header.headerCrc;
            end_.era = header.era;
            end_.flags = header.flags;
            end_.isClosed = endsWithClosing(finder_.block(), header);
            noteSeen(header);
        }
    }

    /// For the block behind end_.
    BlockSearch searchAtEnd() const {
        return {.after = {end_.slotNo, end_.blockCrc, end_.eraMax},
                .here = refOf(end_.last),
                .offset = end_.offset,
                .next = nextSegmentFollows() ? refOf(end_.last + 1) : SegmentRef{}};
    }

    SegmentRef refOf(size_t i) const {
        return {end_.segments[i].file.get(), end_.segments[i].path};
    }

    /// Where a block of the log lies.
    struct BlockPosition {
        size_t segment = 0;
        uint64_t offset = 0;
        BlockHeader header{};
    };

    /// What is damaged below `redo` is not missed: all of it is in the checkpoint. True: end_ is
    /// now in front of the last block whose predecessors end at or below `redo`. What follows it is
    /// held against the same rules as ever, and the log still has to reach `redo`.
    StatusOr<bool> skipTo(Lsn redo) {
        if (slotStart(end_.slotNo + 1) >= redo) {
            return false;
        }
        FRESHET_ASSIGN_OR_RETURN(const std::optional<BlockPosition> found, lastBlockFrom(redo));
        if (!found.has_value()) {
            return false;
        }
        FRESHET_ASSIGN_OR_RETURN(const std::string damaged, placeOfEnd());
        telemetry::logWarning("journal",
                              damaged +
                                  ": a block is damaged, and the newest checkpoint has "
                                  "all that was in it; reading goes on at " +
                                  refOf(found->segment).at(found->offset));
        for (; end_.last < found->segment; ++end_.last) {
            end_.segments[end_.last].end = slotStart(found->header.prevSlotNo + 1);
            end_.segments[end_.last].timestamp = found->header.timeBase;
        }
        end_.offset = found->offset;
        end_.slotNo = found->header.prevSlotNo;
        end_.blockCrc = found->header.prevBlockCrc;
        joiner_.forget();
        return true;
    }

    /// The whole block behind end_ with the highest number among those whose predecessors end at or
    /// below `redo`. Blocks of earlier eras that a crash left behind have lower ones.
    StatusOr<std::optional<BlockPosition>> lastBlockFrom(Lsn redo) {
        std::optional<BlockPosition> found;
        FRESHET_RETURN_IF_ERROR(forEachHeaderBehindEnd([&](const BlockPosition& block) {
            const BlockHeader& header = block.header;
            const bool isWanted = header.era >= end_.eraMax && header.prevSlotNo > end_.slotNo &&
                                  slotStart(header.prevSlotNo + 1) <= redo;
            if (isWanted && (!found || header.slotNo > found->header.slotNo)) {
                found = block;
            }
        }));
        return found;
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

    /// Calls visit(const BlockPosition&) for each header of this data directory from the page of
    /// end_ on.
    template <typename Visit>
    Status forEachHeaderBehindEnd(const Visit& visit) {
        std::string chunk(kSurveyChunk, '\0');
        for (size_t i = end_.last; i < end_.segments.size(); ++i) {
            const FoundSegment& segment = end_.segments[i];
            // In whole pages: a header never crosses one.
            uint64_t from = i == end_.last ? end_.offset / kBlockAlign * kBlockAlign : 0;
            for (; from < segment.bytes; from += kSurveyChunk) {
                FRESHET_ASSIGN_OR_RETURN(const size_t got,
                                         segment.file->pread(chunk.data(), kSurveyChunk, from));
                BlockPosition block{i, 0, {}};
                for (size_t at = 0; at + sizeof(block.header) <= got; at += kUnitBytes) {
                    if (readHeader(chunk.data() + at, &block.header) &&
                        block.header.dbUuidLow == uuidLow_) {
                        block.offset = from + at;
                        visit(block);
                    }
                }
            }
        }
        return Status::ok();
    }

    Status surveyBehindEnd() {
        // The log's own blocks in the page of end_ do no harm.
        return forEachHeaderBehindEnd([this](const BlockPosition& block) {
            const BlockHeader& header = block.header;
            noteSeen(header);
            if (header.slotNo > end_.slotNo) {
                ++blocksBehind_;
                recordsBehind_ += header.nRecs;
            }
            if (header.durableLsnAtWrite > witness_.durableLsnAtWrite) {
                witness_ = header;
            }
        });
    }

    /// Slots are durable as a whole, so a proof that more than the last block was durable concerns
    /// the missing block at the end. And a log without damage reaches up to redoLsn, which was
    /// below the durable end when it was stored.
    Status judgeEnd() {
        if (witness_.durableLsnAtWrite > slotStart(end_.slotNo + 1)) {
            FRESHET_ASSIGN_OR_RETURN(std::string place, placeOfEnd());
            FRESHET_RETURN_IF_ERROR(
                loss(place + ": journal block damaged or missing, though records up to " +
                     std::to_string(witness_.durableLsnAtWrite) + " had been made durable (slot " +
                     std::to_string(witness_.slotNo) + " says so); behind it lie " +
                     std::to_string(blocksBehind_) + " blocks with " +
                     std::to_string(recordsBehind_) + " records"));
        }
        if (slotOf(options_.redoLsn) > end_.slotNo + 1) {
            FRESHET_ASSIGN_OR_RETURN(std::string place, placeOfEnd());
            return loss(missing("the log ends in " + place));
        }
        return Status::ok();
    }

    /// If only the process was killed and the system kept running, segments lack what had not yet
    /// been written to them.
    Status takeRemains() {
        FRESHET_ASSIGN_OR_RETURN(ring_, readRemains(options_, end_.era, end_.slotNo));
        end_.remains = std::move(ring_.slots);
        for (const RingSlot& slot : end_.remains) {
            BlockHeader header{};
            header.era = end_.era;
            header.fill = static_cast<uint32_t>(slot.block.size());
            header.slotNo = slot.slotNo;
            header.timeBase = slot.timeBase;
            FRESHET_RETURN_IF_ERROR(joiner_.take(slot.block, header, fromRedoOn_));
            noteSeen(header);
        }
        return Status::ok();
    }

    /// True when the file for `flag` must exist: its start did not close the log.
    bool needs(uint16_t flag) const { return !end_.isClosed && (end_.flags & flag) != 0; }

    /// Everything below this position has been found.
    Lsn reached() const {
        if (end_.remains.empty()) {
            return slotStart(end_.slotNo + 1);
        }
        const RingSlot& last = end_.remains.back();
        return slotStart(last.isWhole ? last.slotNo + 1 : last.slotNo);
    }

    /// Checks the end of the log against the witness, and that the ring and the witness exist.
    Status compareWithWitness() {
        FRESHET_ASSIGN_OR_RETURN(const Testimony said, readWitness(options_));
        const bool knows = said.trouble.empty();
        if (knows) {
            noteWitnessed(std::max(said.durable, said.written));
        }
        if (!end_.losses.empty()) {
            return Status::ok();  // one loss is enough
        }
        // About an earlier era it knows nothing that the chain does not.
        if (knows && said.era >= end_.era) {
            if (said.durable > reached()) {
                return lossAtEnd(said, said.durable, "had been made durable");
            }
            if (said.isOfThisBoot && said.written > reached()) {
                return lossAtEnd(said, said.written, "had been written since the system's start");
            }
            if (said.isOfThisBoot && said.era == end_.era && !ring_.damage.empty()) {
                return loss(ring_.damage + ": a complete record is damaged");
            }
        }
        if (!ring_.trouble.empty() && needs(kBlockRing)) {
            return loss(ring_.trouble + ": records that were in no segment yet may be lost");
        }
        return !knows && needs(kBlockWitnessed)
                   ? loss(said.path + " " + said.trouble + ": how far the log has come is lost")
                   : Status::ok();
    }

    Status lossAtEnd(const Testimony& said, Lsn position, const std::string& what) {
        std::string place = options_.directory;
        if (!end_.segments.empty()) {
            FRESHET_ASSIGN_OR_RETURN(place, placeOfEnd());
        }
        return loss(place + ": the log ends here, though records up to " +
                    std::to_string(position) + " " + what + " (" + said.path + " says so)");
    }

    /// New records must lie above all that may have been seen, whatever is left of it.
    void noteWitnessed(Lsn position) {
        const uint64_t slotNo = slotOf(position) - 1;  // the last that it covers
        if (slotNo > end_.slotNoMax) {
            end_.timeBaseMax += (slotNo - end_.slotNoMax) * (kSlotBytesMax / kUnitBytes);
            end_.slotNoMax = slotNo;
        }
    }

    /// Where the block that should follow the last one is, or would be.
    StatusOr<std::string> placeOfEnd() {
        return finder_.placeOfMissing(searchAtEnd(), blocksBehind_ > 0);
    }

    const Options& options_;
    const uint64_t uuidLow_;
    const RecordSink fromRedoOn_;
    RecordJoiner joiner_;
    LogEnd end_;
    bool givenUp_ = false;  // there is no beginning; repair drops everything
    BlockFinder finder_;
    RingRemains ring_;  // without its slots
    // Behind the end:
    BlockHeader witness_{};  // the block with the highest durableLsnAtWrite
    uint64_t blocksBehind_ = 0;
    uint64_t recordsBehind_ = 0;
};

}  // namespace

StatusOr<LogEnd> scanLog(const Options& options, const RecordSink& replay) {
    FRESHET_ASSIGN_OR_RETURN(auto segments, openSegments(options));
    return LogScan(options, replay, std::move(segments)).run();
}

}  // namespace freshet::journal
