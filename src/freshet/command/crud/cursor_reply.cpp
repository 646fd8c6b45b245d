// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/crud/cursor_reply.h"

#include "freshet/command/access/authorize.h"

#include <limits>

namespace freshet::command {
namespace {

/// Documents of one batch; names and the envelope have the reply's headroom.
constexpr size_t kBatchBytesMax = bson::kDocumentBytesMax;

class ListCursor final : public query::QueryCursor {
public:
    explicit ListCursor(std::vector<bson::OwnedDocument> documents)
        : documents_(std::move(documents)), token_(sync::WaitToken::completed()) {}
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
    bson::OwnedDocument describePlan() const override { return {}; }

private:
    const std::vector<bson::OwnedDocument> documents_;
    const sync::WaitToken token_;
    size_t next_ = 0;
};

/// Fills the rest of the batch from an attached cursor that has to wait, or lets others run. `id`:
/// the registered cursor's, 0 for a new one.
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

/// Attaches, fills, and waits for the disk when the read concern asks for it.
sync::Task<Status> read(Invocation& call,
                        query::QueryCursor& cursor,
                        int64_t id,
                        bool needsDurableRead,
                        query::Batch* batch) {
    query::WorkDone before;  // of a new cursor nothing
    if (id != 0) {
        before = cursor.work();
    }
    cursor.attach();
    // After attach(): everything in the snapshot was appended before this.
    const journal::Lsn tail = call.services.store.journal().tailLsn();
    Status status = cursor.next(batch);
    if (status.isWouldBlock()) {
        status = co_await goOn(call, cursor, id, batch);
    }
    cursor.detach();
    call.stats.work = cursor.work();
    call.stats.work.subtract(before);
    if (status.isOk() && needsDurableRead) {
        status = co_await waitUntilDurable(call.services.store.journal(), tail);
    }
    co_return status;
}

/// {cursor: {firstBatch: [...], id: ..., ns: ...}}, written as it is read.
class CursorReply {
public:
    CursorReply(Invocation& call, std::string_view field, size_t documentsMax)
        : call_(call),
          cursor_(call.reply.object("cursor")),
          array_(cursor_.array(field)),
          batch_(&array_, documentsMax, kBatchBytesMax) {}

    query::Batch* batch() { return &batch_; }
    void finish(int64_t id, const std::string& ns) {
        array_.close();
        cursor_.add("id", id).add("ns", ns);
        cursor_.close();
        call_.stats.nReturned = static_cast<int64_t>(batch_.count());
        call_.stats.cursorId = id;
        call_.hasOpenCursor = id != 0;
    }

private:
    Invocation& call_;
    bson::Builder cursor_;
    bson::Builder array_;
    query::Batch batch_;
};

}  // namespace

sync::Task<Status> replyWithFirstBatch(Invocation& call,
                                       std::unique_ptr<query::QueryCursor> cursor,
                                       FirstBatch how) {
    CursorReply reply(call, "firstBatch", static_cast<size_t>(how.batchSize));
    const bool needsDurableRead = call.generic.needsDurableRead;
    if (how.batchSize > 0) {
        Status status = co_await read(call, *cursor, 0, needsDurableRead, reply.batch());
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    }
    int64_t id = 0;
    if (!how.isSingle && !cursor->isExhausted()) {
        ClientCursor kept;
        kept.ns = how.ns;
        kept.lsid = call.generic.lsid;
        kept.owner = ownerOf(call);
        kept.neverTimesOut = how.neverTimesOut;
        kept.needsDurableRead = needsDurableRead;
        kept.cursor = std::move(cursor);
        StatusOr<int64_t> added = call.services.cursors.add(std::move(kept));
        FRESHET_CO_RETURN_IF_ERROR(added.status());
        id = *added;
    }
    reply.finish(id, how.ns);
    co_return Status::ok();
}

sync::Task<Status> replyWithNextBatch(Invocation& call, ClientCursor cursor, int64_t batchSize) {
    CursorRegistry& registry = call.services.cursors;
    const size_t documentsMax =
        batchSize == 0 ? std::numeric_limits<size_t>::max() : static_cast<size_t>(batchSize);
    CursorReply reply(call, "nextBatch", documentsMax);
    const std::string ns = cursor.ns;
    int64_t id = cursor.id;
    Status status = co_await read(call, *cursor.cursor, id, cursor.needsDurableRead, reply.batch());
    if (!status.isOk() || cursor.cursor->isExhausted()) {
        registry.forget(id);  // after an error too: documents of the lost batch would be missing
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
        id = 0;
    } else {
        registry.checkIn(std::move(cursor));
    }
    reply.finish(id, ns);
    co_return Status::ok();
}

StatusOr<int64_t> batchSizeOf(const Invocation& call) {
    Fields outer(call.body(), call.command.name);
    bson::Document options = outer.object("cursor");
    Fields fields(options, std::string_view("cursor"));
    fields.allowOnly({"batchSize"});
    const int64_t size = fields.integer("batchSize", kFirstBatchDocuments, 0);
    FRESHET_RETURN_IF_ERROR(outer.status());
    FRESHET_RETURN_IF_ERROR(fields.status());
    return size;
}

std::unique_ptr<query::QueryCursor> makeListCursor(std::vector<bson::OwnedDocument> documents) {
    return std::make_unique<ListCursor>(std::move(documents));
}

}  // namespace freshet::command
