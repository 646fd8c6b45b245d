// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: scans a small log, and the ring that a killed process left beside it, after
/// arbitrary changes. Input: one byte that says whether the checksums of the ring's header, and
/// those of its records, are recomputed; then changes of four bytes each: file and offset u24 (its
/// highest bit: the segment), xor u8.
///
///   scons variant=asan fuzzers, then build/asan/tests/journal_fuzz
#include "freshet/journal/file/framing.h"
#include "freshet/journal/file/ring_file.h"
#include "freshet/journal/file/test_support.h"
#include "freshet/journal/scan/log_scan.h"
#include "freshet/journal/slot/slot_ring.h"
#include "freshet/testing/sim/memory_file_system.h"

namespace freshet::journal {
namespace {

constexpr size_t kChangeBytes = 4;
constexpr const char* kSegment = "/journal/j.00000000";
constexpr const char* kRing = "/journal/ring";

Status ignoreRecord(const RecordView&) {
    return Status::ok();
}

void writeFile(platform::FileSystem& disk, const char* path, const std::string& bytes) {
    auto file = disk.open(path, platform::OpenMode::kCreate);
    invariant(file.isOk() && (*file)->pwrite(bytes, 0).isOk());
}

struct Sample {
    std::string segment;
    std::string ring;
};

std::string makeSegment(platform::FileSystem& disk) {
    Opened log = openLog(smallOptions(disk));
    invariant(log.status.isOk());
    for (const size_t size : {10, 500, 3'000}) {
        AppendOp op(RecordType::kCommit, 1, std::string(size, 'r'));
        invariant(appendWaiting(*log.journal, op).isOk());
    }
    invariant(log.journal->close().isOk());
    auto file = disk.open(kSegment, platform::OpenMode::kRead);
    invariant(file.isOk());
    std::string bytes(32 * 1024, '\0');
    invariant((*file)->pread(bytes.data(), bytes.size(), 0).isOk());
    return bytes;
}

/// Two slots behind the log's end: the first with its end marked, the second with a fragment.
std::string makeRing(const Options& options, const LogEnd& end) {
    const RingHeader header = ringHeader(options, end.era);
    const RingLayout layout = RingLayout::of(header);
    std::string bytes(layout.bytes(), '\0');
    storeLe(bytes.data(), header);
    for (const uint64_t slot : {end.slotNo + 1, end.slotNo + 2}) {
        const uint64_t place = slot % options.slots;
        auto mark = [&](uint32_t unit, uint64_t value) {
            storeLe(bytes.data() + layout.marksOf(place) + unit * sizeof(uint64_t), value);
        };
        uint32_t unit = kHeaderUnits;
        for (const size_t size : {20, 200, 90}) {
            RecordHeader record{};
            record.type = static_cast<uint8_t>(RecordType::kCommit);
            record.frag = static_cast<uint8_t>(size == 90 ? Fragment::kFirst : Fragment::kFull);
            const std::string body(size, 'b');
            sealRecord(record, body);
            copyRecord(bytes.data() + layout.bufferOf(place) + unit * kUnitBytes, record, body);
            mark(unit, slot);
            unit += recordUnits(size);
        }
        mark(kTimeMark, end.timeBaseMax + slot);
        mark(kEndMark, endMark(slot, unit));
    }
    return bytes;
}

Sample makeSample() {
    testing::MemoryFileSystem disk;
    Sample sample;
    sample.segment = makeSegment(disk);
    auto end = scanLog(smallOptions(disk), ignoreRecord);
    invariant(end.isOk());
    sample.ring = makeRing(smallOptions(disk), *end);
    return sample;
}

/// Recomputes checksums; otherwise no change reaches the code behind them.
void seal(std::string* ring, bool records) {
    auto header = loadLe<RingHeader>(ring->data());
    header.crc = checksumOf(header);
    storeLe(ring->data(), header);
    if (!RingLayout::isPossible(header)) {
        return;
    }
    const RingLayout layout = RingLayout::of(header);
    for (uint64_t at = layout.buffers(); records && at + sizeof(RecordHeader) <= ring->size();) {
        auto record = loadLe<RecordHeader>(ring->data() + at);
        if (record.len >= sizeof(RecordHeader) && record.len <= ring->size() - at) {
            sealRecord(record, ByteView(*ring).substr(at, record.len).substr(sizeof(record)));
            storeLe(ring->data() + at, record);
        }
        at += kUnitBytes;
    }
}

void checkRemains(const LogEnd& end) {
    uint64_t last = end.slotNo;
    for (const RingSlot& slot : end.remains) {
        invariant(slot.slotNo == ++last && slot.block.size() % kUnitBytes == 0);
        for (size_t at = sizeof(BlockHeader); at < slot.block.size();) {
            const uint32_t bytes = wholeRecord(ByteView(slot.block).substr(at));
            invariant(bytes != 0);
            at += roundUp(bytes, kUnitBytes);
        }
    }
}

void fuzz(ByteView input) {
    static const Sample sample = makeSample();
    std::string segment = sample.segment;
    std::string ring = sample.ring;
    const int sealed = input.empty() ? 0 : input[0];
    for (size_t at = 1; at + kChangeBytes <= input.size(); at += kChangeBytes) {
        const auto word = loadLe<uint32_t>(input.data() + at);
        std::string& file = (word & 0x800000) != 0 ? segment : ring;
        char& changed = file[(word & 0x7fffff) % file.size()];
        changed = static_cast<char>(changed ^ input[at + 3]);
    }
    if ((sealed & 1) != 0) {
        seal(&ring, (sealed & 2) != 0);
    }
    testing::MemoryFileSystem disk;
    invariant(disk.makeDirectory("/journal").isOk());
    writeFile(disk, kSegment, segment);
    writeFile(disk, kRing, ring);
    Options options = smallOptions(disk);
    options.repair = (sealed & 4) != 0;
    if (auto end = scanLog(options, ignoreRecord); end.isOk()) {
        checkRemains(*end);
    }
}

}  // namespace
}  // namespace freshet::journal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    freshet::journal::fuzz(freshet::ByteView(reinterpret_cast<const char*>(data), size));
    return 0;
}
