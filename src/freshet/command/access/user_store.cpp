// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/access/user_store.h"

#include "freshet/command/access/authorize.h"
#include "freshet/command/crud/cursor_reply.h"
#include "freshet/query/write.h"

#include <algorithm>

namespace freshet::command {
namespace {

constexpr char kVersionCollection[] = "system.version";
constexpr int kDropRacesMax = 16;

catalog::CollectionRef find(const Invocation& call, std::string_view collection) {
    return call.services.catalog.find(kUsersDb, collection);
}

sync::Task<StatusOr<catalog::CollectionRef>> ensure(Invocation& call, std::string collection) {
    for (int attempt = 0; attempt < kDropRacesMax; ++attempt) {
        catalog::CollectionRef found = find(call, collection);
        if (found != nullptr) {
            co_return found;
        }
        std::unique_ptr<catalog::Change> change =
            call.services.catalog.createCollection(kUsersDb, collection, {}, true);
        Status status = co_await driveToEnd(*change);
        if (!status.isOk() && status.code() != Code::kExists) {
            co_return status;
        }
    }
    co_return Status(
        Code::kConflict, Reason::kWriteConflict, "the collection is dropped again and again");
}

/// Runs the operation to its end and waits for the disk, whatever the write concern says: a user
/// that is gone after a crash, or is there again, is a hole.
sync::Task<Status> write(Invocation& call, query::WriteOp& op) {
    Status status = co_await driveToEnd(op);
    if (status.isOk()) {
        journal::Journal& journal = call.services.store.journal();
        const journal::Lsn lsn = op.commitLsn();
        status = co_await waitUntilDurable(journal, lsn != 0 ? lsn : journal.tailLsn());
    }
    call.services.users.changed();
    co_return status;
}

sync::Task<Status> insertInto(Invocation& call,
                              std::string collection,
                              bson::OwnedDocument document) {
    StatusOr<catalog::CollectionRef> target = co_await ensure(call, std::move(collection));
    FRESHET_CO_RETURN_IF_ERROR(target.status());
    StatusOr<std::unique_ptr<query::WriteOp>> op =
        query::makeInsert(call.services.store, std::move(*target), document.view());
    FRESHET_CO_RETURN_IF_ERROR(op.status());
    co_return co_await write(call, **op);
}

/// What tells backup tools in which shape users are stored.
sync::Task<Status> ensureSchemaVersion(Invocation& call) {
    bson::Builder id;
    id.add("_id", "authSchema");
    std::vector<bson::OwnedDocument> found;
    Status status = co_await findDocuments(
        call, kVersionCollection, bson::OwnedDocument(id.finish()), 1, &found);
    FRESHET_CO_RETURN_IF_ERROR(status);
    if (!found.empty()) {
        co_return Status::ok();
    }
    bson::Builder version;
    version.add("_id", "authSchema").add("currentVersion", kAuthSchemaVersion);
    status = co_await insertInto(call, kVersionCollection, bson::OwnedDocument(version.finish()));
    co_return status.code() == Code::kExists ? Status::ok() : status;
}

}  // namespace

StatusOr<std::unique_ptr<query::QueryCursor>> openCursor(const Invocation& call,
                                                         std::string_view collection,
                                                         bson::OwnedDocument filter,
                                                         size_t max) {
    query::FindRequest request;
    request.filter = std::move(filter);
    request.limit = static_cast<int64_t>(max);
    return query::makeFind(call.services.store, find(call, collection), std::move(request));
}

sync::Task<Status> readBatch(Invocation& call,
                             query::QueryCursor& cursor,
                             size_t max,
                             std::vector<bson::OwnedDocument>* out) {
    query::Batch batch(max, bson::kDocumentBytesMax);
    Status status = co_await readOnce(call, cursor, &batch);
    FRESHET_CO_RETURN_IF_ERROR(status);
    const std::string bytes = batch.finishArray();
    for (const bson::Element& document : bson::Document(bytes.data())) {
        out->emplace_back(document.document());
    }
    co_return Status::ok();
}

sync::Task<Status> findDocuments(Invocation& call,
                                 std::string collection,
                                 bson::OwnedDocument filter,
                                 size_t max,
                                 std::vector<bson::OwnedDocument>* out) {
    StatusOr<std::unique_ptr<query::QueryCursor>> cursor =
        openCursor(call, collection, std::move(filter), max);
    FRESHET_CO_RETURN_IF_ERROR(cursor.status());
    Status status = co_await readBatch(call, **cursor, max, out);
    FRESHET_CO_RETURN_IF_ERROR(status);
    co_return !(*cursor)->isExhausted() && out->size() < max
        ? Status(Code::kLimit, "Too many users for one reply")
        : Status::ok();
}

sync::Task<StatusOr<Turns::Turn>> takeTurn(Invocation& call) {
    StatusOr<Turns::Turn> turn = co_await call.services.users.turns().take(call);
    FRESHET_CO_RETURN_IF_ERROR(turn.status());
    if (call.login.hasLocalhostException) {
        StatusOr<bool> withoutUsers = co_await isWithoutUsers(call);
        FRESHET_CO_RETURN_IF_ERROR(withoutUsers.status());
        call.login.hasLocalhostException = *withoutUsers;
        FRESHET_CO_RETURN_IF_ERROR(authorize(call, Action::kCreateUser, call.generic.db));
    }
    co_return std::move(*turn);
}

sync::Task<StatusOr<UserRef>> readUser(Invocation& call, std::string id) {
    bson::Builder filter;
    filter.add("_id", id);
    std::vector<bson::OwnedDocument> found;
    const Status status = co_await findDocuments(
        call, kUsersCollection, bson::OwnedDocument(filter.finish()), 1, &found);
    FRESHET_CO_RETURN_IF_ERROR(status);
    if (found.empty()) {
        co_return Status(Code::kNotFound, Reason::kUserNotFound, "Could not find user " + id);
    }
    call.services.users.noteSeen();
    co_return parseUser(found.front().view());
}

sync::Task<StatusOr<UserRef>> fetchUser(Invocation& call, std::string id) {
    Users& users = call.services.users;
    UserRef known = users.cached(id);
    if (known != nullptr) {
        co_return known;
    }
    const uint64_t generation = users.generation();
    StatusOr<UserRef> user = co_await readUser(call, id);
    if (user.isOk() && (*user)->id() == id) {
        users.remember(*user, generation);
    }
    co_return user;
}

sync::Task<Status> insertUser(Invocation& call, bson::OwnedDocument document) {
    Status status = co_await ensureSchemaVersion(call);
    FRESHET_CO_RETURN_IF_ERROR(status);
    co_return co_await insertInto(call, kUsersCollection, std::move(document));
}

sync::Task<Status> replaceUser(Invocation& call, bson::OwnedDocument document) {
    StatusOr<catalog::CollectionRef> target = co_await ensure(call, kUsersCollection);
    FRESHET_CO_RETURN_IF_ERROR(target.status());
    query::UpdateRequest request;
    bson::Builder filter;
    filter.add(document.view().find("_id"));
    request.filter = bson::OwnedDocument(filter.finish());
    request.update = std::move(document);
    StatusOr<std::unique_ptr<query::WriteOp>> op =
        query::makeUpdate(call.services.store, std::move(*target), std::move(request));
    FRESHET_CO_RETURN_IF_ERROR(op.status());
    const Status status = co_await write(call, **op);
    FRESHET_CO_RETURN_IF_ERROR(status);
    co_return (*op)->result().matched == 0
        ? Status(Code::kNotFound, Reason::kUserNotFound, "Could not find the user")
        : Status::ok();
}

sync::Task<Status> removeUsers(Invocation& call, bson::OwnedDocument filter, int64_t* removed) {
    *removed = 0;
    catalog::CollectionRef target = find(call, kUsersCollection);
    if (target == nullptr) {
        co_return Status::ok();
    }
    query::DeleteRequest request;
    request.filter = std::move(filter);
    StatusOr<std::unique_ptr<query::WriteOp>> op =
        query::makeDelete(call.services.store, std::move(target), std::move(request));
    FRESHET_CO_RETURN_IF_ERROR(op.status());
    const Status status = co_await write(call, **op);
    *removed = (*op)->result().matched;
    co_return status;
}

sync::Task<StatusOr<bool>> isWithoutUsers(Invocation& call) {
    if (call.services.users.haveBeenSeen()) {
        co_return false;
    }
    std::vector<bson::OwnedDocument> found;
    const Status status =
        co_await findDocuments(call, kUsersCollection, bson::OwnedDocument(), 1, &found);
    FRESHET_CO_RETURN_IF_ERROR(status);
    if (!found.empty()) {
        call.services.users.noteSeen();
    }
    co_return found.empty();
}

}  // namespace freshet::command
