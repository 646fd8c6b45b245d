// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/store.h"

#include "freshet/base/assert.h"
#include "freshet/engine/recovery/directory_mark.h"
#include "freshet/engine/recovery/foreign_files.h"
#include "freshet/engine/store/store_impl.h"
#include "freshet/telemetry/log.h"

namespace freshet::engine {

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)), core_(impl_->core) {}

Store::~Store() {
    if (Status status = close(); !status.isOk()) {
        telemetry::logError("engine", "closing the store: " + status.toString());
    }
    // [share.check] acquire: pairs with [share.drop].
    invariant(impl_->core->shares.load(sync::kAcquire) == 0);
}

const StoreOptions& Store::options() const {
    return impl_->options;
}

StatusOr<std::unique_ptr<Store>> Store::open(const StoreOptions& options) {
    auto impl = std::make_unique<Impl>(options);
    FRESHET_RETURN_IF_ERROR(impl->files.makeDirectory(options.directory));
    if (options.refuseForeignFiles) {
        FRESHET_RETURN_IF_ERROR(checkForeignFiles(impl->files, options.directory));
    }
    FRESHET_ASSIGN_OR_RETURN(impl->lock, impl->files.lock(options.directory + "/freshetd.lock"));
    FRESHET_RETURN_IF_ERROR(impl->checkMarks());
    FRESHET_ASSIGN_OR_RETURN(const DbUuid uuid,
                             options.repair
                                 ? repairIdentity(impl->files, options.directory, &impl->losses)
                                 : readOrMakeIdentity(impl->files, options.directory));
    FRESHET_RETURN_IF_ERROR(impl->planForDisk());
    FRESHET_RETURN_IF_ERROR(impl->openBlockFile(uuid));
    FRESHET_RETURN_IF_ERROR(impl->loadPages());
    if (!options.withoutJournal) {
        FRESHET_RETURN_IF_ERROR(impl->openJournal(uuid));
    }
    FRESHET_RETURN_IF_ERROR(impl->begin());
    return std::unique_ptr<Store>(new Store(std::move(impl)));
}

Status Store::close() {
    if (impl_->closed) {
        return Status::ok();
    }
    impl_->closed = true;
    impl_->checkpoints->stop();
    impl_->core->history.shut();
    journal::Journal* const journal = impl_->core->journal.get();
    const bool worthwhile = journal != nullptr && journal->health().isOk();
    Status last = worthwhile ? impl_->checkpoints->now() : Status::ok();
    Status status = journal != nullptr ? journal->close() : Status::ok();
    impl_->core->loads->stop();
    // If there was no room for the last checkpoint, the journal has everything.
    return !status.isOk() || last.code() == Code::kNoSpace ? status : last;
}

TreeRef Store::tree(TreeId id) {
    return impl_->trees.tree(id);
}

TreeId Store::newTreeId() {
    return impl_->trees.newId();
}

void Store::reserveTreeIds(TreeId upTo) {
    impl_->trees.reserveIds(upTo);
}

void Store::dropTree(TreeId id) {
    impl_->trees.drop(id);
}

void Store::setCodec(TreeId id, Codec codec) {
    // [tree.codec] relaxed: a wish, for the images to come.
    impl_->trees.tree(id)->pages().codec().store(codec, sync::kRelaxed);
}

uint64_t Store::storedBytes(TreeId id) const {
    return impl_->checkpointer->storedBytes(id);
}

std::vector<TreeId> Store::treeIds() {
    std::vector<TreeId> ids;
    for (const TreeRef& tree : impl_->trees.all()) {
        ids.push_back(tree->id);
    }
    return ids;
}

Status Store::checkpointNow() {
    return impl_->checkpoints->now();
}

Status Store::holdCheckpoints() {
    return impl_->checkpoints->hold();
}

void Store::releaseCheckpoints() {
    impl_->checkpoints->release();
}

void Store::evictAll() {
    impl_->checkpoints->evictDownTo(0);
}

void Store::expectMemoryUse() {
    impl_->checkpoints->expectMemoryUse();
}

const std::vector<std::string>& Store::losses() const {
    return impl_->losses;
}

bool Store::mayHaveLost(TreeId tree) const {
    return impl_->resumesRepair || impl_->damagedTrees.contains(tree);
}

Status Store::finishRepair() {
    FRESHET_RETURN_IF_ERROR(checkpointNow());
    return removeMark(impl_->files, impl_->options.directory, kRepairMark);
}

StatusOr<FilesReport> Store::verifyFiles() {
    StatusOr<FilesReport> report = FilesReport{};
    impl_->checkpoints->between([&] { report = impl_->verify(); });
    return report;
}

void Store::keepHistory(uint64_t seconds, bool always) {
    impl_->core->history.keep(seconds, always);
}

Status Store::findSnapshot(uint64_t time, Snapshot* snapshot) {
    return impl_->core->history.find(*impl_->core->journal, time, snapshot);
}

sync::EpochDomain& Store::epochs() {
    return impl_->core->epochs;
}

journal::Journal& Store::journal() {
    return *impl_->core->journal;
}

int64_t Store::threadDataBytes() {
    return MemoryCount::threadBytes();
}

StoreStats Store::stats() {
    StoreCore& core = *impl_->core;
    StoreStats stats;
    stats.journal = core.journalStats();
    stats.commits = core.table.commits();
    // [stats.read] relaxed: statistics.
    stats.aborts = core.aborts.load(sync::kRelaxed);
    stats.conflicts = core.conflicts.load(sync::kRelaxed);
    stats.conflictWaits = core.conflictWaits.load(sync::kRelaxed);
    stats.rebuilds = core.rebuilds.load(sync::kRelaxed);
    stats.splits = core.splits.load(sync::kRelaxed);
    stats.retiredBytes = core.epochs.retiredBytes();
    stats.clock = core.table.snapshot();
    stats.recordsReplayed = impl_->recordsReplayed;
    stats.chainsDropped = impl_->chainsDropped;
    stats.trees = impl_->trees.size();
    stats.pages = core.pages.load(sync::kRelaxed);
    stats.dirtyPages = core.dirtyPages.load(sync::kRelaxed);
    stats.spaceShort = core.spaceShort.load(sync::kRelaxed);
    stats.memoryBytes = MemoryBudget::used();
    stats.memoryBytesMax = core.memory.limit();
    const LoadStats loads = core.loads->stats();
    stats.leavesRead = loads.leaves;
    stats.leavesReadAsync = loads.leavesAsync;
    stats.leafBytesRead = loads.bytes;
    stats.leavesUnreadable = loads.failures;
    stats.block = impl_->file->stats();
    const CheckpointStats checkpoints = impl_->checkpoints->stats();
    stats.checkpoints = checkpoints.checkpoints;
    stats.leavesEvicted = checkpoints.evictedLeaves;
    stats.lastCheckpointMillis = checkpoints.lastMillis;
    stats.lastCheckpointWallMs = checkpoints.lastWallMs;
    return stats;
}

}  // namespace freshet::engine
