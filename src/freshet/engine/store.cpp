// SPDX-License-Identifier: Apache-2.0
#include "freshet/base/assert.h"
#include "freshet/engine/recovery/identity.h"
#include "freshet/engine/recovery/store_impl.h"
#include "freshet/engine/txn/commit_record.h"
#include "freshet/telemetry/log.h"

#include <algorithm>

namespace freshet::engine {

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Store::~Store() {
    if (Status status = close(); !status.isOk()) {
        telemetry::logError("engine", "closing the store: " + status.toString());
    }
}

StatusOr<std::unique_ptr<Store>> Store::open(const StoreOptions& options) {
    platform::FileSystem& files =
        options.files != nullptr ? *options.files : platform::FileSystem::posix();
    auto impl = std::make_unique<Impl>();
    FRESHET_RETURN_IF_ERROR(files.makeDirectory(options.directory));
    FRESHET_ASSIGN_OR_RETURN(impl->lock, files.lock(options.directory + "/freshetd.lock"));
    FRESHET_ASSIGN_OR_RETURN(const DbUuid uuid, readOrMakeIdentity(files, options.directory));
    journal::Options journalOptions;
    journalOptions.files = &files;
    journalOptions.directory = options.directory + "/journal";
    journalOptions.segmentBytesMax = options.journalSegmentBytesMax;
    journalOptions.segmentBytesFirst =
        std::min(journalOptions.segmentBytesFirst, options.journalSegmentBytesMax);
    journalOptions.commitIntervalMs = options.journalCommitIntervalMs;
    journalOptions.dbUuid = uuid;
    journalOptions.onFatal = options.onFatal;
    FRESHET_ASSIGN_OR_RETURN(
        impl->core->journal,
        journal::Journal::open(journalOptions, [&](const journal::RecordView& record) {
            return impl->replay(record);
        }));
    impl->tree(kCatalogTree);
    return std::unique_ptr<Store>(new Store(std::move(impl)));
}

Status Store::Impl::replay(const journal::RecordView& record) {
    if (record.type != journal::RecordType::kCommit) {
        return Status::ok();
    }
    // A slice of its own: what the records before left behind can be folded and freed.
    sync::Slice slice(core->epochs);
    const uint64_t ts = core->table.snapshot() + 1;
    Status status = readCommitRecord(record.body, [&](const CommitChange& change) {
        const VersionOp op = change.op == CommitOp::kDelete ? VersionOp::kDelete : VersionOp::kPut;
        tree(change.tree)
            ->pages()
            .write({WriteKind::kReplay, op, change.key, change.value, ts, {}});
        nextId = std::max(nextId, change.tree + 1);
    });
    FRESHET_RETURN_IF_ERROR(status.withContext("record at LSN " + std::to_string(record.lsn)));
    core->table.setClock(ts);
    ++recordsReplayed;
    return Status::ok();
}

Status Store::close() {
    if (impl_->closed) {
        return Status::ok();
    }
    impl_->closed = true;
    return impl_->core->journal->close();
}

TreeRef Store::Impl::tree(TreeId id) {
    std::lock_guard<sync::Mutex> guard(mutex);
    TreeRef& ref = trees[id];
    if (!ref) {
        ref = std::make_shared<Tree>(id, core);
    }
    return ref;
}

TreeRef Store::tree(TreeId id) {
    return impl_->tree(id);
}

TreeId Store::newTreeId() {
    std::lock_guard<sync::Mutex> guard(impl_->mutex);
    return impl_->nextId++;
}

void Store::reserveTreeIds(TreeId upTo) {
    std::lock_guard<sync::Mutex> guard(impl_->mutex);
    impl_->nextId = std::max(impl_->nextId, upTo + 1);
}

void Store::dropTree(TreeId id) {
    TreeRef dropped;  // its end comes after the mutex
    std::lock_guard<sync::Mutex> guard(impl_->mutex);
    if (auto it = impl_->trees.find(id); it != impl_->trees.end()) {
        dropped = std::move(it->second);
        impl_->trees.erase(it);
    }
}

std::vector<TreeId> Store::treeIds() {
    std::lock_guard<sync::Mutex> guard(impl_->mutex);
    std::vector<TreeId> ids;
    ids.reserve(impl_->trees.size());
    for (const auto& [id, tree] : impl_->trees) {
        ids.push_back(id);
    }
    return ids;
}

sync::EpochDomain& Store::epochs() {
    return impl_->core->epochs;
}

journal::Journal& Store::journal() {
    return *impl_->core->journal;
}

StoreStats Store::stats() {
    StoreCore& core = *impl_->core;
    StoreStats stats;
    stats.journal = core.journal->stats();
    // [stats.read] relaxed: statistics.
    stats.commits = core.commits.load(sync::kRelaxed);
    stats.aborts = core.aborts.load(sync::kRelaxed);
    stats.conflicts = core.conflicts.load(sync::kRelaxed);
    stats.conflictWaits = core.conflictWaits.load(sync::kRelaxed);
    stats.rebuilds = core.rebuilds.load(sync::kRelaxed);
    stats.splits = core.splits.load(sync::kRelaxed);
    stats.retiredBytes = core.epochs.retiredBytes();
    stats.clock = core.table.snapshot();
    stats.recordsReplayed = impl_->recordsReplayed;
    std::lock_guard<sync::Mutex> guard(impl_->mutex);
    stats.trees = impl_->trees.size();
    return stats;
}

}  // namespace freshet::engine
