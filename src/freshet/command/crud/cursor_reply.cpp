// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/crud/cursor_reply.h"

#include "freshet/command/access/authorize.h"
#include "freshet/command/reply/envelope.h"
#include "freshet/platform/clock.h"

#include <algorithm>
#include <limits>

namespace freshet::command {
namespace {

/// The size of one batch's documents; names and the envelope use the reply's headroom. A client
/// takes what it gets and asks for more, so batches become smaller when replies and other requests
/// have used much of the shared memory.
size_t batchBytesMax(const Invocation& call, bool isLast) {
    constexpr uint64_t kLeast = 256 * 1024;
    constexpr uint64_t kPart = 16;  // of what is left
    const sync::MemoryPool* const pool = call.services.memory;
    if (isLast || pool == nullptr || pool->bytesMax() == 0) {
        return bson::kDocumentBytesMax;
    }
    const uint64_t left = pool->bytesMax() - std::min(pool->bytesMax(), pool->used());
    return std::clamp<uint64_t>(left / kPart, kLeast, bson::kDocumentBytesMax);
}

class ListCursor final : public query::QueryCursor {
public:
    explicit ListCursor(std::vector<bson::OwnedDocument> documents)
        : documents_(std::move(documents)),
          bytes_(query::kCursorBytes + bson::bytesOf(documents_)),
          token_(sync::WaitToken::completed()) {}
    void attach() override {}
    void detach() override {}
    Status next(query::Batch* batch) override {
        while (next_ < documents_.size() && !batch->isFull() &&
               batch->add(documents_[next_].view())) {
            ++next_;
        }
        return Status::ok();
    }
    const sync::WaitToken& token() const override { return token_; }
    bool isExhausted() const override { return next_ == documents_.size(); }
    uint64_t heldBytes() const override { return bytes_; }
    bson::OwnedDocument describePlan() const override { return {}; }

private:
    const std::vector<bson::OwnedDocument> documents_;
    const uint64_t bytes_;
    const sync::WaitToken token_;
    size_t next_ = 0;
};

bool hasCome(uint64_t nanos) {
    return nanos != 0 && platform::monotonicNanos() >= nanos;
}

/// Fills the rest of the batch from an attached cursor that has to wait, or yields. `id`: the
/// registered cursor's, 0 for a new one. WouldBlock: the cursor has given all that exists, or the
/// time `untilNanos` has come.
sync::Task<Status> goOn(Invocation& call,
                        query::QueryCursor& cursor,
                        int64_t id,
                        query::Batch* batch,
                        uint64_t untilNanos = 0) {
    Status status = Status::wouldBlock();
    while (status.isWouldBlock() && !cursor.awaitsData() && !hasCome(untilNanos)) {
        noteYieldOf(call, cursor);
        FRESHET_CO_RETURN_IF_ERROR(call.checkInterrupt());
        if (id != 0 && call.services.cursors.isKilled(id)) {
            co_return Status(Code::kCancelled, Reason::kInterrupted, "the cursor was killed");
        }
        co_await sync::wait(cursor.token());
        status = cursor.next(batch);
    }
    co_return status;
}

/// {cursor: {firstBatch: [...], postBatchResumeToken: ..., id: ..., ns: ...}}, written as it is
/// read.
class CursorReply {
public:
    /// `borrowed`: as in query::Batch.
    CursorReply(bson::Builder* reply,
                std::string_view field,
                size_t documentsMax,
                size_t bytesMax = bson::kDocumentBytesMax,
                std::unique_ptr<query::BorrowedDocuments>* borrowed = nullptr)
        : cursor_(reply->object("cursor")),
          array_(cursor_.array(field)),
          batch_(&array_, documentsMax, bytesMax, borrowed) {}

