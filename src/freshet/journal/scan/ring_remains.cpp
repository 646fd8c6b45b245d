// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/scan/ring_remains.h"

#include "freshet/base/checksum.h"
#include "freshet/journal/file/framing.h"
#include "freshet/journal/file/ring_format.h"
#include "freshet/journal/slot/slot_ring.h"

namespace freshet::journal {
namespace {

bool isOurs(const RingHeader& header, const Options& options, uint32_t era) {
    return header.magic == kRingMagic && header.formatVer == kRingFormat && header.era == era &&
           header.dbUuidLow == uuidLow(options) && RingLayout::isPossible(header);
}

/// The whole file, if it is a ring of that era.
StatusOr<std::string> readRing(const Options& options, uint32_t era, RingHeader* header) {
    auto file = options.files->open(options.directory + "/" + kRingName, platform::OpenMode::kRead);
    if (file.status().code() == Code::kNotFound) {
        return std::string();
    }
    FRESHET_RETURN_IF_ERROR(file.status());
    char head[sizeof(RingHeader)];
    FRESHET_ASSIGN_OR_RETURN(size_t got, (*file)->pread(head, sizeof(head), 0));
    *header = loadLe<RingHeader>(head);
    FRESHET_ASSIGN_OR_RETURN(const uint64_t size, (*file)->size());
    if (got < sizeof(head) || header->crc != crc32c(head, offsetof(RingHeader, crc)) ||
        !isOurs(*header, options, era) || RingLayout::of(*header).bytes() != size) {
        return std::string();
    }
    std::string bytes(size, '\0');
    FRESHET_ASSIGN_OR_RETURN(got, (*file)->pread(bytes.data(), bytes.size(), 0));
    return got == bytes.size() ? std::move(bytes) : std::string();
}

class Remains {
public:
    Remains(const RingHeader& header, std::string bytes)
        : layout_(RingLayout::of(header)), bytes_(std::move(bytes)) {}

    /// Whole records from the slot's first on. False: there is none.
    bool take(uint64_t slotNo, RingSlot* slot) const {
        const ByteView buffer = ByteView(bytes_).substr(layout_.bufferOf(slotNo % layout_.slots),
                                                        layout_.unitsPerSlot * kUnitBytes);
        uint32_t unit = kHeaderUnits;
        while (unit < layout_.unitsPerSlot && mark(slotNo, unit) == slotNo) {
            const uint32_t bytes = wholeRecord(buffer.substr(unit * kUnitBytes));
            if (bytes == 0) {
                break;
            }
            unit += static_cast<uint32_t>(roundUp(bytes, kUnitBytes) / kUnitBytes);
        }
        slot->slotNo = slotNo;
        slot->timeBase = mark(slotNo, kTimeMark);
        slot->block.assign(buffer.substr(0, unit * kUnitBytes));
        return unit > kHeaderUnits;
    }
    /// Nothing was in the slot behind these records.
    bool isWhole(const RingSlot& slot) const {
        const auto units = static_cast<uint32_t>(slot.block.size() / kUnitBytes);
        return mark(slot.slotNo, kEndMark) == endMark(slot.slotNo, units);
    }

private:
    uint64_t mark(uint64_t slotNo, uint32_t unit) const {
        return loadLe<uint64_t>(bytes_.data() + layout_.marksOf(slotNo % layout_.slots) +
                                unit * sizeof(uint64_t));
    }

    const RingLayout layout_;
    const std::string bytes_;
};

}  // namespace

StatusOr<std::vector<RingSlot>> readRemains(const Options& options, uint32_t era, uint64_t last) {
    std::vector<RingSlot> slots;
    RingHeader header;
    FRESHET_ASSIGN_OR_RETURN(std::string bytes, readRing(options, era, &header));
    if (bytes.empty()) {
        return slots;
    }
    const Remains remains(header, std::move(bytes));
    for (RingSlot slot; remains.take(last + 1 + slots.size(), &slot);) {
        slots.push_back(std::move(slot));
        if (!remains.isWhole(slots.back())) {
            break;
        }
    }
    return slots;
}

}  // namespace freshet::journal
