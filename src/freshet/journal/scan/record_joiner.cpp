// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/scan/record_joiner.h"

namespace freshet::journal {

Status RecordJoiner::take(ByteView block, const BlockHeader& header) {
    if (header.era != era_) {
        // Records begun before this start never end: their writers no longer exist.
        begun_.clear();
        era_ = header.era;
    }
    return forEachRecord(
        block, header, [&](uint32_t offset, const RecordHeader& record, ByteView body) {
            RecordView view;
            view.lsn = lsnAt(header.slotNo, offset / kUnitBytes);
            view.type = static_cast<RecordType>(record.type);
            view.participant = record.participant;
            view.timestamp = header.timeBase + offset / kUnitBytes;
            view.body = body;
            return takeOne(view, record);
        });
}

Status RecordJoiner::takeOne(const RecordView& at, const RecordHeader& record) {
    if ((record.flags & kRecordInternal) != 0) {
        return Status::ok();
    }
    switch (static_cast<Fragment>(record.frag)) {
        case Fragment::kFull:
            return sink_(at);
        case Fragment::kFirst:
            begun_[at.lsn] = std::string(at.body);
            return Status::ok();
        case Fragment::kMiddle:
        case Fragment::kLast:
            break;
    }
    auto found = begun_.find(record.recId);
    if (found == begun_.end()) {
        return Status::ok();  // its first fragment is before the place where replay began
    }
    found->second.append(at.body);
    if (static_cast<Fragment>(record.frag) == Fragment::kMiddle) {
        return Status::ok();
    }
    RecordView whole = at;
    whole.body = found->second;
    Status status = sink_(whole);
    begun_.erase(found);
    return status;
}

}  // namespace freshet::journal