    query::Batch* batch() { return &batch_; }
    struct Rest {
        int64_t id = 0;
        std::string ns;
        bson::OwnedDocument resumeToken{};  // {}: the cursor has none
        bool isInvalidated = false;         // a change stream has ended
        size_t bytesBorrowed = 0;           // of all documents that were left out of the batch
        uint64_t clusterTime = 0;           // at which the cursor reads; 0: at no certain one
    };
    void finish(const Rest& rest) {
        array_.close(rest.bytesBorrowed);
        if (!rest.resumeToken.view().isEmpty()) {
            cursor_.add("postBatchResumeToken", rest.resumeToken.view());
        }
        if (rest.isInvalidated) {
            cursor_.add("invalidated", true);
        }
        cursor_.add("id", rest.id).add("ns", rest.ns);
        if (rest.clusterTime != 0) {
            cursor_.add("atClusterTime", bson::Timestamp{rest.clusterTime});
        }
        cursor_.close(rest.bytesBorrowed);
    }

private:
    bson::Builder cursor_;
    bson::Builder array_;
    query::Batch batch_;
};

/// How a batch is to be made.
struct Plan {
    std::string_view field;
    size_t documentsMax;
    bool isLast = false;      // the cursor is not kept
    uint64_t untilNanos = 0;  // how long to wait for data; 0: not at all
};

/// Keeps the cursor until its client asks for more; a new one is registered.
StatusOr<int64_t> keep(Invocation& call, ClientCursor cursor) {
    const int64_t id = cursor.id;
    if (cursor.snapshot != nullptr) {
        cursor.snapshot->transaction.pause();
    }
    if (call.deadlineNanos != 0 && (id == 0 || cursor.nanosLeft != 0)) {
        const uint64_t now = platform::monotonicNanos();
        cursor.nanosLeft = call.deadlineNanos > now ? call.deadlineNanos - now : 1;
    }
    if (id != 0) {
        call.services.cursors.checkIn(std::move(cursor));
        return id;
    }
    cursor.lsid = call.generic.lsid;
    cursor.transaction = call.transaction;
    cursor.owner = ownerOf(call);
    cursor.holder = holderOf(call);
    cursor.connectionId = call.client.connectionId;
    return call.services.cursors.add(std::move(cursor));
}

/// A cursor is not kept when its client has left before the batch was ready.
Status checkThatAnybodyListens(const Invocation& call) {
    const Reason why = call.connection.interrupted();
    return why == Reason::kNone ? Status::ok()
                                : Status(Code::kCancelled, why, "operation was interrupted");
}

/// Keeps the rest of the cursor, if there is any, and ends the reply.
Status conclude(
    Invocation& call, ClientCursor cursor, const Plan& plan, Status status, CursorReply* reply) {
    // When no reply is wanted, no client will learn a new cursor's id.
    const bool isOver = plan.isLast || cursor.cursor->isExhausted() ||
                        (cursor.id == 0 && call.request.moreToCome());
    if (status.isOk() && !isOver) {
        status = checkThatAnybodyListens(call);
    }
    if (cursor.id != 0 && (isOver || !status.isOk())) {
        // After an error too: documents of the lost batch would be missing from the next one.
        call.services.cursors.forget(cursor.id);
    }
    FRESHET_RETURN_IF_ERROR(std::move(status));
    CursorReply::Rest rest{.ns = cursor.ns, .resumeToken = cursor.cursor->resumeToken()};
    rest.isInvalidated = cursor.cursor->isExhausted() && !rest.resumeToken.view().isEmpty();
    rest.bytesBorrowed = call.borrowedBytes();
    rest.clusterTime = cursor.snapshot == nullptr ? 0 : cursor.snapshot->clusterTime;
    if (!isOver) {
        FRESHET_ASSIGN_OR_RETURN(rest.id, keep(call, std::move(cursor)));
    }
    reply->finish(rest);
    call.stats.nReturned = static_cast<int64_t>(reply->batch()->count());
    call.stats.cursorId = rest.id;
    call.hasOpenCursor = rest.id != 0;
    return Status::ok();
}

void noteWork(Invocation& call, const query::QueryCursor& cursor, const query::WorkDone& before) {
    call.stats.work = cursor.work();
    call.stats.work.subtract(before);
}

/// Reads one batch from a cursor. The cursor is attached while it is read, not while data is
/// awaited.
class Reading {
public:
    Reading(Invocation& call, ClientCursor& cursor, query::Batch* batch, uint64_t untilNanos)
        : call_(call), cursor_(cursor), batch_(batch), untilNanos_(untilNanos) {}

