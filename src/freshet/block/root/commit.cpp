// SPDX-License-Identifier: Apache-2.0
/// A checkpoint: runs, superblock, one flush.
#include "freshet/block/root/commit_plan.h"
#include "freshet/block/root/impl.h"

#include <algorithm>

namespace freshet::block {

namespace {

uint64_t deltaEntries(const Superblock& superblock) {
    uint64_t entries = 0;
    std::for_each_n(superblock.mapDelta.begin(), superblock.deltaCount, [&](const RunRef& ref) {
        entries += ref.count;
    });
    return entries;
}

Status addPresent(const BlockFile::Change& change, RunWriter* writer) {
    return change.place.extent.blocks == 0 ? Status::ok() : writer->add(change.page, change.place);
}

}  // namespace

bool BlockFile::Impl::canMoveRuns() const {
    const auto blocks = static_cast<uint32_t>(runBlocks(map.pages()));
    const auto wantsMoved = [&](const RunRef& ref) {
        return space.wantsMoved({ref.firstBlock, ref.blocks}, blocks);
    };
    return wantsMoved(durable.mapBase) ||
           std::any_of(
               durable.mapDelta.begin(), durable.mapDelta.begin() + durable.deltaCount, wantsMoved);
}

/// Deltas are merged when there are too many to list, or when they exceed a quarter of the base.
bool BlockFile::Impl::wantsBase(const CommitPlan& plan) const {
    return plan.next.deltaCount == kDeltaRunsMax || canMoveRuns() ||
           4 * (deltaEntries(plan.next) + plan.changes.size()) > plan.next.mapBase.count;
}

StatusOr<RunIndex> BlockFile::Impl::writeRun(RunKind kind,
                                             uint64_t count,
                                             const std::function<Status(RunWriter*)>& fill,
                                             std::vector<Extent>* taken) {
    const uint64_t blocks = runBlocks(count);
    if (blocks > UINT32_MAX) {
        return Status(Code::kLimit, options.path + ": the page map is too large");
    }
    FRESHET_ASSIGN_OR_RETURN(const Extent extent, space.take(static_cast<uint32_t>(blocks), 0));
    taken->push_back(extent);
    RunWriter writer(file.get(),
                     extent,
                     {.kind = static_cast<uint16_t>(kind),
                      .checkpointNo = root.checkpointNo + 1,
                      .count = count,
                      .dbUuidLow = loadLe<uint64_t>(options.dbUuid.data())});
    FRESHET_RETURN_IF_ERROR(fill(&writer));
    return writer.finish();
}

Status BlockFile::Impl::writeBase(CommitPlan* plan) {
    // The old map and the changes, merged in page order.
    auto fill = [&](RunWriter* writer) -> Status {
        auto change = plan->changes.begin();
        auto addChangesBefore = [&](PageId page) -> Status {
            for (; change != plan->changes.end() && change->change->page < page; ++change) {
                FRESHET_RETURN_IF_ERROR(addPresent(*change->change, writer));
            }
            return Status::ok();
        };
        auto addOld = [&](PageId page, const PagePlace& place) -> Status {
            FRESHET_RETURN_IF_ERROR(addChangesBefore(page));
            const bool changed = change != plan->changes.end() && change->change->page == page;
            return changed ? Status::ok() : writer->add(page, place);
        };
        FRESHET_RETURN_IF_ERROR(map.forEach(*file, addOld));
        return addChangesBefore(UINT64_MAX);
    };
    FRESHET_ASSIGN_OR_RETURN(plan->base,
                             writeRun(RunKind::kMapBase, plan->pagesAfter, fill, &plan->taken));
    plan->next.mapBase = plan->base->ref();
    plan->next.mapDelta = {};
    plan->next.deltaCount = 0;
    return Status::ok();
}

Status BlockFile::Impl::writeDelta(CommitPlan* plan) {
    auto fill = [&](RunWriter* writer) -> Status {
        for (const CommitPlan::Planned& planned : plan->changes) {
            FRESHET_RETURN_IF_ERROR(writer->add(planned.change->page, planned.change->place));
        }
        return Status::ok();
    };
    FRESHET_ASSIGN_OR_RETURN(
        plan->delta, writeRun(RunKind::kMapDelta, plan->changes.size(), fill, &plan->taken));
    plan->next.mapDelta[plan->next.deltaCount++] = plan->delta->ref();
    return Status::ok();
}

Status BlockFile::Impl::writeRuns(CommitPlan* plan) {
    plan->next.lateImages = {};
    if (!plan->late.empty()) {
        auto fill = [&](RunWriter* writer) -> Status {
            for (const Change* change : plan->late) {
                FRESHET_RETURN_IF_ERROR(writer->add(change->page, change->place));
            }
            return Status::ok();
        };
        FRESHET_ASSIGN_OR_RETURN(
            const RunIndex late,
            writeRun(RunKind::kLateImages, plan->late.size(), fill, &plan->taken));
        plan->next.lateImages = late.ref();
    }
    if (plan->changes.empty() && !canMoveRuns()) {
        return Status::ok();
    }
    if (wantsBase(*plan)) {
        const size_t before = plan->taken.size();
        Status status = writeBase(plan);
        if (status.code() != Code::kNoSpace || plan->next.deltaCount == kDeltaRunsMax) {
            return status;
        }
        // A new base is an optimization; a delta will do until there is space.
        for (; plan->taken.size() > before; plan->taken.pop_back()) {
            space.give(plan->taken.back());
        }
    }
    return writeDelta(plan);
}

Status BlockFile::commit(const Root& root,
                         const std::vector<Change>& changes,
                         const std::function<void(PageId, const Extent&)>& onReplaced) {
    Impl& impl = *impl_;
    FRESHET_RETURN_IF_ERROR(impl.mayWrite());
    impl.outgoing.clear();
    FRESHET_RETURN_IF_ERROR(impl.overwriteRefused());
    StatusOr<CommitPlan> planned = impl.plan(changes);
    if (!planned.isOk()) {
        // Nothing was written. But without the map no checkpoint can be made any more.
        return impl.fail(std::move(planned).status());
    }
    CommitPlan& plan = *planned;
    if (Status status = impl.writeRuns(&plan); !status.isOk()) {
        // No superblock names the extents that were written.
        for (const Extent& extent : plan.taken) {
            impl.space.give(extent);
        }
        impl.publishStats();
        return status.code() == Code::kNoSpace ? status : impl.fail(status);
    }
    plan.next.flags |= impl.hasCompressed ? kSuperblockCompressed : 0;
    plan.next.flags |= plan.taken.empty() ? 0 : kSuperblockNotes;
    plan.next.checkpointNo = impl.root.checkpointNo + 1;
    plan.next.redoLsn = root.redoLsn;
    plan.next.clockTs = root.clockTs;
    plan.next.timeBase = root.timeBase;
    plan.next.nextPageId = root.nextPageId;
    plan.next.nextTreeId = root.nextTreeId;
    plan.next.dataFileBlocks = impl.space.neededBlocks();
    // From here on a superblock may or may not name the runs.
    Status status = impl.writeSuperblock(plan.next, plan.next.checkpointNo % kSuperblockCopies);
    if (status.code() == Code::kNoSpace) {
        impl.noteRefused(plan);
        return status;
    }
    if (status.isOk()) {
        status = impl.syncFile();
    }
    if (!status.isOk()) {
        return impl.fail(status);
    }
    impl.root = root;
    impl.adopt(&plan, onReplaced);
    return Status::ok();
}

/// A file system that writes every block to a new place can refuse even a superblock for lack of
/// space. The previous checkpoint is whole in the other copy, so the store goes on with it. But the
/// refused superblock may be on the disk all the same, now or after any later flush, and the next
/// open() chooses it, since it is newer. That is right as long as everything it names stays
/// unchanged, besides what the current checkpoint names: its runs, and the images of its changes,
/// which the caller may discard() meanwhile. So these wait until overwriteRefused().
void BlockFile::Impl::noteRefused(const CommitPlan& plan) {
    for (const Extent& extent : plan.taken) {
        refused.add(extent);
    }
    for (const CommitPlan::Planned& planned : plan.changes) {
        const uint64_t block = planned.change->place.extent.firstBlock;
        if (auto image = unnamed.find(block); image != unnamed.end()) {
            image->second.isRefused = true;
        }
    }
    hasRefused = true;
    publishStats();
}

/// Overwrites the refused superblock with the current one. If that write is torn, the current one
/// is whole in the other copy. Once it is durable the refused one is gone, and what only it named
/// is free. So at most one refused superblock is in doubt at a time, however often the disk
/// refuses, and the space held back does not grow.
Status BlockFile::Impl::overwriteRefused() {
    if (!hasRefused) {
        return Status::ok();
    }
    Status status = writeSuperblock(durable, (durable.checkpointNo + 1) % kSuperblockCopies);
    if (status.code() == Code::kNoSpace) {
        return status;
    }
    if (status.isOk()) {
        status = syncFile();
    }
    if (!status.isOk()) {
        return fail(status);
    }
    refused.giveTo(&space);
    for (auto& [block, image] : unnamed) {
        image.isRefused = false;
    }
    hasRefused = false;
    publishStats();
    return Status::ok();
}

/// The checkpoint is durable: it becomes the newest, and what it replaced waits for settle().
void BlockFile::Impl::adopt(CommitPlan* plan, const OnReplaced& onReplaced) {
    for (const auto& [change, before] : plan->changes) {
        if (change->place.extent.blocks != 0) {
            unnamed.erase(change->place.extent.firstBlock);
        }
        if (before.blocks != 0) {
            replaced.add(before);
            if (onReplaced) {
                onReplaced(change->page, before);
            }
        }
    }
    replaced.add({durable.lateImages.firstBlock, durable.lateImages.blocks});
    if (plan->base) {
        replaced.add({durable.mapBase.firstBlock, durable.mapBase.blocks});
        std::for_each_n(durable.mapDelta.begin(), durable.deltaCount, [&](const RunRef& ref) {
            replaced.add({ref.firstBlock, ref.blocks});
        });
        map.setBase(*std::move(plan->base));
    } else if (plan->delta) {
        map.addDelta(*std::move(plan->delta));
    }
    map.setPages(plan->pagesAfter);
    durable = plan->next;
    root.checkpointNo = durable.checkpointNo;
    ++counted.checkpoints;
    publishStats();
}

void BlockFile::Impl::Waiting::add(const Extent& extent) {
    if (extent.blocks != 0) {
        extents.push_back(extent);
        blocks += extent.blocks;
    }
}

void BlockFile::Impl::Waiting::giveTo(Space* space) {
    for (const Extent& extent : extents) {
        space->give(extent);
    }
    extents.clear();
    extents.shrink_to_fit();
    blocks = 0;
}

void BlockFile::settle() {
    Impl& impl = *impl_;
    invariant(impl.isStarted);
    impl.replaced.giveTo(&impl.space);
    // A checkpoint that requires a longer file cannot be chosen any more.
    impl.space.giveBack(impl.durable.dataFileBlocks);
    impl.publishStats();
}

uint64_t BlockFile::Impl::commitNeedBlocks(size_t more) const {
    constexpr uint64_t kTombstonesGuess = 768;  // an estimate of the tombstones in a checkpoint
    return 2 * runBlocks(unnamed.size() + more + kTombstonesGuess);
}

}  // namespace freshet::block
