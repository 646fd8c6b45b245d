// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/root/loaded.h"

#include "freshet/block/root/image.h"
#include "freshet/block/root/map_run.h"
#include "freshet/block/root/superblock.h"
#include "freshet/telemetry/log.h"

#include <algorithm>

namespace freshet::block {
namespace {

struct Candidate {
    Superblock superblock;
    uint64_t copy;
};

std::string copyName(uint64_t copy) {
    return std::string("superblock ") + (copy == 0 ? "A" : "B") + " (offset " +
           std::to_string(copy * kBlockBytes) + ")";
}

StatusOr<Superblock> readSuperblock(platform::File& file, uint64_t copy) {
    std::string bytes(kSuperblockBytes, '\0');
    FRESHET_ASSIGN_OR_RETURN(const size_t got,
                             file.pread(bytes.data(), bytes.size(), copy * kBlockBytes));
    return decodeSuperblock(ByteView(bytes).substr(0, got));
}

/// The copies that are whole, newest first. What is wrong with the others is added to `complaints`.
StatusOr<std::vector<Candidate>> readSuperblocks(platform::File& file,
                                                 const std::string& path,
                                                 const std::array<char, 16>& dbUuid,
                                                 std::string* complaints) {
    std::vector<Candidate> found;
    for (uint64_t copy = 0; copy < kSuperblockCopies; ++copy) {
        auto superblock = readSuperblock(file, copy);
        if (superblock.isOk() && superblock->dbUuid != dbUuid) {
            return Status(Code::kCorruption,
                          path + " belongs to another data directory, says " + copyName(copy));
        }
        if (superblock.isOk()) {
            found.push_back({*superblock, copy});
        } else if (superblock.status().code() == Code::kCorruption) {
            *complaints += "; " + copyName(copy) + ": " + std::string(superblock.status().text());
        } else {
            return superblock.status().withContext(path + ": " + copyName(copy));
        }
    }
    std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
        return std::pair(a.superblock.checkpointNo, a.superblock.startNo) >
               std::pair(b.superblock.checkpointNo, b.superblock.startNo);
    });
    return found;
}

Status loadMap(platform::File& file, const Superblock& superblock, PageTable* pages) {
    const auto uuidLow = loadLe<uint64_t>(superblock.dbUuid.data());
    auto apply = [&](PageId page, const PagePlace& place) {
        place.extent.blocks != 0 ? pages->put(page, place) : pages->remove(page);
        return Status::ok();
    };
    if (superblock.mapBase.blocks != 0) {
        FRESHET_RETURN_IF_ERROR(
            readRun(file, superblock.mapBase, {RunKind::kMapBase, uuidLow}, apply));
    }
    for (uint32_t i = 0; i < superblock.deltaCount; ++i) {
        FRESHET_RETURN_IF_ERROR(
            readRun(file, superblock.mapDelta[i], {RunKind::kMapDelta, uuidLow}, apply));
    }
    return Status::ok();
}

StatusOr<FreeMap> freeAround(const Superblock& superblock,
                             const PageTable& pages,
                             uint64_t fileBlocks) {
    std::vector<Extent> used = runExtents(superblock);
    used.push_back({0, kSuperblockCopies});
    FRESHET_RETURN_IF_ERROR(pages.forEach([&](PageId, const PagePlace& place) {
        used.push_back(place.extent);
        return Status::ok();
    }));
    return FreeMap::around(std::move(used), fileBlocks);
}

/// Only the checkpoint's own flush made these durable, the one that wrote the superblock, too: the
/// superblock may have come through without them.
Status checkLateImages(platform::File& file, const Superblock& superblock) {
    if (superblock.lateImages.blocks == 0) {
        return Status::ok();
    }
    PageBuffer buffer;
    return readRun(file,
                   superblock.lateImages,
                   {RunKind::kLateImages, loadLe<uint64_t>(superblock.dbUuid.data())},
                   [&](PageId page, const PagePlace& place) {
                       return readImage(file, page, place, &buffer).status();
                   });
}

StatusOr<Loaded> loadOne(platform::File& file, const Candidate& candidate) {
    Loaded loaded;
    loaded.superblock = candidate.superblock;
    loaded.copy = candidate.copy;
    FRESHET_ASSIGN_OR_RETURN(const uint64_t bytes, file.size());
    loaded.fileBlocks = bytes / kBlockBytes;
    if (loaded.fileBlocks < loaded.superblock.dataFileBlocks) {
        return Status(Code::kCorruption,
                      "the file has " + std::to_string(loaded.fileBlocks) + " blocks of " +
                          std::to_string(loaded.superblock.dataFileBlocks));
    }
    FRESHET_RETURN_IF_ERROR(loadMap(file, loaded.superblock, &loaded.pages));
    FRESHET_ASSIGN_OR_RETURN(loaded.free,
                             freeAround(loaded.superblock, loaded.pages, loaded.fileBlocks));
    FRESHET_RETURN_IF_ERROR(checkLateImages(file, loaded.superblock));
    return loaded;
}

}  // namespace

std::vector<Extent> runExtents(const Superblock& superblock) {
    std::vector<Extent> extents;
    auto add = [&](const RunRef& ref) {
        if (ref.blocks != 0) {
            extents.push_back({ref.firstBlock, ref.blocks});
        }
    };
    add(superblock.mapBase);
    add(superblock.lateImages);
    std::for_each_n(superblock.mapDelta.begin(), superblock.deltaCount, add);
    return extents;
}

StatusOr<std::array<char, 16>> uuidOf(platform::File& file, const std::string& path) {
    for (uint64_t copy = 0; copy < kSuperblockCopies; ++copy) {
        auto superblock = readSuperblock(file, copy);
        if (superblock.isOk()) {
            return superblock->dbUuid;
        }
        if (superblock.status().code() != Code::kCorruption) {
            return superblock.status().withContext(path);
        }
    }
    return Status(Code::kCorruption, path + " has no whole superblock");
}

StatusOr<uint64_t> blocksNeeded(platform::File& file,
                                const std::string& path,
                                const std::array<char, 16>& dbUuid) {
    std::string complaints;
    FRESHET_ASSIGN_OR_RETURN(const auto candidates,
                             readSuperblocks(file, path, dbUuid, &complaints));
    uint64_t blocks = 0;
    for (const Candidate& candidate : candidates) {
        blocks = std::max(blocks, candidate.superblock.dataFileBlocks);
    }
    return blocks;
}

StatusOr<Loaded> loadNewest(platform::File& file,
                            const std::string& path,
                            const std::array<char, 16>& dbUuid) {
    std::string complaints;
    FRESHET_ASSIGN_OR_RETURN(const auto candidates,
                             readSuperblocks(file, path, dbUuid, &complaints));
    for (const Candidate& candidate : candidates) {
        auto loaded = loadOne(file, candidate);
        if (loaded.isOk()) {
            return loaded;
        }
        if (loaded.status().code() != Code::kCorruption) {
            return std::move(loaded).status().withContext(path);
        }
        complaints += "; checkpoint " + std::to_string(candidate.superblock.checkpointNo) + " of " +
                      copyName(candidate.copy) + ": " + std::string(loaded.status().text());
        telemetry::logWarning(
            "block",
            path + ": checkpoint " + std::to_string(candidate.superblock.checkpointNo) +
                " is not whole and is passed over: " + std::string(loaded.status().text()));
    }
    return Status(Code::kCorruption, path + " holds no whole checkpoint" + complaints);
}

}  // namespace freshet::block