    /// A getMore's cursor has scripts.
    bool needsScriptThread() const { return cursor_.hasScripts && !call_.runsScripts; }

    /// Reads until the batch is full or the cursor at its end. WouldBlock: readOn() continues.
    /// REQUIRES: a thread on which its scripts may run.
    Status begin() {
        source().attach();
        // After attach(): everything in the snapshot was appended before this.
        tail_ = call_.services.store.journal().tailLsn();
        Status status = source().next(batch_);
        if (!status.isWouldBlock()) {
            source().detach();
        }
        return status;
    }
    /// WouldBlock: there is nothing more now.
    sync::Task<Status> readOn() {
        Status status = co_await goOn(call_, source(), cursor_.id, batch_, untilNanos_);
        source().detach();
        co_return status;
    }
    /// Both together, on a thread on which its scripts may run.
    sync::Task<Status> read() {
        return needsScriptThread() ? call_.services.scripts.run(call_, readHere()) : readHere();
    }
    /// There is nothing more now: waits until there is, if the batch is empty and the time has not
    /// come.
    sync::Task<Status> awaitData() {
        Status status = Status::wouldBlock();
        while (status.isWouldBlock() && batch_->count() == 0 && untilNanos_ != 0 &&
               !hasCome(untilNanos_)) {
            const uint64_t begun = platform::monotonicNanos();
            status = co_await waitOrStop(call_, source().token(), untilNanos_);
            call_.awaitedNanos += platform::monotonicNanos() - begun;
            if (status.isOk()) {
                status = co_await read();
            }
        }
        co_return status.isWouldBlock() ? Status::ok() : status;
    }
    /// Everything that was read is on stable storage.
    sync::Task<Status> waitUntilDurable() {
        journal::Journal& journal = call_.services.store.journal();
        if (!cursor_.isTailable) {
            return command::waitUntilDurable(journal, tail_);
        }
        // Its documents may be newer than its last attach().
        return command::waitUntilDurable(journal, batch_->count() == 0 ? 0 : journal.tailLsn());
    }

private:
    query::QueryCursor& source() const { return *cursor_.cursor; }
    sync::Task<Status> readHere() {
        Status status = begin();
        if (status.isWouldBlock()) {
            status = co_await readOn();
        }
        co_return status;
    }

