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

/// Fills the rest of the batch from an attached cursor that has to wait, or yields. `id`: the
/// registered cursor's, 0 for a new one.
sync::Task<Status> goOn(Invocation& call,
                        query::QueryCursor& cursor,
                        int64_t id,
                        query::Batch* batch) {
    Status status = Status::wouldBlock();
    while (status.isWouldBlock()) {
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

/// {cursor: {firstBatch: [...], id: ..., ns: ...}}, written as it is read.
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
    /// `bytesBorrowed`: of all documents that were left out of the batch.
    void finish(int64_t id, const std::string& ns, size_t bytesBorrowed = 0) {
        array_.close(bytesBorrowed);
        cursor_.add("id", id).add("ns", ns);
        cursor_.close(bytesBorrowed);
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
    bool isLast = false;  // the cursor is not kept
};

/// Keeps the cursor until its client asks for more; a new one is registered.
StatusOr<int64_t> keep(Invocation& call, ClientCursor cursor) {
    const int64_t id = cursor.id;
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
    const std::string ns = cursor.ns;
    int64_t id = 0;
    if (!isOver) {
        FRESHET_ASSIGN_OR_RETURN(id, keep(call, std::move(cursor)));
    }
    reply->finish(id, ns, call.borrowedBytes());
    call.stats.nReturned = static_cast<int64_t>(reply->batch()->count());
    call.stats.cursorId = id;
    call.hasOpenCursor = id != 0;
    return Status::ok();
}

void noteWork(Invocation& call, const query::QueryCursor& cursor, const query::WorkDone& before) {
    call.stats.work = cursor.work();
    call.stats.work.subtract(before);
}

/// Attaches the cursor, fills a batch, waits for the disk when the read concern asks for it, and
/// keeps what is left.
sync::Task<Status> replyWithBatch(Invocation& call, ClientCursor cursor, Plan plan) {
    CursorReply reply(&call.reply,
                      plan.field,
                      plan.documentsMax,
                      batchBytesMax(call, plan.isLast),
                      call.mayBorrow ? &call.borrowed : nullptr);
    query::QueryCursor& source = *cursor.cursor;
    Status status;
    if (plan.documentsMax > 0) {
        const query::WorkDone before = source.work();
        source.attach();
        // After attach(): everything in the snapshot was appended before this.
        const journal::Lsn tail = call.services.store.journal().tailLsn();
        status = source.next(reply.batch());
        if (status.isWouldBlock()) {
            status = co_await goOn(call, source, cursor.id, reply.batch());
        }
        source.detach();
        noteWork(call, source, before);
        if (status.isOk() && cursor.needsDurableRead) {
            status = co_await waitUntilDurable(call.services.store.journal(), tail);
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
    made.needsDurableRead = call.generic.needsDurableRead;
    made.hasScripts = call.runsScripts;
    made.mayTakeLong = call.mayTakeLong;
    return replyWithBatch(call,
                          std::move(made),
                          {"firstBatch", static_cast<size_t>(first.batchSize), first.isSingle});
}

std::string emptyFirstBatch(const Services& services, const std::string& ns) {
    bson::Builder body;
    CursorReply(&body, "firstBatch", 0).finish(0, ns);
    addOk(services, &body);
    return body.finish();
}

sync::Task<Status> replyWithNextBatch(Invocation& call, ClientCursor cursor, int64_t batchSize) {
    const size_t documentsMax =
        batchSize == 0 ? std::numeric_limits<size_t>::max() : static_cast<size_t>(batchSize);
    return replyWithBatch(call, std::move(cursor), {"nextBatch", documentsMax});
}

sync::Task<Status> fillBatch(Invocation& call,
                             query::QueryCursor& cursor,
                             query::Batch* batch,
                             int64_t id) {
    Status status = cursor.next(batch);
    if (status.isWouldBlock()) {
        status = co_await goOn(call, cursor, id, batch);
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
