// SPDX-License-Identifier: Apache-2.0
/// Store::Impl: from the files to a usable store.
#include "freshet/base/free_memory.h"
#include "freshet/engine/checkpoint/done_record.h"
#include "freshet/engine/commit_reader.h"
#include "freshet/engine/event_keeper.h"
#include "freshet/engine/recovery/chain_joiner.h"
#include "freshet/engine/recovery/directory_mark.h"
#include "freshet/engine/recovery/map_source.h"
#include "freshet/engine/store/store_impl.h"
#include "freshet/telemetry/log.h"

#include <algorithm>

namespace freshet::engine {

Store::Impl::Impl(const StoreOptions& storeOptions)
    : options(storeOptions),
      files(options.files != nullptr ? *options.files : platform::FileSystem::posix()) {}

Status Store::Impl::checkWithoutJournal() {
    if (options.repair || options.holdCommitsUntilDurable) {
        return Status(Code::kInvalid,
                      "without a journal there is nothing to repair or to wait for");
    }
    FRESHET_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.list(options.directory));
    for (const std::string& name : names) {
        if ("/" + name == kDataFile || "/" + name == kJournalFolder) {
            return Status(
                Code::kUnsupported,
                options.directory + " has data: a store without a journal must begin empty");
        }
    }
    return setMark(files, options.directory, kNoJournalMark);
}

Status Store::Impl::checkMarks() {
    FRESHET_ASSIGN_OR_RETURN(const bool unlogged,
                             hasMark(files, options.directory, kNoJournalMark));
    if (unlogged) {
        return Status(
            Code::kUnsupported,
            options.directory + " was used without a journal: its data is not consistent");
    }
    if (options.withoutJournal) {
        return checkWithoutJournal();
    }
    FRESHET_ASSIGN_OR_RETURN(resumesRepair, hasMark(files, options.directory, kRepairMark));
    if (options.repair) {
        return setMark(files, options.directory, kRepairMark);
    }
    return resumesRepair
               ? Status(Code::kCorruption,
                        options.directory + ": a repair was not finished; run the repair again")
               : Status::ok();
}

Status Store::Impl::planForDisk() {
    const journal::Options least;
    const platform::DiskSpace space = files.spaceOf(options.directory);
    disk = planDisk(options, space, uint64_t{least.slots} * least.slotBytes);
    if (!disk.isSmall) {
        return Status::ok();
    }
    constexpr uint64_t kMegabyte = 1'000'000;
    const auto inMegabytes = [](uint64_t bytes) { return std::to_string(bytes / kMegabyte); };
    const std::string room = "the disk of " + options.directory + " has " +
                             inMegabytes(space.totalBytes) + " MB, " +
                             inMegabytes(space.freeBytes) + " MB of them free: a new store wants " +
                             inMegabytes(disk.wantedBytes) + " MB";
    telemetry::logInfo("engine",
                       room + "; journal segments have up to " +
                           inMegabytes(disk.journalSegmentBytesMax) +
                           " MB, and a checkpoint is made after " +
                           inMegabytes(disk.checkpointJournalBytes) + " MB of journal");
    const auto data = files.open(options.directory + kDataFile, platform::OpenMode::kRead);
    const bool isNew = data.status().code() == Code::kNotFound;
    return isNew && space.freeBytes < disk.leastBytes
               ? Status(Code::kNoSpace,
                        room + ", and cannot begin with less than " + inMegabytes(disk.leastBytes) +
                            " MB")
               : Status::ok();
}

Status Store::Impl::openBlockFile(const DbUuid& uuid) {
    block::Options blockOptions;
    blockOptions.files = &files;
    blockOptions.path = options.directory + kDataFile;
    blockOptions.dbUuid = uuid;
    blockOptions.repair = options.repair;
    blockOptions.growBytesMin = disk.growBytesMin;
    blockOptions.growBytesMax = disk.growBytesMax;
    FRESHET_ASSIGN_OR_RETURN(file, block::BlockFile::open(blockOptions));
    checkpointer = std::make_unique<Checkpointer>(core, trees, *file, options.eventKeeper);
    evictor = std::make_unique<Evictor>(core, trees);
    core->loads = std::make_unique<PageLoads>(*core, core->epochs, core->memory, *file);
    core->memory.setLimit(options.memoryBytes, options.memoryIsProcess);
    return Status::ok();
}

