// SPDX-License-Identifier: Apache-2.0
#include "freshet/base/assert.h"
#include "freshet/engine/txn/txn_impl.h"
#include "freshet/platform/clock.h"

#include <utility>

namespace freshet::engine {
namespace {

uint64_t nanosIn(uint64_t millis) {
    constexpr uint64_t kNanosPerMilli = 1'000'000;
    return platform::coarseNanos() + millis * kNanosPerMilli;
}

}  // namespace

Txn::Txn(Store& store, OnConflict onConflict, Waits waits)
    : impl_(std::make_unique<Impl>(store.core_, onConflict, waits)) {
    begin();
}

Txn::~Txn() {
    impl_->drop();
}

void Txn::Impl::unpin() {
    if (pin.isPinned()) {
        sync::Participant::unpin(&pin);
    }
}

void Txn::Impl::suspend() {
    if (pin.isPinned()) {
        core->table.keepSnapshot(writes.stamp(), pin.ts);
        unpin();
    }
    writes.suspend();
}

void Txn::Impl::dropWrites() {
    if (!writes.resume(core->table)) {
        return;
    }
    if (writes.get()->mustFinish()) {
        finishOrphan(writes.handOn());
    } else {
        writes.get()->abort();
    }
}

void Txn::Impl::drop() {
    // A finished write set does not need the store, which may be gone.
    if (!writes.areOver()) {
        dropWrites();
    }
    unpin();
}

void Txn::begin() {
    Impl& self = *impl_;
    invariant(self.state != Impl::State::kCommitting);
    invariant(self.state != Impl::State::kOpen || !hasWrites());
    sync::Slice slice(self.core->epochs);
    self.drop();
    self.missing.tree.reset();
    self.writes.reset();
    self.late.reset();
    self.pin.ts = self.core->table.snapshot();
    slice.participant().pin(&self.pin);
    self.state = Impl::State::kOpen;
    ++self.serial;
}

Status Txn::beginAt(const Snapshot& snapshot) {
    begin();
    Impl& self = *impl_;
    sync::Slice slice(self.core->epochs);
    self.unpin();
    self.pin.ts = snapshot.readTs_;
    self.late = snapshot.late_;
    return self.pinPast(slice);
}

Status Txn::Impl::pinPast(sync::Slice& slice) {
    const bool isKept = core->history.pin(slice.participant(), &pin) && !hasEnded();
    if (!isKept) {
        unpin();
    }
    state = isKept ? State::kOpen : State::kAborted;
    return isKept ? Status::ok() : snapshotTooOld();
}

void Txn::pause() {
    Impl& self = *impl_;
    invariant(self.state == Impl::State::kOpen && self.writes.stamp() == 0);
    self.unpin();
    self.state = Impl::State::kPaused;
}

Status Txn::resume() {
    Impl& self = *impl_;
    invariant(self.state == Impl::State::kPaused);
    sync::Slice slice(self.core->epochs);
    return self.pinPast(slice);
}

Status Txn::get(Tree& tree, ByteView key, std::string* value) {
    sync::Slice slice(impl_->core->epochs);
    ByteView found;
    FRESHET_RETURN_IF_ERROR(getInPlace(tree, key, &found));
    value->assign(found);
    return Status::ok();
}

// Inlined into both callers: that saves 30 of the 1,150 instructions of a read.
[[gnu::always_inline]] inline Status Txn::Impl::read(Tree& tree,
                                                     ByteView key,
                                                     LeafHint hint,
                                                     ValueRef* value) {
    invariant(state == State::kOpen);
    dcheck(core->epochs.here().inSlice());
    if (hasEnded()) [[unlikely]] {
        return snapshotTooOld();
    }
    if (missed.at.entry != nullptr) [[unlikely]] {
        hint = takeMissed(tree);
    }
    const uint32_t generation = tree.pages().hintGeneration();
    Fault met;
    const std::optional<ValueRef> found = tree.pages().get(key, view(), &met, hint);
    if (wereWritesEnded()) [[unlikely]] {
        return endedByAnother();
    }
    if (met.leaf != nullptr) {
        return want(tree, met, generation);
    }
    if (!found) {
        return Status(Code::kNotFound, "no such key");
    }
    *value = *found;
    return Status::ok();
}

LeafHint Txn::Impl::takeMissed(const Tree& tree) {
    const Missed last = std::exchange(missed, {});
    return last.tree.lock().get() == &tree ? last.at : LeafHint();
}

Status Txn::getInPlace(Tree& tree, ByteView key, ByteView* value, LeafHint hint) {
    ValueRef found;
    FRESHET_RETURN_IF_ERROR(impl_->read(tree, key, hint, &found));
    *value = found.bytes;
    return Status::ok();
}

Status Txn::getShared(Tree& tree, ByteView key, SharedRead* read, LeafHint hint) {
    ValueRef found;
    FRESHET_RETURN_IF_ERROR(impl_->read(tree, key, hint, &found));
    read->bytes = found.bytes;
    if (found.bytes.size() >= read->shareBytesMin && found.shared != nullptr) {
        read->share = ValueShare(found, impl_->core.get());
    }
    return Status::ok();
}

Status Txn::put(Tree& tree, ByteView key, ByteView value) {
    return impl_->write(tree, WriteKind::kPut, key, value);
}

Status Txn::insert(Tree& tree, ByteView key, ByteView value) {
    return impl_->write(tree, WriteKind::kInsert, key, value);
}

Status Txn::erase(Tree& tree, ByteView key) {
    return impl_->write(tree, WriteKind::kErase, key, {});
}

Status Txn::Impl::write(Tree& tree, WriteKind kind, ByteView key, ByteView value) {
    invariant(state == State::kOpen);
    if (key.size() > kKeyBytesMax || value.size() > kValueBytesMax) {
        return Status(Code::kLimit, "key or value too large");
    }
    if (!hasWaitedForMemory && core->memory.mustWait(&token)) {
        hasWaitedForMemory = true;
        return Status::wouldBlock();
    }
    hasWaitedForMemory = false;
    if (!writes.resume(core->table)) {
        return endedByAnother();
    }
    Status status = writeActive(tree, kind, key, value);
    if (writes.areForOthersToEnd()) {
        suspend();
    }
    return status;
}

Status Txn::Impl::writeActive(Tree& tree, WriteKind kind, ByteView key, ByteView value) {
    sync::Slice slice(core->epochs);
    if (hasEnded()) {
        return snapshotTooOld();
    }
    slice.participant().noteWriting();
    FRESHET_RETURN_IF_ERROR(openWrites(slice));
    const VersionOp op = kind == WriteKind::kErase ? VersionOp::kDelete : VersionOp::kPut;
    const WriteResult result = tree.pages().write({kind, op, key, value, writes.stamp(), view()});
    switch (result.kind) {
        case WriteResult::Kind::kDone:
            writes.get()->add(tree, result.version, key, value);
            ++serial;
            return Status::ok();
        case WriteResult::Kind::kNotFound:
            return Status(Code::kNotFound, "no such key");
        case WriteResult::Kind::kExists:
            return Status(Code::kExists, "the key exists already");
        case WriteResult::Kind::kOnDisk:
            return want(tree, result.fault);
        case WriteResult::Kind::kConflict:
        case WriteResult::Kind::kBusy:
            break;
    }
    return conflictWith(result);
}

Status Txn::Impl::openWrites(sync::Slice& slice) {
    if (writes.get() != nullptr) {
        return writes.get()->recordBytes() > core->transactionBytesMax
                   ? Status(Code::kLimit, "transaction too large")
                   : Status::ok();
    }
    FRESHET_ASSIGN_OR_RETURN(uint64_t stamp, core->table.open(slice.participant().index()));
    const bool mustEnd = onConflict == OnConflict::kFail && core->transactionMillisMax != 0;
    writes.open(core, stamp, mustEnd ? nanosIn(core->transactionMillisMax) : 0);
    return Status::ok();
}

template <typename Change>
Status Txn::Impl::changeWrites(Change change) {
    invariant(state == State::kOpen);
    if (!writes.resume(core->table)) {
        return endedByAnother();
    }
    Status status;
    {
        sync::Slice slice(core->epochs);
        status = hasEnded() ? snapshotTooOld() : openWrites(slice);
    }
    if (status.isOk()) {
        change(*writes.get());
    }
    if (writes.areForOthersToEnd()) {
        suspend();
    }
    return status;
}

Status Txn::addEvent(ByteView event) {
    if (event.size() > kEventBytesMax) {
        return Status(Code::kLimit, "event too large");
    }
    return impl_->changeWrites([&](WriteSet& writes) { writes.addEvent(event); });
}

Status Txn::endAfter(uint64_t millis) {
    return impl_->changeWrites(
        [&](WriteSet& writes) { writes.setEnd(millis == 0 ? 0 : nanosIn(millis)); });
}

Status Txn::growDespiteShortage() {
    return impl_->changeWrites([](WriteSet& writes) { writes.growDespiteShortage(); });
}

Status Txn::Impl::snapshotTooOld() {
    return Status(Code::kConflict,
                  Reason::kSnapshotTooOld,
                  "the snapshot has ended: memory was short, and it needed old versions, or it was "
                  "older than what is kept");
}

Status Txn::Impl::endedByAnother() {
    return Status(Code::kConflict,
                  Reason::kTransactionEnded,
                  "the transaction was ended: it was too old, or it had written much while "
                  "memory was short");
}

Status Txn::Impl::want(Tree& tree, const Fault& met, std::optional<uint32_t> generation) {
    if (generation) {
        missed = {tree.weak_from_this(), {met.entry, 0, *generation}};
    }
    if (waits == Waits::kHere) {
        Status status = core->loads->wantHere(met);
        if (status.isWouldBlock()) {
            missing = {tree.shared_from_this(), met.leaf->low.string()};
        }
        return status;
    }
    return core->loads->want(tree, met, &token);
}

void Txn::await() {
    Impl& self = *impl_;
    invariant(self.waits == Waits::kHere);
    if (const Impl::Missing missing = std::exchange(self.missing, {}); missing.tree != nullptr) {
        self.core->loads->await(missing.tree->pages(), missing.low);
    } else {
        invariant(self.token.isSet());
        sync::blockOn(self.token);
    }
}

Status Txn::Impl::conflictWith(const WriteResult& result) {
    if (result.kind == WriteResult::Kind::kBusy && onConflict == OnConflict::kWait) {
        token = core->table.endOf(result.other);
        count(core->conflictWaits);
        return Status::wouldBlock();
    }
    if (result.kind == WriteResult::Kind::kConflict) {
        // The next snapshot must include that commit, else running again would fail again.
        core->table.completeUpTo(result.other);
    }
    count(core->conflicts);
    return Status(Code::kConflict, Reason::kWriteConflict, "another transaction changed the key");
}

Status Txn::commit() {
    Impl& self = *impl_;
    invariant(self.state == Impl::State::kOpen || self.state == Impl::State::kCommitting);
    if (!self.writes.resume(self.core->table)) {
        abort();
        return Impl::endedByAnother();
    }
    if (!hasWrites()) {
        self.drop();
        self.writes.reset();
        self.state = Impl::State::kCommitted;
        return Status::ok();
    }
    // Outside a slice this may notice the end too late, which does no harm: nothing reads by the
    // snapshot from here on.
    if (self.state == Impl::State::kOpen && self.hasEnded()) {
        abort();
        return Impl::snapshotTooOld();
    }
    self.state = Impl::State::kCommitting;
    Status status = self.writes.get()->commit(&self.token);
    if (!status.isWouldBlock()) {
        self.state = status.isOk() ? Impl::State::kCommitted : Impl::State::kAborted;
        self.unpin();
    }
    return status;
}

Status Txn::waitFor(Durability durability) {
    Impl& self = *impl_;
    invariant(self.state == Impl::State::kCommitted);
    WriteSet* const writes = self.writes.get();
    if (writes == nullptr || durability == Durability::kNoSync) {
        return Status::ok();
    }
    if (self.core->journal == nullptr) {
        return Status(Code::kUnsupported, "a store without a journal makes nothing durable");
    }
    journal::Journal& journal = *self.core->journal;
    return durability == Durability::kWritten ? journal.written(writes->lsn(), &self.token)
                                              : journal.durable(writes->lsn(), &self.token);
}

void Txn::abort() {
    dcheck(impl_->state != Impl::State::kCommitted);
    if (impl_->state == Impl::State::kCommitted) {
        return;  // nothing is left to undo
    }
    impl_->drop();
    impl_->writes.reset();
    impl_->state = Impl::State::kAborted;
}

const sync::WaitToken& Txn::token() const {
    return impl_->token;
}

uint64_t Txn::readTs() const {
    return impl_->pin.ts;
}

bool Txn::hasWrites() const {
    return !impl_->writes.isEmpty();
}

journal::Lsn Txn::commitLsn() const {
    invariant(impl_->state == Impl::State::kCommitted && hasWrites());
    invariant(impl_->core->journal != nullptr);
    return impl_->writes.get()->lsn();
}

}  // namespace freshet::engine
