// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/scan/ring_remains.h"

#include "freshet/journal/file/framing.h"
#include "freshet/journal/file/ring_file.h"

#include <algorithm>
#include <memory>

namespace freshet::journal {
namespace {

bool isOurs(const RingHeader& header, const Options& options, uint32_t era) {
    return header.magic == kRingMagic && header.formatVer == kRingFormat && header.era == era &&
           header.dbUuidLow == uuidLow(options) && RingLayout::isPossible(header) &&
           header.crc == checksumOf(header);
}

/// Reads no more than needed: after most stops everything in the ring is in segments.
class Remains {
public:
    Remains(std::unique_ptr<platform::File> file, const RingLayout& layout)
        : file_(std::move(file)), layout_(layout) {}

    /// Whole records from the slot's first on. False: there is none.
    StatusOr<bool> take(uint64_t slotNo, RingSlot* slot) {
        FRESHET_ASSIGN_OR_RETURN(const bool begins, readSlot(slotNo));
        uint32_t unit = kHeaderUnits;
        while (begins && unit < layout_.unitsPerSlot && mark(unit) == slotNo) {
            const uint32_t bytes = wholeRecord(ByteView(buffer_).substr(unit * kUnitBytes));
            if (bytes == 0) {
                break;
            }
            unit += recordUnits(bytes - sizeof(RecordHeader));
        }
        slot->slotNo = slotNo;
        slot->timeBase = mark(kTimeMark);
        slot->block.assign(buffer_, 0, unit * kUnitBytes);
        return unit > kHeaderUnits;
    }
    /// True when the slot taken last held nothing behind these records.
    bool isWhole(const RingSlot& slot) const {
        const auto units = static_cast<uint32_t>(slot.block.size() / kUnitBytes);
        return mark(kEndMark) == endMark(slot.slotNo, units);
    }

    /// Offset of a record behind them that is marked as complete but is not whole. 0: none.
    uint64_t damagedAt(const RingSlot& slot) const {
        const auto unit = static_cast<uint32_t>(slot.block.size() / kUnitBytes);
        return unit < layout_.unitsPerSlot && mark(unit) == slot.slotNo
                   ? layout_.bufferOf(slot.slotNo % layout_.slots) + slot.block.size()
                   : 0;
    }

private:
    /// False: no record of this slot begins at its first record's unit; only the marks were read.
    StatusOr<bool> readSlot(uint64_t slotNo) {
        const uint64_t place = slotNo % layout_.slots;
        marks_.resize(layout_.unitsPerSlot * sizeof(uint64_t));
        buffer_.resize(layout_.unitsPerSlot * kUnitBytes);
        FRESHET_RETURN_IF_ERROR(read(&marks_, layout_.marksOf(place)));
        if (mark(kHeaderUnits) != slotNo) {
            return false;
        }
        FRESHET_RETURN_IF_ERROR(read(&buffer_, layout_.bufferOf(place)));
        return true;
    }
    Status read(std::string* bytes, uint64_t offset) {
        FRESHET_ASSIGN_OR_RETURN(const size_t got,
                                 file_->pread(bytes->data(), bytes->size(), offset));
        std::fill(bytes->begin() + static_cast<std::ptrdiff_t>(got), bytes->end(), '\0');
        return Status::ok();
    }
    uint64_t mark(uint32_t unit) const {
        // [ring.mark.read] plain: its writers have ended. Pairs with [ring.mark].
        return loadLe<uint64_t>(marks_.data() + unit * sizeof(uint64_t));
    }

    const std::unique_ptr<platform::File> file_;
    const RingLayout layout_;
    std::string marks_;   // of the slot taken last
    std::string buffer_;  // the same
};

}  // namespace

StatusOr<RingRemains> readRemains(const Options& options, uint32_t era, uint64_t last) {
    RingRemains found;
    const std::string path = options.directory + "/" + kRingName;
    auto file = options.files->open(path, platform::OpenMode::kRead);
    if (file.status().code() == Code::kNotFound) {
        found.trouble = path + " is missing";
        return found;
    }
    FRESHET_RETURN_IF_ERROR(file.status());
    char head[sizeof(RingHeader)] = {};
    FRESHET_RETURN_IF_ERROR((*file)->pread(head, sizeof(head), 0).status());
    FRESHET_ASSIGN_OR_RETURN(const uint64_t size, (*file)->size());
    const auto header = loadLe<RingHeader>(head);
    if (!isOurs(header, options, era)) {
        found.trouble = path + " at offset 0 is damaged or of another start";
        return found;
    }
    if (RingLayout::of(header).bytes() != size) {
        found.trouble = path + " ends at offset " + std::to_string(size) + ", not at " +
                        std::to_string(RingLayout::of(header).bytes());
        return found;
    }
    Remains remains(std::move(*file), RingLayout::of(header));
    for (RingSlot slot;;) {
        const uint64_t next = last + 1 + found.slots.size();
        FRESHET_ASSIGN_OR_RETURN(const bool any, remains.take(next, &slot));
        if (const uint64_t offset = remains.damagedAt(slot); offset != 0) {
            found.damage = path + " at offset " + std::to_string(offset);
        }
        if (any) {
            slot.isWhole = remains.isWhole(slot);
            found.slots.push_back(std::move(slot));
        }
        if (!any || !found.slots.back().isWhole) {
            return found;
        }
    }
}

}  // namespace freshet::journal