Status Store::Impl::loadPages() {
    const block::Root& root = file->root();
    MapSource source = options.repair ? MapSource(*file, Leaves::kChecked, &losses)
                                      : MapSource(*file, Leaves::kOnDisk, nullptr);
    FRESHET_RETURN_IF_ERROR(source.readMap());
    core->codec = options.codec;
    core->slabs = options.slabs;
    core->holdCommitsUntilDurable = options.holdCommitsUntilDurable;
    core->transactionMillisMax = options.transactionMillisMax;
    constexpr uint64_t kHistoryBytesMin = uint64_t{32} << 20;
    core->history.setBytesMax(options.historyBytesMax != 0
                                  ? options.historyBytesMax
                                  : std::max(kHistoryBytesMin, options.memoryBytes / 8));
    core->transactionBytesMax = options.transactionBytesMax != 0
                                    ? options.transactionBytesMax
                                    : std::max(core->transactionBytesMax, options.memoryBytes / 4);
    core->recordBytesMax = options.recordBytesMax;
    core->replayLow = std::max<uint64_t>(root.redoLsn, 1);
    core->table.setClock(std::max(root.clockTs, core->table.snapshot()));
    // [page.number] relaxed: no other thread uses the store yet.
    core->nextPageId.store(std::max({root.nextPageId, kFirstPageId, source.highestPage() + 1}),
                           sync::kRelaxed);
    for (TreeId id : source.trees()) {
        FRESHET_RETURN_IF_ERROR(loadTree(id, source));
    }
    if (root.nextTreeId != 0) {
        trees.reserveIds(root.nextTreeId - 1);
    }
    for (const auto& [tree, page] : source.treePages()) {
        checkpointer->addLoadedPage(tree, page, source.placeOf(page));
    }
    for (const auto& [tree, page] : source.valuePages()) {
        checkpointer->addLoadedValue(tree, page, source.placeOf(page));
    }
    for (const PageId page : source.learned()) {
        checkpointer->addLoadedNote(page, source.placeOf(page));
    }
    if (options.repair) {
        checkpointer->oweNotes();
    }
    for (PageId page : source.unusedPages()) {
        checkpointer->addGarbage(page);
    }
    return Status::ok();
}

Status Store::Impl::loadTree(TreeId id, PageSource& source) {
    const size_t lossesBefore = losses.size();
    FRESHET_RETURN_IF_ERROR(TreeLoader(*core, trees.tree(id)->pages(), source).buildTree());
    if (losses.size() > lossesBefore) {
        damagedTrees.insert(id);
    }
    return Status::ok();
}

namespace {

/// While the disk flushes it writes nothing, so appends must wait in the ring; and a disk is faster
/// with large writes, which are of whole slots (decision 0043). So eight times the minimum, if that
/// is a small part of the memory.
uint32_t journalSlotBytes(const StoreOptions& options,
                          const DiskPlan& disk,
                          const journal::Options& least) {
    constexpr uint64_t kShareOfMemory = 256;
    constexpr uint64_t kTimesMax = 8;
    const uint64_t ringBytes = uint64_t{least.slots} * least.slotBytes;
    const uint64_t share =
        options.memoryBytes == 0 ? UINT64_MAX : options.memoryBytes / kShareOfMemory;
    const uint64_t times =
        std::min({share, disk.journalSegmentBytesMax, disk.journalRingBytesMax}) / ringBytes;
    return least.slotBytes * static_cast<uint32_t>(std::clamp<uint64_t>(times, 1, kTimesMax));
}

}  // namespace

Status Store::Impl::openJournal(const DbUuid& uuid) {
    journal::Options journalOptions;
    journalOptions.files = &files;
    journalOptions.directory = options.directory + kJournalFolder;
    journalOptions.slotBytes = journalSlotBytes(options, disk, journalOptions);
    journalOptions.segmentBytesMax = disk.journalSegmentBytesMax;
    journalOptions.spareBytesMax = disk.journalSpareBytesMax;
    journalOptions.keepFreeBytes = disk.checkpointReserveBytes;
    journalOptions.segmentBytesFirst =
        std::min(std::max(journalOptions.segmentBytesFirst,
                          uint64_t{journalOptions.slots} * journalOptions.slotBytes),
                 disk.journalSegmentBytesMax);
    journalOptions.commitIntervalMs = options.journalCommitIntervalMs;
    journalOptions.dbUuid = uuid;
    journalOptions.redoLsn = file->root().redoLsn;
    journalOptions.retainBytes = options.journalRetainBytes;
    journalOptions.retainHours = options.journalRetainHours;
    journalOptions.repair = options.repair;
    journalOptions.onFatal = [this](const Status& why) { fail(why); };
    ChainJoiner chains(journalOptions.redoLsn);
    FRESHET_ASSIGN_OR_RETURN(
        core->journal,
        journal::Journal::open(journalOptions, [this, &chains](const journal::RecordView& record) {
            return replay(record, chains)
                .withContext("record at LSN " + std::to_string(record.lsn));
        }));
    chainsDropped = chains.open();
    const std::vector<std::string> cuts = core->journal->losses();
    losses.insert(losses.end(), cuts.begin(), cuts.end());
    return Status::ok();
}

Status Store::Impl::replay(const journal::RecordView& record, ChainJoiner& chains) {
    switch (record.type) {
        case journal::RecordType::kCommit:
            return replayCommit(record, chains);
        case journal::RecordType::kCheckpointDone:
            return replayDone(record);
        case journal::RecordType::kNoop:
            break;
    }
    return Status::ok();
}

