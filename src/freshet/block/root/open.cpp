// SPDX-License-Identifier: Apache-2.0
/// Opening a block file: creating it and choosing a checkpoint, which overwrites nothing; then,
/// when the log has agreed, raising the start number.
#include "freshet/block/root/impl.h"
#include "freshet/block/root/loaded.h"
#include "freshet/block/root/superblock.h"

namespace freshet::block {
namespace {

constexpr uint32_t kStartNoMax = (1u << 24) - 1;
/// Suffix of a file until both its superblocks are durable: so a file under its own name has always
/// had a checkpoint, and one without is damaged, not new.
constexpr const char* kUnfinishedSuffix = ".new";

std::string parentOf(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

Root rootOf(const Superblock& superblock) {
    return {.checkpointNo = superblock.checkpointNo,
            .redoLsn = superblock.redoLsn,
            .clockTs = superblock.clockTs,
            .timeBase = superblock.timeBase,
            .nextPageId = superblock.nextPageId,
            .nextTreeId = superblock.nextTreeId};
}

}  // namespace

Status BlockFile::Impl::create() {
    const std::string fresh = options.path + kUnfinishedSuffix;
    FRESHET_ASSIGN_OR_RETURN(file, options.files->open(fresh, platform::OpenMode::kCreate));
    FRESHET_RETURN_IF_ERROR(file->truncate(0));
    Superblock first;
    first.dbUuid = options.dbUuid;
    first.dataFileBlocks = kSuperblockCopies;
    for (uint64_t copy = 0; copy < kSuperblockCopies; ++copy) {
        FRESHET_RETURN_IF_ERROR(writeSuperblock(first, copy));
    }
    FRESHET_RETURN_IF_ERROR(syncFile());
    FRESHET_RETURN_IF_ERROR(options.files->rename(fresh, options.path));
    return options.files->syncDirectory(parentOf(options.path));
}

Status BlockFile::Impl::fillUp() {
    FRESHET_ASSIGN_OR_RETURN(const uint64_t blocks,
                             blocksNeeded(*file, options.path, options.dbUuid));
    FRESHET_ASSIGN_OR_RETURN(const uint64_t bytes, file->size());
    return bytes < blocks * kBlockBytes ? file->truncate(blocks * kBlockBytes) : Status::ok();
}

Status BlockFile::Impl::openOrCreate() {
    auto opened = options.files->open(options.path, platform::OpenMode::kWrite);
    if (opened.isOk()) {
        file = std::move(*opened);
    } else if (opened.status().code() == Code::kNotFound) {
        FRESHET_RETURN_IF_ERROR(create());
    } else {
        return std::move(opened).status();
    }
    if (options.repair) {
        FRESHET_RETURN_IF_ERROR(fillUp());
    }
    FRESHET_ASSIGN_OR_RETURN(Loaded loaded, loadNewest(*file, options.path, options.dbUuid));
    durable = loaded.superblock;
    root = rootOf(durable);
    map = std::move(loaded.map);
    space = Space(file.get(),
                  options.path,
                  options.growBytesMin,
                  options.growBytesMax,
                  std::move(loaded.free),
                  loaded.fileBlocks);
    chosenCopy = loaded.copy;
    return Status::ok();
}

/// Writes the chosen checkpoint with the next startNo into both copies. After a crash at any point
/// one whole copy of the chosen checkpoint remains:
/// - The checkpoint was chosen from what the system returned, which after a killed process may be
///   more than what is durable; so a flush comes first. Now its copy is durable, with all it names.
/// - The other copy is then overwritten: it held an older checkpoint, or one that is not whole and
///   must be gone before its extents are written again. If the write is torn, the chosen copy is
///   still whole.
/// - When that is durable the chosen copy is overwritten with the same bytes. If that write is
///   torn, the other copy is whole.
///
/// Only then may an image carry the new startNo. Raising it in one copy only would not do: the next
/// commit overwrites one of the two, and if that write were torn, the startNo of the other would
/// come back and with it sequence numbers that have been used.
///
/// "Not whole" is the result of reading, and reading can fail although the disk is right. If the
/// older checkpoint was chosen for that reason, this call would destroy the newest; so it waits
/// until the log, which knows, has agreed (REQUIRES of start()).
Status BlockFile::Impl::raiseStart() {
    if (durable.startNo >= kStartNoMax) {
        return Status(Code::kLimit, options.path + " was opened too often");
    }
    FRESHET_RETURN_IF_ERROR(syncFile());
    Superblock raised = durable;
    ++raised.startNo;
    for (const uint64_t target : {kSuperblockCopies - 1 - chosenCopy, chosenCopy}) {
        FRESHET_RETURN_IF_ERROR(writeSuperblock(raised, target));
        FRESHET_RETURN_IF_ERROR(syncFile());
    }
    durable = raised;
    isStarted = true;
    return Status::ok();
}

Status BlockFile::Impl::writeSuperblock(const Superblock& next, uint64_t copy) {
    return file->pwrite(encodeSuperblock(next), copy * kBlockBytes);
}

StatusOr<std::array<char, 16>> BlockFile::readUuid(platform::FileSystem& files,
                                                   const std::string& path) {
    FRESHET_ASSIGN_OR_RETURN(auto file, files.open(path, platform::OpenMode::kRead));
    return uuidOf(*file, path);
}

StatusOr<std::unique_ptr<BlockFile>> BlockFile::open(const Options& options) {
    auto impl = std::make_unique<Impl>(options);
    FRESHET_RETURN_IF_ERROR(impl->openOrCreate());
    impl->publishStats();
    return std::unique_ptr<BlockFile>(new BlockFile(std::move(impl)));
}

Status BlockFile::start() {
    invariant(!impl_->isStarted);
    FRESHET_RETURN_IF_ERROR(impl_->raiseStart());
    impl_->publishStats();
    return Status::ok();
}

}  // namespace freshet::block
