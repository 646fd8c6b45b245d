// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/admin/own_names.h"

#include "freshet/command/access/users.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace freshet::command {
namespace {

constexpr std::string_view kSystemPrefix = "system.";

bool isSystemCollection(std::string_view collection) {
    return collection.starts_with(kSystemPrefix);
}

std::string nameOf(std::string_view db, std::string_view collection) {
    return std::string(db) + "." + std::string(collection);
}

Status illegal(std::string text) {
    return invalid(Reason::kIllegalOperation, std::move(text));
}

}  // namespace

bool isOwnDatabase(std::string_view db) {
    return db == kUsersDb || db == "config" || db == "local";
}

bool isUsersCollection(std::string_view db, std::string_view collection) {
    return db == kUsersDb && collection == kUsersCollection;
}

Status checkDropDatabase(std::string_view db, bool isReplicaSet) {
    if (db == kUsersDb) {
        return illegal("Dropping the 'admin' database is prohibited.");
    }
    if (db == "local" && isReplicaSet) {
        return illegal("Cannot drop 'local' database while replication is active");
    }
    return Status::ok();
}

Status checkDrop(std::string_view db, std::string_view collection) {
    constexpr std::string_view kDroppable[] = {"system.js", "system.profile", "system.views"};
    const bool mayGo = !isSystemCollection(collection) ||
                       std::find(std::begin(kDroppable), std::end(kDroppable), collection) !=
                           std::end(kDroppable) ||
                       (db == "config" && collection == "system.sessions");
    return mayGo ? Status::ok() : illegal("can't drop system collection " + nameOf(db, collection));
}

Status checkRename(std::string_view db, std::string_view collection) {
    if (!isSystemCollection(collection)) {
        return Status::ok();
    }
    if (db == kUsersDb && collection == "system.version") {
        return illegal(
            "renaming the server configuration collection (admin.system.version) is not allowed");
    }
    const std::string name(collection);
    return illegal("renaming " + name + " collection or renaming to " + name + " is not allowed");
}

Status checkPipelineTarget(std::string_view stage,
                           std::string_view db,
                           std::string_view collection) {
    const bool replaces = stage == "$out";
    const std::string refused = (replaces ? "Can't " : "Cannot ") + std::string(stage) + " to ";
    if (isSystemCollection(collection)) {
        return invalid(location(replaces ? 17385 : 31319),
                       refused + "special collection: " + std::string(collection));
    }
    return isOwnDatabase(db) ? invalid(location(replaces ? 31321 : 31320),
                                       refused + "internal database: " + std::string(db))
                             : Status::ok();
}

Status checkValidatorPlace(std::string_view db,
                           std::string_view collection,
                           const bson::Element& validator) {
    if (!validator.isObject() || validator.document().isEmpty()) {
        return Status::ok();
    }
    if (isSystemCollection(collection)) {
        return invalid(
            Reason::kInvalidOptions,
            "Document validators not allowed on system collection " + nameOf(db, collection));
    }
    return isOwnDatabase(db) ? invalid(Reason::kInvalidOptions,
                                       "Document validators are not allowed on collection " +
                                           nameOf(db, collection) + " in the " + std::string(db) +
                                           " internal database")
                             : Status::ok();
}

Status checkExpiryPlace(std::string_view db, std::string_view collection) {
    return isUsersCollection(db, collection)
               ? invalid(Reason::kInvalidOptions,
                         "TTL indexes are not allowed on " + nameOf(db, collection))
               : Status::ok();
}

}  // namespace freshet::command
