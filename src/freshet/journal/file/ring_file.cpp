// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/file/ring_file.h"

#include "freshet/base/checksum.h"
#include "freshet/journal/file/framing.h"
#include "freshet/telemetry/log.h"

#include <new>

namespace freshet::journal {
namespace {

StatusOr<std::unique_ptr<platform::SharedBytes>> prepare(const Options& options,
                                                         const RingHeader& header) {
    const RingLayout layout = RingLayout::of(header);
    FRESHET_ASSIGN_OR_RETURN(
        auto file,
        options.files->open(options.directory + "/" + kRingName, platform::OpenMode::kCreate));
    FRESHET_ASSIGN_OR_RETURN(const uint64_t bytes, file->size());
    // Allocated blocks and no holes: a store to the mapping must not need new space.
    const bool fits = bytes == layout.bytes();
    if (!fits) {
        FRESHET_RETURN_IF_ERROR(file->truncate(0));
    }
    FRESHET_RETURN_IF_ERROR(file->allocate(0, fits ? layout.buffers() : layout.bytes()));
    // If the header reached the disk without these, it would validate marks of another era, whose
    // slots may have had the same numbers.
    FRESHET_RETURN_IF_ERROR(file->sync());
    FRESHET_RETURN_IF_ERROR(
        file->pwrite(ByteView(reinterpret_cast<const char*>(&header), sizeof(header)), 0));
    // Blocks are about to say that the ring exists.
    FRESHET_RETURN_IF_ERROR(file->sync());
    return file->share(layout.bytes());
}

}  // namespace

uint32_t checksumOf(const RingHeader& header) {
    return crc32c(&header, offsetof(RingHeader, crc));
}

RingHeader ringHeader(const Options& options, uint32_t era) {
    RingHeader header;
    header.era = era;
    header.slots = options.slots;
    header.slotBytes = options.slotBytes;
    header.dbUuidLow = uuidLow(options);
    header.crc = checksumOf(header);
    return header;
}

std::unique_ptr<RingFile> RingFile::make(const Options& options, uint32_t era) {
    if (!options.files->sharesIn(options.directory)) {
        return nullptr;
    }
    const RingHeader header = ringHeader(options, era);
    const RingLayout layout = RingLayout::of(header);
    auto bytes = prepare(options, header);
    if (!bytes.isOk()) {
        telemetry::logWarning("journal",
                              "records are not kept in shared memory until they are written: " +
                                  bytes.status().toString());
        return nullptr;
    }
    char* data = (*bytes)->data();
    auto* marks = reinterpret_cast<sync::Atomic<uint64_t>*>(data + RingLayout::marks());
    for (size_t i = 0; i < size_t{layout.slots} * layout.unitsPerSlot; ++i) {
        new (marks + i) sync::Atomic<uint64_t>(0);
    }
    return std::unique_ptr<RingFile>(
        new RingFile(std::move(*bytes), {data + layout.buffers(), marks}));
}

}  // namespace freshet::journal
