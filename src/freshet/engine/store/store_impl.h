// SPDX-License-Identifier: Apache-2.0
/// The implementation of Store, and how it gets from files to a usable state: the newest
/// checkpoint's pages, then the journal from its redo position on.
#pragma once

#include "freshet/block/block_file.h"
#include "freshet/engine/checkpoint/checkpoint_service.h"
#include "freshet/engine/recovery/disk_plan.h"
#include "freshet/engine/recovery/identity.h"
#include "freshet/engine/store.h"
#include "freshet/engine/txn/store_core.h"
#include "freshet/engine/txn/tree_directory.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace freshet::engine {

class ChainJoiner;
class CommitReader;
class PageSource;
struct CommitChange;

struct Store::Impl {
    explicit Impl(const StoreOptions& storeOptions);

    // Called in this order; then the store is ready.
    Status checkMarks();
    Status planForDisk();
    Status checkWithoutJournal();
    Status openBlockFile(const DbUuid& uuid);
    Status loadPages();
    Status openJournal(const DbUuid& uuid);
    Status begin();

    /// A whole record of the journal, in LSN order, before the store is used otherwise.
    Status replay(const journal::RecordView& record, ChainJoiner& chains);
    Status replayCommit(const journal::RecordView& record, ChainJoiner& chains);
    /// `lsn`: of the commit's first record.
    Status replayChanges(CommitReader& reader, uint64_t ts, journal::Lsn lsn);
    void replayEvents(CommitReader& reader, journal::Lsn lsn);
    Status replayChange(const CommitChange& change, uint64_t ts);
    Status replayDone(const journal::RecordView& record);
    Status loadTree(TreeId id, PageSource& source);
    /// Tells the owner, once, that nothing may be acknowledged any more.
    void fail(const Status& why);
    StatusOr<FilesReport> verify();

    const StoreOptions options;
    platform::FileSystem& files;
    DiskPlan disk;  // set by planForDisk()
    std::unique_ptr<platform::FileLock> lock;
    std::shared_ptr<StoreCore> core = std::make_shared<StoreCore>();
    TreeDirectory trees{core};
    std::unique_ptr<block::BlockFile> file;
    std::unique_ptr<Checkpointer> checkpointer;
    std::unique_ptr<Evictor> evictor;
    std::unique_ptr<CheckpointService> checkpoints;
    std::vector<std::string> losses;
    std::set<TreeId> damagedTrees;  // trees that have lost something
    bool resumesRepair = false;
    uint64_t recordsReplayed = 0;
    uint64_t chainsDropped = 0;
    sync::Atomic<bool> failed{false};
    bool closed = false;
};

}  // namespace freshet::engine
