// SPDX-License-Identifier: Apache-2.0
/// getMore and killCursors.
#include "freshet/command/access/authorize.h"
#include "freshet/command/crud/cursor_reply.h"
#include "freshet/command/run/fail_command.h"
#include "freshet/command/run/tables.h"
#include "freshet/command/txn/snapshot_read.h"
#include "freshet/platform/clock.h"

namespace freshet::command {
namespace {

/// Namespaces of list cursors are not legal collection names, so only their emptiness is checked.
Status checkCursorNamespace(std::string_view collection) {
    return collection.empty()
               ? invalid(Reason::kInvalidNamespace, "Collection names cannot be empty")
               : Status::ok();
}

/// Only the creator of a cursor may read on. An error does not reveal whether another user's cursor
/// exists.
Status authorizeGetMore(Invocation& call, int64_t id) {
    FRESHET_RETURN_IF_ERROR(authorizeLoggedIn(call));
    StatusOr<std::string> owner = call.services.cursors.ownerOf(id);
    FRESHET_RETURN_IF_ERROR(owner.status());
    return isOwn(call, *owner) ? Status::ok()
                               : invalid(Reason::kUnauthorized,
                                         "cursor id " + std::to_string(id) +
                                             " was not created by the authenticated user");
}

/// A user may kill the user's own cursors, or those of a collection where a role allows it.
Status authorizeKill(Invocation& call, int64_t id, std::string_view collection) {
    FRESHET_RETURN_IF_ERROR(authorizeLoggedIn(call));
    const StatusOr<std::string> owner = call.services.cursors.ownerOf(id);
    if (!owner.isOk() || isOwn(call, *owner) ||
        mayDo(call, Action::kKillAnyCursor, call.generic.db, collection)) {
        return Status::ok();
    }
    return authorizeCluster(call, Action::kKillAnyCursor);
}

/// An int that was meant to be a long has already lost its upper half.
Status checkIdType(const bson::Element& id) {
    return id.type() == bson::Type::kInt64
               ? Status::ok()
               : invalid(Reason::kTypeMismatch,
                         "BSON field 'getMore.getMore' is the wrong type '" +
                             std::string(bson::typeName(id.type())) + "', expected type 'long'");
}

/// A cursor reads on in the transaction in which it was created, or in none.
Status checkTransaction(const Invocation& call, const ClientCursor& cursor) {
    if (cursor.transaction == call.transaction) {
        return Status::ok();
    }
    const std::string start =
        "Cannot run getMore on cursor " + std::to_string(cursor.id) + ", which ";
    if (cursor.transaction == nullptr) {
        return invalid(location(50739),
                       start + "was not created in a transaction, in transaction " +
                           std::to_string(*call.generic.txnNumber));
    }
    return call.transaction == nullptr
               ? invalid(location(50740),
                         start + "was created in a transaction, without a txnNumber")
               : invalid(location(50741), start + "was created in another transaction");
}

/// Sets the time limit: what the command that made the cursor has left. Returns until when to wait
/// for data, 0: not at all. For a getMore that waits, maxTimeMS is no limit, but says how long.
StatusOr<uint64_t> takeTimes(Invocation& call, const ClientCursor& cursor) {
    constexpr int64_t kAwaitMillis = 1'000;
    constexpr uint64_t kNanosPerMilli = 1'000'000;
    const bson::Element millis = call.body().find("maxTimeMS");
    if (cursor.awaitsData) {
        call.deadlineNanos = 0;
        const int64_t wait = millis.isMissing() ? kAwaitMillis : millis.toInt64();
        return call.startNanos + static_cast<uint64_t>(wait) * kNanosPerMilli;
    }
    if (!millis.isMissing()) {
        return badValue("cannot set maxTimeMS on getMore command for a non-awaitData cursor");
    }
    if (cursor.nanosLeft != 0) {
        call.deadlineNanos = platform::monotonicNanos() + cursor.nanosLeft;
    }
    return uint64_t{0};
}

/// Checks whether the request is one for this cursor; returns as takeTimes().
StatusOr<uint64_t> admit(Invocation& call, const ClientCursor& cursor) {
    FRESHET_RETURN_IF_ERROR(checkTransaction(call, cursor));
    return takeTimes(call, cursor);
}

sync::Task<Status> runGetMore(Invocation& call) {
    FRESHET_CO_RETURN_IF_ERROR(checkIdType(*call.body().begin()));
    Fields fields(call.body(), "getMore");
    const int64_t id = fields.integer("getMore", 0);
    std::string collection(fields.requiredString("collection"));
    const int64_t batchSize = fields.integer("batchSize", 0, 0);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    FRESHET_CO_RETURN_IF_ERROR(checkCursorNamespace(collection));
    FRESHET_CO_RETURN_IF_ERROR(authorizeGetMore(call, id));
    StatusOr<ClientCursor> cursor =
        call.services.cursors.checkOut(id, call.ns(collection), call.generic.lsid);
    FRESHET_CO_RETURN_IF_ERROR(cursor.status());
    StatusOr<uint64_t> untilNanos = admit(call, *cursor);
    if (!untilNanos.isOk()) {
        call.services.cursors.checkIn(std::move(*cursor));
        co_return untilNanos.status();
    }
    call.isOfChangeStream = cursor->isTailable && !cursor->cursor->resumeToken().view().isEmpty();
    if (Status failed = failGetMoreIfTold(call, cursor->ns); !failed.isOk()) {
        call.services.cursors.forget(id);
        co_return failed;
    }
    if (Status resumed = resumeSnapshot(*cursor); !resumed.isOk()) {
        call.services.cursors.forget(id);
        co_return resumed;
    }
    if (cursor->mayTakeLong) {
        co_await goToBackground(call);
    }
    Status status = co_await replyWithNextBatch(call, std::move(*cursor), batchSize, *untilNanos);
    call.isExhaust = status.isOk() && call.request.exhaustAllowed() && call.hasOpenCursor;
    co_return status;
}

/// A batch in progress notices by itself that its cursor is gone, unless it runs a script.
void endGetMore(Invocation& call, int64_t cursor) {
    call.services.operations.killIf(Reason::kInterrupted,
                                    [cursor](const RunningOperation& running) {
                                        return running.command->kind == OpKind::kGetMore &&
                                               running.body.begin()->toInt64() == cursor;
                                    });
}

sync::Task<Status> runKillCursors(Invocation& call) {
    Fields fields(call.body(), "killCursors");
    const std::string collection(fields.requiredString("killCursors"));
    fields.required("cursors");
    const bson::Document ids = fields.array("cursors");
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    FRESHET_CO_RETURN_IF_ERROR(checkCursorNamespace(collection));
    FRESHET_CO_RETURN_IF_ERROR(authorizeLoggedIn(call));
    bson::Builder killed;
    bson::Builder missing;
    for (const bson::Element& id : ids) {
        if (id.type() != bson::Type::kInt64) {
            co_return invalid(Reason::kTypeMismatch,
                              "BSON field 'killCursors.cursors." + std::string(id.name()) +
                                  "' is the wrong type '" + std::string(bson::typeName(id.type())) +
                                  "', expected type 'long'");
        }
        FRESHET_CO_RETURN_IF_ERROR(authorizeKill(call, id.int64Value(), collection));
        const bool found = call.services.cursors.kill(id.int64Value(), call.ns(collection));
        if (found) {
            endGetMore(call, id.int64Value());
        }
        (found ? killed : missing).push(id.int64Value());
    }
    const std::string killedBytes = killed.finish();
    const std::string missingBytes = missing.finish();
    call.reply.addArray("cursorsKilled", bson::Document(killedBytes.data()));
    call.reply.addArray("cursorsNotFound", bson::Document(missingBytes.data()));
    call.reply.array("cursorsAlive");
    call.reply.array("cursorsUnknown");
    co_return Status::ok();
}

}  // namespace

CommandTable cursorCommands() {
    return {
        {
            .name = "getMore",
            .aliases = {},
            .help = "the next batch of a cursor",
            .fields = {"collection", "batchSize", "term", "lastKnownCommittedOpTime"},
            .handler = runGetMore,
            .access = Access::byHandler(),
            .kind = OpKind::kGetMore,
            .readOnly = true,
            .inApiVersion1 = true,
            .inTransactions = InTransactions::kStatement,
        },
        {
            .name = "killCursors",
            .aliases = {},
            .help = "end cursors",
            .fields = {"cursors"},
            .handler = runKillCursors,
            .access = Access::byHandler(),
            .readOnly = true,
            .inApiVersion1 = true,
            .inTransactions = InTransactions::kStatement,
        },
    };
}

}  // namespace freshet::command
