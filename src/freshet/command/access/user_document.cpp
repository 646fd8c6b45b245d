// SPDX-License-Identifier: Apache-2.0
/// Users' documents: parsing whatever is stored, and checking documents that general commands want
/// to store.
#include "freshet/catalog/catalog.h"
#include "freshet/command/access/users.h"
#include "freshet/command/admin/own_names.h"

namespace freshet::command {
namespace {

using security::ScramMechanism;

constexpr ScramMechanism kScramMechanisms[] = {ScramMechanism::kSha1, ScramMechanism::kSha256};

Status damaged(const std::string& what) {
    return Status(Code::kCorruption, "A user's document is damaged: " + what);
}

/// False when the field is not base64 of that many bytes; 0: of any number except none.
bool readBytes(bson::Document document, std::string_view name, size_t bytes, std::string* out) {
    const bson::Element field = document.find(name);
    StatusOr<std::string> read = security::fromBase64(
        field.isString() ? ByteView(field.stringValue()) : ByteView("no base64"));
    if (!read.isOk() || (bytes == 0 ? read->empty() : read->size() != bytes)) {
        return false;
    }
    *out = *std::move(read);
    return true;
}

std::optional<security::ScramCredentials> readCredentials(bson::Document document,
                                                          ScramMechanism mechanism) {
    const size_t keyBytes = mechanism == ScramMechanism::kSha1 ? 20 : 32;
    security::ScramCredentials out;
    int64_t iterations = 0;
    const bool isWhole = document.find("iterationCount").toExactInt64(&iterations) &&
                         iterations > 0 && iterations <= INT32_MAX &&
                         readBytes(document, "salt", 0, &out.salt) &&
                         readBytes(document, "storedKey", keyBytes, &out.storedKey) &&
                         readBytes(document, "serverKey", keyBytes, &out.serverKey);
    out.iterations = static_cast<uint32_t>(iterations);
    return isWhole ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<security::ScramCredentials> credentialsIn(const bson::Element& all,
                                                        ScramMechanism mechanism) {
    const bson::Element found =
        all.isObject() ? all.document().find(security::mechanismName(mechanism)) : bson::Element();
    return found.isObject() ? readCredentials(found.document(), mechanism) : std::nullopt;
}

std::vector<RoleName> parseRoles(const bson::Element& roles) {
    std::vector<RoleName> out;
    if (!roles.isArray()) {
        return out;
    }
    for (const bson::Element& role : roles.document()) {
        if (!role.isObject() || out.size() == kRolesMax) {
            continue;
        }
        const bson::Element name = role.document().find("role");
        const bson::Element db = role.document().find("db");
        if (name.isString() && db.isString()) {
            out.push_back({std::string(name.stringValue()), std::string(db.stringValue())});
        }
    }
    return out;
}

// ---- checks of what is to be stored

bool isNameOfText(const bson::Element& element) {
    return element.isString() && !element.stringValue().empty() &&
           element.stringValue().find('\0') == std::string_view::npos;
}

Status checkUsersName(bson::Document document) {
    const bson::Element user = document.find("user");
    const bson::Element db = document.find("db");
    if (!user.isString()) {
        return badValue("User document needs 'user' field to be a string");
    }
    if (!isNameOfText(user)) {
        return badValue("User document needs 'user' field to be non-empty");
    }
    if (!isNameOfText(db)) {
        return badValue("User document needs 'db' field to be a non-empty string");
    }
    const std::string name(db.stringValue());
    if (!isUsersDatabase(name)) {
        return badValue("'" + name + "' is not a valid value for the db field.");
    }
    const bson::Element id = document.find("_id");
    return id.isString() && id.stringValue() == name + "." + std::string(user.stringValue())
               ? Status::ok()
               : badValue("User document needs '_id' field to be <db>.<user>");
}

Status checkScram(const bson::Element& credentials, ScramMechanism mechanism) {
    const std::string name(security::mechanismName(mechanism));
    if (credentials.isMissing()) {
        return Status::ok();
    }
    if (!credentials.isObject()) {
        return badValue(name + " credential must be an object, if present");
    }
    return readCredentials(credentials.document(), mechanism).has_value()
               ? Status::ok()
               : badValue(name +
                          " credential must have an iterationCount, a salt, a storedKey and "
                          "a serverKey");
}

Status checkCredentials(const bson::Element& credentials, bool isExternal) {
    if (!credentials.isObject()) {
        return badValue(credentials.isMissing()
                            ? "User document needs 'credentials' object"
                            : "User document needs 'credentials' field to be an object");
    }
    const bson::Document all = credentials.document();
    if (all.isEmpty()) {
        return badValue("User document needs 'credentials' field to be a non-empty object");
    }
    if (isExternal) {
        const bson::Element external = all.find("external");
        return external.type() == bson::Type::kBool && external.boolValue()
                   ? Status::ok()
                   : badValue(
                         "User documents for users defined on '$external' must have 'credentials' "
                         "field set to {external: true}");
    }
    bool hasAny = isNameOfText(all.find("MONGODB-CR"));  // in old backups: it allows no login
    for (ScramMechanism mechanism : kScramMechanisms) {
        const bson::Element found = all.find(security::mechanismName(mechanism));
        FRESHET_RETURN_IF_ERROR(checkScram(found, mechanism));
        hasAny |= !found.isMissing();
    }
    return hasAny ? Status::ok()
                  : badValue("User document must provide credentials for all non-external users");
}

Status checkRoles(const bson::Element& roles) {
    if (!roles.isArray()) {
        return badValue("User document needs 'roles' field to be an array");
    }
    size_t count = 0;
    for (const bson::Element& role : roles.document()) {
        if (!role.isObject()) {
            return badValue("Elements in 'roles' array must objects");
        }
        if (!isNameOfText(role.document().find("role"))) {
            return badValue("Role names must be non-empty strings");
        }
        if (!isNameOfText(role.document().find("db"))) {
            return badValue("Role db must be non-empty strings");
        }
        if (++count > kRolesMax) {
            return badValue("Too many roles");
        }
    }
    return Status::ok();
}

}  // namespace

bool isUsersDatabase(std::string_view db) {
    return db == kExternalDb ||
           (catalog::isDatabaseName(db) && db.find('@') == std::string_view::npos);
}

StatusOr<UserRef> parseUser(bson::Document stored) {
    auto user = std::make_shared<User>();
    const bson::Element name = stored.find("user");
    const bson::Element db = stored.find("db");
    const bson::Element id = stored.find("_id");
    if (!name.isString() || !db.isString()) {
        return damaged("no user or db");
    }
    user->user = std::string(name.stringValue());
    user->db = std::string(db.stringValue());
    if (!id.isString() || id.stringValue() != user->id()) {
        return damaged("its _id is not <db>.<user>");
    }
    user->stored = bson::OwnedDocument(stored);
    const bson::Element credentials = stored.find("credentials");
    user->sha1 = credentialsIn(credentials, ScramMechanism::kSha1);
    user->sha256 = credentialsIn(credentials, ScramMechanism::kSha256);
    user->roles = parseRoles(stored.find("roles"));
    for (const RoleName& role : user->roles) {
        addRole(role, &user->grants);
    }
    user->digest = security::sha256(user->user + "@" + user->db);
    if (const bson::Element identity = stored.find("userId")) {
        user->identity = std::string(identity.value());
    }
    return UserRef(std::move(user));
}

Status checkUserDocument(bson::Document document) {
    FRESHET_RETURN_IF_ERROR(checkUsersName(document));
    const bool isExternal = document.find("db").stringValue() == kExternalDb;
    FRESHET_RETURN_IF_ERROR(checkCredentials(document.find("credentials"), isExternal));
    FRESHET_RETURN_IF_ERROR(checkRoles(document.find("roles")));
    if (const bson::Element data = document.find("customData"); data && !data.isObject()) {
        return badValue("User document needs 'customData' field to be an object");
    }
    return Status::ok();
}

Status (*checkOfCollection(std::string_view db, std::string_view collection))(bson::Document) {
    return isUsersCollection(db, collection) ? checkUserDocument : nullptr;
}

}  // namespace freshet::command