Status Store::Impl::replayCommit(const journal::RecordView& record, ChainJoiner& chains) {
    const uint64_t ts = core->table.snapshot() + 1;
    FRESHET_ASSIGN_OR_RETURN(CommitReader reader, CommitReader::open(record.body));
    journal::Lsn first = record.lsn;
    if (reader.chain()) {
        first = reader.chain()->first;
        std::vector<std::string> earlier;
        FRESHET_ASSIGN_OR_RETURN(const bool isWhole,
                                 chains.add(record.lsn, *reader.chain(), record.body, &earlier));
        if (!isWhole) {
            // newTreeId() avoids all ids in the log, also those of a chain that has no end.
            for (CommitChange change; reader.next(&change);) {
                trees.reserveIds(change.tree);
            }
            return Status::ok();
        }
        for (std::string& body : earlier) {
            FRESHET_ASSIGN_OR_RETURN(CommitReader part, CommitReader::open(body));
            FRESHET_RETURN_IF_ERROR(replayChanges(part, ts, first));
            freeMemory(&body);
        }
    }
    FRESHET_RETURN_IF_ERROR(replayChanges(reader, ts, first));
    core->table.setClock(ts);
    ++recordsReplayed;
    return Status::ok();
}

Status Store::Impl::replayChanges(CommitReader& reader, uint64_t ts, journal::Lsn lsn) {
    for (CommitChange change; reader.next(&change);) {
        FRESHET_RETURN_IF_ERROR(replayChange(change, ts));
    }
    replayEvents(reader, lsn);
    return Status::ok();
}

void Store::Impl::replayEvents(CommitReader& reader, journal::Lsn lsn) {
    if (options.eventKeeper == nullptr) {
        return;
    }
    for (ByteView event; reader.nextEvent(&event);) {
        options.eventKeeper->replayed(event, lsn, reader.wallMs());
    }
}

Status Store::Impl::replayChange(const CommitChange& change, uint64_t ts) {
    const VersionOp op = change.op == CommitOp::kDelete ? VersionOp::kDelete : VersionOp::kPut;
    PageTree& pages = trees.tree(change.tree)->pages();
    for (;;) {
        WriteResult result;
        {
            // A slice of its own: what the changes before left behind can then be folded and freed.
            sync::Slice slice(core->epochs);
            result = pages.write({WriteKind::kReplay, op, change.key, change.value, ts, {}});
        }
        if (result.kind != WriteResult::Kind::kOnDisk) {
            return Status::ok();
        }
        FRESHET_RETURN_IF_ERROR(core->loads->bringBack(pages, result.fault.entry));
    }
}

Status Store::Impl::replayDone(const journal::RecordView& record) {
    FRESHET_ASSIGN_OR_RETURN(const CheckpointDone done, readCheckpointDone(record.body));
    if (done.checkpointNo <= file->root().checkpointNo) {
        return Status::ok();
    }
    // That checkpoint was damaged later, or was read incorrectly now, and pages that the checkpoint
    // before it names may have been overwritten since. So far nothing has been written: the next
    // open() may read correctly.
    const std::string text = options.directory + kDataFile + ": checkpoint " +
                             std::to_string(done.checkpointNo) +
                             " was complete and is damaged or read wrong";
    if (!options.repair) {
        return Status(Code::kCorruption, text);
    }
    losses.push_back(text);
    return Status::ok();
}

Status Store::Impl::begin() {
    // So far the data file was only read, and so was the journal of earlier starts until its scan
    // was over (INV-engine-18).
    FRESHET_RETURN_IF_ERROR(file->start());
    trees.tree(kCatalogTree);
    CheckpointPace pace{
        options.checkpointIntervalMs, disk.checkpointJournalBytes, options.snapshotMillisMax};
    if (disk.reserveBytes != 0) {
        pace.isDiskShort = [this] {
            return files.spaceOf(options.directory).freeBytes < disk.reserveBytes;
        };
    }
    checkpoints = std::make_unique<CheckpointService>(
        *checkpointer, *evictor, *core, pace, [this](const Status& why) { fail(why); });
    // [stats.read] relaxed: no other thread uses the store yet.
    // A new store gets its first checkpoint at once: from then on a missing log is noticed.
    if (recordsReplayed == 0 && core->dirtyPages.load(sync::kRelaxed) == 0 &&
        file->root().checkpointNo != 0) {
        checkpointer->setCurrent();
    }
    Status status = checkpoints->now();
    if (!status.isOk() && status.code() != Code::kNoSpace) {
        return status;
    }
    if (options.directIo && !file->bypassCache()) {
        telemetry::logInfo("engine",
                           options.directory +
                               ": the file system does not support direct I/O; the data file "
                               "goes through the operating system's cache");
    }
    checkpointer->lookForSparse();
    checkpoints->start();
    return Status::ok();
}

void Store::Impl::fail(const Status& why) {
    // [store.failed] relaxed: only the first caller reports; the status is passed by the call.
    if (!failed.exchange(true, sync::kRelaxed) && options.onFatal) {
        options.onFatal(why);
    }
}

}  // namespace freshet::engine
