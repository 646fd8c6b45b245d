// SPDX-License-Identifier: Apache-2.0
/// The parts of an open block file.
///
/// INV-block-1  A durable checkpoint's extents are not overwritten while a reopen could choose it:
///              until settle() after the commit that replaced them.
/// INV-block-2  At every moment one superblock copy is durable and whole, and the other is the only
///              one being written.
/// INV-block-3  No image is written under a startNo before both copies carry that startNo, and no
///              copy is overwritten before start().
/// INV-block-7  What a refused superblock names is not overwritten until the current superblock has
///              durably replaced the refused one.
#pragma once

#include "freshet/block/block_file.h"
#include "freshet/block/extent/space.h"
#include "freshet/block/root/image.h"
#include "freshet/block/root/map_run.h"
#include "freshet/block/root/page_map.h"
#include "freshet/block/root/superblock_format.h"
#include "freshet/platform/batch_writes.h"
#include "freshet/sync/mutex.h"

#include <optional>
#include <unordered_map>
#include <vector>

namespace freshet::block {

/// The run extents of a commit in progress and their content.
struct CommitPlan;

struct BlockFile::Impl {
    using OnReplaced = std::function<void(PageId, const Extent&)>;

    explicit Impl(const Options& given) : options(given) {}

    // open.cpp
    Status openOrCreate();
    Status create();
    Status fillUp();
    Status raiseStart();
    Status writeSuperblock(const Superblock& next, uint64_t copy);

    // commit_plan.cpp
    /// `changes` must outlive the plan. Finds in the map what they replace.
    StatusOr<CommitPlan> plan(const std::vector<Change>& changes);
    /// The extent that the change frees; none: the change has no effect.
    std::optional<Extent> planChange(const Change& change, const PagePlace& old, CommitPlan* plan);

    // commit.cpp
    Status writeRuns(CommitPlan* plan);
    StatusOr<RunIndex> writeRun(RunKind kind,
                                uint64_t count,
                                const std::function<Status(RunWriter*)>& fill,
                                std::vector<Extent>* taken);
    Status writeBase(CommitPlan* plan);
    Status writeDelta(CommitPlan* plan);
    /// Runs keep the file from being cut, and a new base would be further to the front.
    bool canMoveRuns() const;
    bool wantsBase(const CommitPlan& plan) const;
    void adopt(CommitPlan* plan, const OnReplaced& onReplaced);
    void noteRefused(const CommitPlan& plan);
    Status overwriteRefused();

    // block_file.cpp
    /// Returns `failure`; called first in every call that may write. REQUIRES: start().
    Status mayWrite() const;
    /// Takes an extent, and puts into `stored` the bytes to write there; `atOnce` images are
    /// written together.
    Status prepare(const NewImage& wanted, size_t atOnce, PageBuffer* stored, PagePlace* place);
    Status writeOutgoing(const std::vector<PagePlace>& places);
    void noteUnnamed(const std::vector<PagePlace>& places);
    /// Blocks that the next commit() may take, if `more` images are added to the unnamed ones.
    uint64_t commitNeedBlocks(size_t more) const;
    Status syncFile();
    /// Keeps a failure that ends all writing: its effect on the disk is unknown.
    Status fail(Status status);
    void publishStats();

    const Options options;
    std::unique_ptr<platform::File> file;
    Superblock durable;       // as in the newest durable copy
    uint64_t chosenCopy = 0;  // the copy it was read from at open
    bool isStarted = false;
    Root root;    // of it
    PageMap map;  // of it
    Space space;
    uint64_t nextImage = 1;            // the counter in imageSeq
    std::string packed;                // the last image that was compressed
    std::vector<PageBuffer> outgoing;  // being written; kept until the next commit()
    platform::BatchWrites batch;
    bool hasCompressed = false;  // set by the first compressed image since the file was opened

    /// An image that no commit has named, by its first block.
    struct Unnamed {
        uint32_t blocks;
        uint64_t flushNo;        // the flush that makes it durable
        bool isRefused = false;  // the refused superblock names it
    };
    std::unordered_map<uint64_t, Unnamed> unnamed;
    uint64_t nextFlushNo = 1;

    /// Extents that are no longer used, but not free yet.
    struct Waiting {
        std::vector<Extent> extents;
        uint64_t blocks = 0;  // in them

        void add(const Extent& extent);
        void giveTo(Space* space);
        uint64_t memoryBytes() const { return extents.capacity() * sizeof(Extent); }
    };
    Waiting replaced;         // by commits since the last settle()
    Waiting refused;          // named by the refused superblock alone, and discarded
    bool hasRefused = false;  // the disk had no space for the last superblock
    Status failure;           // final

    Stats counted;  // counters that are not derived; publishStats() copies them
    mutable sync::Mutex statsMutex;
    Stats published;  // guarded by statsMutex
};

}  // namespace freshet::block