    Invocation& call_;
    ClientCursor& cursor_;
    query::Batch* const batch_;
    const uint64_t untilNanos_;
    journal::Lsn tail_ = 0;  // at the last attach()
};

/// An error of a running tail, with what MongoDB says before it. Some stages have said it already.
Status inContext(const Invocation& call, Status status) {
    if (status.code() == Code::kCancelled || status.text().starts_with("PlanExecutor error")) {
        return status;
    }
    return status.withContext(call.command.kind == OpKind::kGetMore
                                  ? "Executor error during getMore :: caused by :"
                              : call.command.kind == OpKind::kQuery
                                  ? "Executor error during find command :: caused by :"
                                  : "PlanExecutor error during aggregation :: caused by :");
}

/// Fills a batch, waits for the disk when the read concern asks for it, and keeps what is left.
sync::Task<Status> replyWithBatch(Invocation& call, ClientCursor cursor, Plan plan) {
    CursorReply reply(&call.reply,
                      plan.field,
                      plan.documentsMax,
                      batchBytesMax(call, plan.isLast),
                      call.mayBorrow ? &call.borrowed : nullptr);
    Status status;
    if (plan.documentsMax > 0) {
        const query::WorkDone before = cursor.cursor->work();
        Reading reading(call, cursor, reply.batch(), plan.untilNanos);
        if (reading.needsScriptThread()) {
            status = co_await reading.read();
        } else {
            status = reading.begin();  // usually all, without another coroutine
            if (status.isWouldBlock()) {
                status = co_await reading.readOn();
            }
        }
        if (status.isWouldBlock()) {
            status = co_await reading.awaitData();
        }
        noteWork(call, *cursor.cursor, before);
        if (status.isOk() && cursor.needsDurableRead) {
            status = co_await reading.waitUntilDurable();
            cursor.needsDurableRead = cursor.snapshot == nullptr;  // which shows nothing newer
        }
        if (!status.isOk() && cursor.isTailable) {
            status = inContext(call, std::move(status));
        }
    }
    co_return conclude(call, std::move(cursor), plan, std::move(status), &reply);
}

}  // namespace

sync::Task<Status> replyWithFirstBatch(Invocation& call,
                                       std::unique_ptr<query::QueryCursor> cursor,
                                       FirstBatch first) {
    ClientCursor made;
    made.ns = std::move(first.ns);
    made.neverTimesOut = first.neverTimesOut;
    made.cursor = std::move(cursor);
    made.snapshot = call.snapshot;
    made.needsDurableRead = call.generic.needsDurableRead;
    made.hasScripts = call.runsScripts;
    made.mayTakeLong = call.mayTakeLong;
    made.isTailable = first.isTailable;
    made.awaitsData = first.awaitsData;
    return replyWithBatch(call,
                          std::move(made),
                          {"firstBatch", static_cast<size_t>(first.batchSize), first.isSingle});
}

std::string emptyFirstBatch(const Services& services, const std::string& ns) {
    bson::Builder body;
    CursorReply(&body, "firstBatch", 0).finish({.ns = ns});
    addOk(services, &body);
    return body.finish();
}

sync::Task<Status> replyWithNextBatch(Invocation& call,
                                      ClientCursor cursor,
                                      int64_t batchSize,
                                      uint64_t untilNanos) {
    const size_t documentsMax =
        batchSize == 0 ? std::numeric_limits<size_t>::max() : static_cast<size_t>(batchSize);
    return replyWithBatch(call, std::move(cursor), {"nextBatch", documentsMax, false, untilNanos});
}

sync::Task<Status> fillBatch(Invocation& call, query::QueryCursor& cursor, query::Batch* batch) {
    Status status = cursor.next(batch);
    if (status.isWouldBlock()) {
        status = co_await goOn(call, cursor, 0, batch);
    }
    co_return status;
}

sync::Task<Status> readOnce(Invocation& call, query::QueryCursor& cursor, query::Batch* batch) {
    cursor.attach();
    Status status = cursor.next(batch);
    while (status.isWouldBlock()) {
        status = call.checkInterrupt();
        if (status.isOk()) {
            co_await sync::wait(cursor.token());
            status = cursor.next(batch);
        }
    }
    cursor.detach();
    co_return status;
}

StatusOr<int64_t> batchSizeOf(const Invocation& call, int64_t fallback) {
    Fields outer(call.body(), call.command.name);
    bson::Document options = outer.object("cursor");
    Fields fields(options, std::string_view("cursor"));
    fields.allowOnly({"batchSize"});
    const int64_t size = fields.integer("batchSize", fallback, 0);
    FRESHET_RETURN_IF_ERROR(outer.status());
    FRESHET_RETURN_IF_ERROR(fields.status());
    return size;
}

std::unique_ptr<query::QueryCursor> makeListCursor(std::vector<bson::OwnedDocument> documents) {
    return std::make_unique<ListCursor>(std::move(documents));
}

}  // namespace freshet::command
