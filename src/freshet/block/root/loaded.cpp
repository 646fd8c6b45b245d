// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/root/loaded.h"

#include "freshet/block/extent/used_blocks.h"
#include "freshet/block/root/image.h"
#include "freshet/block/root/map_run.h"
#include "freshet/block/root/map_walk.h"
#include "freshet/block/root/superblock.h"
#include "freshet/telemetry/log.h"

#include <algorithm>

namespace freshet::block {
namespace {

struct Candidate {
    Superblock superblock;
    uint64_t copy;
};

/// Data that is not whole is read once more, from the disk and not from the system's cache: it may
/// only have been misread, and a checkpoint that is skipped is lost.
template <typename Read>
auto readTwice(platform::File& file, const std::string& path, const Read& read)
    -> decltype(read()) {
    auto first = read();
    const StatusOr<uint64_t> bytes = file.size();
    if (first.status().code() != Code::kCorruption || !bytes.isOk()) {
        return first;
    }
    file.forget(0, *bytes);
    auto second = read();
    if (second.isOk()) {
        telemetry::logWarning(
            "block",
            path + " was read wrong and then right: " + std::string(first.status().text()));
    }
    return second;
}

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
        auto superblock = readTwice(file, path, [&] { return readSuperblock(file, copy); });
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

/// Counts the map's pages. They, the runs and the superblocks are the blocks in use; returns the
/// rest.
StatusOr<FreeMap> freeAround(platform::File& file, Loaded* loaded) {
    UsedBlocks used(loaded->fileBlocks);
    FRESHET_RETURN_IF_ERROR(used.add({0, kSuperblockCopies}));
    for (const Extent& extent : runExtents(loaded->superblock)) {
        FRESHET_RETURN_IF_ERROR(used.add(extent));
    }
    uint64_t pages = 0;
    FRESHET_RETURN_IF_ERROR(loaded->map.forEach(file, [&](PageId, const PagePlace& place) {
        ++pages;
        return used.add(place.extent);
    }));
    loaded->map.setPages(pages);
    return used.rest();
}

/// Only the checkpoint's own flush, which also wrote the superblock, made these images durable: the
/// superblock may have reached the disk without them.
Status checkLateImages(platform::File& file, const Superblock& superblock) {
    if (superblock.lateImages.blocks == 0) {
        return Status::ok();
    }
    FRESHET_ASSIGN_OR_RETURN(
        RunIndex late,
        loadRun(file,
                superblock.lateImages,
                {RunKind::kLateImages, loadLe<uint64_t>(superblock.dbUuid.data())}));
    const std::vector<RunIndex> runs{std::move(late)};
    PageBuffer buffer;
    MapWalk walk(file, runs);
    for (;;) {
        FRESHET_RETURN_IF_ERROR(walk.next());
        if (walk.isAtEnd()) {
            return Status::ok();
        }
        FRESHET_RETURN_IF_ERROR(readImage(file, walk.page(), walk.place(), &buffer).status());
    }
}

StatusOr<Loaded> loadOne(platform::File& file,
                         const std::string& path,
                         const Candidate& candidate) {
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
    FRESHET_ASSIGN_OR_RETURN(loaded.map, PageMap::load(file, path, loaded.superblock));
    FRESHET_ASSIGN_OR_RETURN(loaded.free, freeAround(file, &loaded));
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
        auto loaded = readTwice(file, path, [&] { return loadOne(file, path, candidate); });
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
