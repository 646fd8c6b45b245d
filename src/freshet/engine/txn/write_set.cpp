// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/txn/write_set.h"

#include "freshet/base/assert.h"
#include "freshet/platform/clock.h"
#include "freshet/sync/executor.h"
#include "freshet/telemetry/log.h"

#include <algorithm>

namespace freshet::engine {

void settle(TxnTable& table, uint64_t stamp, std::span<Version* const> versions, uint64_t final) {
    if (mutated(Mutant::kRecycleBeforeStamps)) {
        table.close(stamp);
    }
    for (Version* version : versions) {
        // [stamp.final] release: pairs with [stamp.read] and [stamp.again].
        version->stamp.store(final, sync::kRelease);
    }
    if (!mutated(Mutant::kRecycleBeforeStamps)) {
        table.close(stamp);
    }
}

WriteSet::~WriteSet() {
    dcheck(settled_);
    if (besideBytes_ != 0) {
        MemoryCount::subtract(besideBytes_);
    }
}

void WriteSet::add(Tree& tree, Version* version, ByteView key, ByteView value) {
    versions_.push_back(version);
    const bool held = std::any_of(
        trees_.begin(), trees_.end(), [&](const TreeRef& ref) { return ref.get() == &tree; });
    if (!held) {
        trees_.push_back(tree.shared_from_this());
    }
    // Catalog entries are small, and dropping an index is a change of one.
    grows_ |= !version->isDelete() && tree.id != kCatalogTree;
    if (core_->journal == nullptr) {
        unloggedBytes_ += key.size() + value.size();
        return;
    }
    record_.add(tree.id, version->isDelete() ? CommitOp::kDelete : CommitOp::kPut, key, value);
}

void WriteSet::addEvent(ByteView event) {
    if (core_->journal != nullptr) {
        record_.addEvent(event);
    }
}

Status WriteSet::commit(sync::WaitToken* token) {
    sync::Slice slice(core_->epochs);
    if (!append_) {
        // [space.read] relaxed: see StoreCore::spaceShort.
        if (grows_ && !growsDespiteShortage_ && core_->spaceShort.load(sync::kRelaxed)) {
            abort();
            return Status(Code::kNoSpace,
                          "the data file is full and cannot grow; only reads, deletes and drops "
                          "are accepted");
        }
        if (core_->journal == nullptr) {
            core_->table.setCommitting(stamp_);
            settleAt(core_->table.claim(stamp_));
            return Status::ok();
        }
        const uint16_t participant = slice.participant().index();
        steps_.emplace(core_->table, core_->floors, core_->times, participant);
        steps_->begin(stamp_, core_->journal->tailLsn());
        record_.finish(record_.hasEvents() ? platform::wallMillis() : 0);
        append_.emplace(journal::RecordType::kCommit, participant, record_.takeBody(0));
    }
    if (Status appended = appendAll(); !appended.isOk()) {
        if (appended.isWouldBlock()) {
            *token = append_->token();
        } else {
            abort();  // if records of a chain are in the journal, they count for nothing
        }
        return appended;
    }
    if (core_->holdCommitsUntilDurable) {
        // A failed journal is reported by waitFor(), as always.
        if (Status durable = core_->journal->durable(append_->lsn(), token);
            durable.isWouldBlock()) {
            return durable;
        }
    }
    settleAt(steps_->complete(stamp_, append_->timestamp()));
    return Status::ok();
}

Status WriteSet::appendAll() {
    while (!appended_) {
        FRESHET_RETURN_IF_ERROR(core_->journal->append(*append_));
        if (record_.bodiesLeft() == 0) {
            appended_ = true;
            break;
        }
        first_ = first_ == 0 ? append_->lsn() : first_;
        append_.emplace(
            journal::RecordType::kCommit, steps_->participant(), record_.takeBody(first_));
    }
    return Status::ok();
}

void WriteSet::settleAt(uint64_t ts) {
    settle(core_->table, stamp_, versions_, ts);
    settled_ = true;
}

void WriteSet::abort() {
    sync::Slice slice(core_->epochs);
    if (steps_) {
        steps_->giveUp();
    }
    core_->table.setAborted(stamp_);
    settleAborted();
}

void WriteSet::settleAborted() {
    settle(core_->table, stamp_, versions_, kStampAborted);
    settled_ = true;
    if (!empty()) {
        count(core_->aborts);
    }
}

void WriteSet::suspend() {
    // The versions have counted since they were made. Both buffers grow by doubling, so this seldom
    // changes.
    const size_t beside = record_.memoryBytes() + versions_.capacity() * sizeof(Version*);
    if (beside != besideBytes_) {
        MemoryCount::add(beside);
        if (besideBytes_ != 0) {
            MemoryCount::subtract(besideBytes_);
        }
        besideBytes_ = beside;
    }
    core_->table.suspend(stamp_, this, {memoryBytes(), platform::coarseNanos(), endNanos_});
}

namespace {

/// Null: nothing was ended. REQUIRES: the slice in which the writes were ended (INV-engine-9):
/// others may retire the versions meanwhile.
std::unique_ptr<WriteSet> settleEnded(const TxnTable::Ended& ended) {
    std::unique_ptr<WriteSet> writes(static_cast<WriteSet*>(ended.writes));
    if (writes != nullptr) {
        writes->settleAborted();
    }
    return writes;
}

}  // namespace

uint64_t endLargestWrites(StoreCore& core, uint64_t suspendedBeforeNanos, uint64_t togetherMin) {
    sync::Slice slice(core.epochs);
    const auto ended = settleEnded(core.table.endLargest(suspendedBeforeNanos, togetherMin));
    return ended == nullptr ? 0 : ended->memoryBytes();
}

bool endWritesDueBefore(StoreCore& core, uint64_t nanos) {
    sync::Slice slice(core.epochs);
    return settleEnded(core.table.endDueBefore(nanos)) != nullptr;
}

bool OwnWrites::resumeSuspended(TxnTable& table) {
    if (!table.resume(stamp_)) {
        (void)set_.release();  // it belongs to the thread that ended it
        return false;
    }
    isSuspended_ = false;
    return true;
}

namespace {

/// Calls commit() again on the reactor's thread whenever the journal has room.
struct Orphan : sync::Waiter, sync::WorkItem {
    std::unique_ptr<WriteSet> writes;
    sync::Executor* executor = nullptr;
    sync::WaitToken token;

    static void step(sync::WorkItem* item) {
        auto* self = static_cast<Orphan*>(item);
        Status status = self->writes->commit(&self->token);
        if (!status.isWouldBlock()) {
            delete self;
            return;
        }
        self->wake = [](sync::Waiter* waiter) {
            auto* orphan = static_cast<Orphan*>(waiter);
            orphan->executor->post(orphan);
        };
        if (!self->token.arm(self)) {
            self->executor->post(self);
        }
    }
};

}  // namespace

void finishOrphan(std::unique_ptr<WriteSet> writes) {
    if (sync::Executor* executor = sync::Executor::current()) {
        auto* orphan = new Orphan;
        orphan->writes = std::move(writes);
        orphan->executor = executor;
        orphan->run = Orphan::step;
        executor->post(orphan);
        return;
    }
    sync::WaitToken token;
    Status status = writes->commit(&token);
    while (status.isWouldBlock()) {
        sync::blockOn(token);
        status = writes->commit(&token);
    }
    if (!status.isOk()) {
        telemetry::logError("engine", "an abandoned commit failed: " + status.toString());
    }
}

}  // namespace freshet::engine
