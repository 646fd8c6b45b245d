// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/access/user_store.h"

#include "freshet/command/access/authorize.h"
#include "freshet/command/crud/cursor_reply.h"
#include "freshet/query/write.h"
#include "freshet/telemetry/log.h"

#include <algorithm>

namespace freshet::command {
namespace {

constexpr char kVersionCollection[] = "system.version";
constexpr std::string_view kPretenceId = "loginPretence";
constexpr size_t kPretenceBytes = 32;
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
/// that vanishes or reappears after a crash would be a security hole.
sync::Task<Status> write(Invocation& call, query::WriteOp& op) {
    call.hasTriedToWrite = true;
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

/// The document with this _id in an admin collection; an empty one when there is none.
sync::Task<StatusOr<bson::OwnedDocument>> findById(Invocation& call,
                                                   std::string collection,
                                                   std::string id) {
    bson::Builder filter;
    filter.add("_id", id);
    std::vector<bson::OwnedDocument> found;
    const Status status = co_await findDocuments(
        call, std::move(collection), bson::OwnedDocument(filter.finish()), 1, &found);
    FRESHET_CO_RETURN_IF_ERROR(status);
    co_return found.empty() ? bson::OwnedDocument() : std::move(found.front());
}

/// Inserts a document that must exist once, unless it exists.
sync::Task<Status> ensureVersionDocument(Invocation& call, bson::OwnedDocument document) {
    std::string id(document.view().find("_id").stringValue());
    StatusOr<bson::OwnedDocument> found = co_await findById(call, kVersionCollection, id);
    FRESHET_CO_RETURN_IF_ERROR(found.status());
    if (!found->view().isEmpty()) {
        co_return Status::ok();
    }
    const Status status = co_await insertInto(call, kVersionCollection, std::move(document));
    co_return status.code() == Code::kExists ? Status::ok() : status;
}

/// The document that tells backup tools the form in which users are stored.
sync::Task<Status> ensureSchemaVersion(Invocation& call) {
    bson::Builder version;
    version.add("_id", "authSchema").add("currentVersion", kAuthSchemaVersion);
    co_return co_await ensureVersionDocument(call, bson::OwnedDocument(version.finish()));
}

sync::Task<Status> ensurePretenceSecret(Invocation& call) {
    bson::Builder document;
    document.add("_id", kPretenceId);
    document.add("secret", bson::Binary{0, security::secureRandom(kPretenceBytes)});
    co_return co_await ensureVersionDocument(call, bson::OwnedDocument(document.finish()));
}

/// Empty: there is none.
sync::Task<StatusOr<std::string>> readPretenceSecret(Invocation& call) {
    StatusOr<bson::OwnedDocument> found =
        co_await findById(call, kVersionCollection, std::string(kPretenceId));
    FRESHET_CO_RETURN_IF_ERROR(found.status());
    const bson::Element secret = found->view().find("secret");
    if (secret.type() != bson::Type::kBinary ||
        secret.binaryValue().bytes.size() != kPretenceBytes) {
        co_return std::string();
    }
    co_return std::string(secret.binaryValue().bytes);
}

/// The document is invalid or damaged: an administrator has to look at it.
void warnOfDocument(const std::string& id, const Status& why) {
    telemetry::log(telemetry::Severity::kWarning,
                   telemetry::Component::kAccess,
                   telemetry::LogId::kNotAUser,
                   "A document of admin.system.users is no user's and counts as none",
                   {{"id", id}, {"error", why.text()}});
}

StatusOr<UserRef> userOf(const std::string& id, const bson::OwnedDocument& document) {
    if (document.view().isEmpty()) {
        return Status(Code::kNotFound, Reason::kUserNotFound, "Could not find user " + id);
    }
    StatusOr<UserRef> user = parseUser(document.view());
    if (!user.isOk()) {
        warnOfDocument(id, user.status());
        return Status(Code::kNotFound, Reason::kUserNotFound, "Could not find user " + id);
    }
    return user;
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
    StatusOr<bson::OwnedDocument> found = co_await findById(call, kUsersCollection, id);
    FRESHET_CO_RETURN_IF_ERROR(found.status());
    StatusOr<UserRef> user = userOf(id, *found);
    if (user.isOk()) {
        call.services.users.noteSeen();
    }
    co_return user;
}

sync::Task<StatusOr<UserRef>> fetchUser(Invocation& call, std::string id) {
    Users& users = call.services.users;
    UserRef known = users.cached(id);
    if (known != nullptr) {
        co_return known;
    }
    const uint64_t generation = users.generation();
    StatusOr<UserRef> user = co_await readUser(call, std::move(id));
    if (user.isOk()) {
        users.remember(*user, generation);
    }
    co_return user;
}

sync::Task<StatusOr<UserRef>> fetchStranger(Invocation& call, std::string id) {
    Users& users = call.services.users;
    const uint64_t generation = users.generation();
    UserRef known = users.cached(id);
    StatusOr<bson::OwnedDocument> found = co_await findById(call, kUsersCollection, id);
    FRESHET_CO_RETURN_IF_ERROR(found.status());
    if (known != nullptr && generation == users.generation()) {
        co_return known;
    }
    StatusOr<UserRef> user = userOf(id, *found);
    if (user.isOk()) {
        users.noteSeen();
        users.remember(*user, generation);
    }
    co_return user;
}

sync::Task<Status> insertUser(Invocation& call, bson::OwnedDocument document) {
    Status status = co_await ensureSchemaVersion(call);
    FRESHET_CO_RETURN_IF_ERROR(status);
    status = co_await ensurePretenceSecret(call);
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

sync::Task<std::string> pretenceSecret(Invocation& call) {
    Users& users = call.services.users;
    if (std::string known = users.pretenceSecret(); !known.empty()) {
        co_return known;
    }
    StatusOr<std::string> secret = co_await readPretenceSecret(call);
    if (secret.isOk() && secret->empty()) {
        // A data directory that is older than the secret; without users none is needed.
        StatusOr<bool> withoutUsers = co_await isWithoutUsers(call);
        if (withoutUsers.isOk() && !*withoutUsers && !call.services.writeBlock.isLocked()) {
            const Status status = co_await ensurePretenceSecret(call);
            static_cast<void>(status);  // what is stored now counts
            secret = co_await readPretenceSecret(call);
        }
    }
    if (!secret.isOk() || secret->empty()) {
        co_return std::string();
    }
    users.setPretenceSecret(*secret);
    co_return *std::move(secret);
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
