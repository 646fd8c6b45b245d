// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/scan/record_joiner.h"

#include <algorithm>

namespace freshet::journal {

RecordJoiner::Result RecordJoiner::add(const BlockHeader& header,
                                       const RecordPart& part,
                                       RecordView* whole) {
    if (!joined_.empty()) {
        std::string().swap(joined_);  // it may be large
    }
    if (header.era != era_) {
        // Records begun before this start never end: their writers no longer exist.
        begun_.clear();
        era_ = header.era;
    }
    const RecordHeader& record = part.header;
    if ((record.flags & kRecordInternal) != 0) {
        return Result::kNothing;
    }
    const Lsn lsn = lsnAt(header.slotNo, part.offset / kUnitBytes);
    const auto fragment = static_cast<Fragment>(record.frag);
    if (fragment == Fragment::kFirst) {
        begun_[lsn] = std::string(part.body);
        return Result::kNothing;
    }
    ByteView body = part.body;
    if (fragment != Fragment::kFull) {
        auto found = begun_.find(record.recId);
        const bool isLast = fragment == Fragment::kLast;
        if (found == begun_.end()) {
            return isLast ? Result::kOrphan : Result::kNothing;
        }
        found->second.append(part.body);
        if (!isLast) {
            return Result::kNothing;
        }
        joined_ = std::move(found->second);
        begun_.erase(found);
        body = joined_;
    }
    whole->lsn = lsn;
    whole->type = static_cast<RecordType>(record.type);
    whole->participant = record.participant;
    whole->timestamp = header.timeBase + part.offset / kUnitBytes;
    whole->body = body;
    return Result::kWhole;
}

Status RecordJoiner::take(ByteView block, const BlockHeader& header, const RecordSink& sink) {
    for (uint32_t at = sizeof(BlockHeader); at < header.fill;) {
        RecordView whole;
        if (add(header, recordAt(block, at, &at), &whole) == Result::kWhole) {
            FRESHET_RETURN_IF_ERROR(sink(whole));
        }
    }
    return Status::ok();
}

Lsn RecordJoiner::oldestBegun() const {
    Lsn oldest = UINT64_MAX;
    for (const auto& [lsn, body] : begun_) {
        oldest = std::min<Lsn>(oldest, lsn);
    }
    return oldest;
}

}  // namespace freshet::journal
