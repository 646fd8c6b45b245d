// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: a small block file with arbitrary changes is opened, read and, if it opens,
/// written to. Input: one byte that says whether the checksums of superblocks, runs and images are
/// recomputed; then changes of five bytes each: offset u32, xor u8.
///
///   scons variant=asan fuzzers, then build/asan/tests/block_fuzz
#include "freshet/base/checksum.h"
#include "freshet/block/root/map_format.h"
#include "freshet/block/root/superblock.h"
#include "freshet/block/root/test_support.h"

#include <algorithm>

namespace freshet::block {
namespace {

constexpr size_t kChangeBytes = 5;

std::string makeSample() {
    testing::MemoryFileSystem disk;
    invariant(disk.makeDirectory(kTestDirectory).isOk());
    auto file = openAndStart(testOptions(&disk));
    invariant(file.isOk());
    for (uint64_t round = 0; round < 3; ++round) {
        std::vector<BlockFile::Change> changes;
        for (PageId page = 1 + round; page < (round == 0 ? 40 : 4); ++page) {
            std::string image = imageOf(page, std::string(page * 300, 'p'));
            const auto codec = static_cast<Codec>(page % 3);
            changes.push_back({page, *(*file)->writePage(image, codec)});
        }
        invariant((*file)->commit(Root{}, changes).isOk());
    }
    return readWhole(disk);
}

/// Recomputes the checksum of a run and stores it in `ref`.
void sealRun(std::string* bytes, RunRef* ref) {
    const uint64_t begin = ref->firstBlock * kBlockBytes;
    const uint64_t length = sizeof(RunHeader) + ref->count * sizeof(MapEntry);
    if (ref->blocks != 0 && ref->firstBlock < 1u << 20 && ref->count < 1u << 20 &&
        begin + length <= bytes->size()) {
        ref->crc = crc32c(bytes->data() + begin, length);
    }
}

/// Recomputes the checksums of the images that the run names and stores them in its entries;
/// otherwise no change reaches the code behind the checksums.
void sealImages(std::string* bytes, const RunRef& ref) {
    for (uint64_t i = 0; i < std::min<uint64_t>(ref.count, 64); ++i) {
        const uint64_t at = ref.firstBlock * kBlockBytes + sizeof(RunHeader) + i * sizeof(MapEntry);
        if (ref.firstBlock >= 1u << 20 || at + sizeof(MapEntry) > bytes->size()) {
            return;
        }
        auto entry = loadLe<MapEntry>(bytes->data() + at);
        const uint64_t image = (entry.place & 0xfffff) * kBlockBytes;
        if (image + sizeof(PageHeader) > bytes->size()) {
            continue;
        }
        auto header = loadLe<PageHeader>(bytes->data() + image);
        constexpr size_t kFrom = offsetof(PageHeader, pageId);
        if (header.storedLen < kFrom || header.storedLen > bytes->size() - image) {
            continue;
        }
        header.crc = crc32c(bytes->data() + image + kFrom, header.storedLen - kFrom);
        storeLe(bytes->data() + image, header);
        entry.crc = header.crc;
        storeLe(bytes->data() + at, entry);
    }
}

void seal(std::string* bytes) {
    for (size_t copy = 0; copy < kSuperblockCopies; ++copy) {
        auto superblock = loadLe<Superblock>(bytes->data() + copy * kBlockBytes);
        sealImages(bytes, superblock.mapBase);
        sealRun(bytes, &superblock.mapBase);
        sealRun(bytes, &superblock.lateImages);
        std::for_each_n(superblock.mapDelta.begin(),
                        std::min<size_t>(superblock.deltaCount, kDeltaRunsMax),
                        [&](RunRef& ref) { sealRun(bytes, &ref); });
        bytes->replace(copy * kBlockBytes, kBlockBytes, encodeSuperblock(superblock));
    }
}

void use(BlockFile& file) {
    std::ignore = readContents(file).isOk();
    std::ignore = file.verify().isOk();
    std::string image = imageOf(7, "written after opening");
    auto place = file.writePage(image);
    if (place.isOk() && file.commit(Root{}, {{7, *place}, {8, PagePlace{}}}).isOk()) {
        file.settle();
        invariant(file.readPage(7, *place, &image).isOk());
    }
}

void fuzz(ByteView input) {
    static const std::string sample = makeSample();
    std::string bytes = sample;
    const bool sealed = !input.empty() && input[0] % 2 != 0;
    for (size_t at = 1; at + kChangeBytes <= input.size(); at += kChangeBytes) {
        const size_t offset = loadLe<uint32_t>(input.data() + at) % bytes.size();
        bytes[offset] = static_cast<char>(bytes[offset] ^ input[at + 4]);
    }
    if (sealed) {
        seal(&bytes);
    }
    testing::MemoryFileSystem disk;
    writeWhole(disk, bytes);
    if (auto file = openAndStart(testOptions(&disk)); file.isOk()) {
        use(**file);
    }
}

}  // namespace
}  // namespace freshet::block

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    freshet::block::fuzz(freshet::ByteView(reinterpret_cast<const char*>(data), size));
    return 0;
}
