// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/access/user_arguments.h"

#include <algorithm>

namespace freshet::command {
namespace {

using security::ScramMechanism;

constexpr uint32_t kIterationsSha1 = 10'000;
constexpr uint32_t kIterationsSha256 = 15'000;
constexpr size_t kRolesMax = 1'000;
constexpr size_t kPasswordBytesMax = 16 * 1024;

StatusOr<RoleName> roleOf(const bson::Element& element, const std::string& db) {
    RoleName role;
    role.db = db;
    if (element.isString()) {
        role.role = std::string(element.stringValue());
    } else if (element.isObject()) {
        Fields fields(element.document(), std::string_view("roles"));
        fields.allowOnly({"role", "db"});
        role.role = std::string(fields.requiredString("role"));
        role.db = std::string(fields.requiredString("db"));
        FRESHET_RETURN_IF_ERROR(fields.status());
    } else {
        return badValue("Role names must be either strings or objects");
    }
    Grants unused;
    if (!addRole(role, &unused)) {
        return Status(Code::kNotFound,
                      Reason::kRoleNotFound,
                      "Could not find role: " + role.role + "@" + role.db);
    }
    return role;
}

StatusOr<std::vector<ScramMechanism>> mechanismsOf(const Invocation& call) {
    const bson::Element field = call.body().find("mechanisms");
    if (field.isMissing()) {
        return std::vector<ScramMechanism>{ScramMechanism::kSha1, ScramMechanism::kSha256};
    }
    std::vector<ScramMechanism> out;
    Fields fields(call.body(), call.command.name);
    const bson::Document list = fields.array("mechanisms");
    FRESHET_RETURN_IF_ERROR(fields.status());
    for (const bson::Element& element : list) {
        const std::string name(element.isString() ? element.stringValue() : std::string_view());
        ScramMechanism mechanism = ScramMechanism::kSha1;
        if (name == security::mechanismName(ScramMechanism::kSha256)) {
            mechanism = ScramMechanism::kSha256;
        } else if (name != security::mechanismName(ScramMechanism::kSha1)) {
            return badValue("Unknown auth mechanism '" + name + "'");
        }
        if (std::find(out.begin(), out.end(), mechanism) == out.end()) {
            out.push_back(mechanism);
        }
    }
    if (out.empty()) {
        return badValue("mechanisms field must not be empty");
    }
    return out;
}

void addCredentials(ScramMechanism mechanism,
                    const security::ScramCredentials& made,
                    bson::Builder* out) {
    auto entry = out->object(security::mechanismName(mechanism));
    entry.add("iterationCount", static_cast<int32_t>(made.iterations));
    entry.add("salt", security::toBase64(made.salt));
    entry.add("storedKey", security::toBase64(made.storedKey));
    entry.add("serverKey", security::toBase64(made.serverKey));
}

}  // namespace

StatusOr<UserName> userNameOf(const Invocation& call) {
    const bson::Element first = *call.body().begin();
    if (!first.isString()) {
        return invalid(Reason::kTypeMismatch,
                       "BSON field '" + std::string(call.command.name) + "." +
                           std::string(first.name()) + "' is the wrong type '" +
                           std::string(bson::typeName(first.type())) + "', expected type 'string'");
    }
    if (first.stringValue().empty() || first.stringValue().find('\0') != std::string_view::npos) {
        return badValue("User document needs 'user' field to be non-empty");
    }
    return UserName{std::string(first.stringValue()), call.generic.db};
}

StatusOr<std::vector<RoleName>> rolesOfField(const Invocation& call, std::string_view field) {
    Fields fields(call.body(), call.command.name);
    const bson::Document list = fields.array(field);
    FRESHET_RETURN_IF_ERROR(fields.status());
    std::vector<RoleName> out;
    for (const bson::Element& element : list) {
        FRESHET_ASSIGN_OR_RETURN(RoleName role, roleOf(element, call.generic.db));
        if (std::find(out.begin(), out.end(), role) == out.end()) {
            out.push_back(std::move(role));
        }
        if (out.size() > kRolesMax) {
            return badValue("Too many roles");
        }
    }
    return out;
}

void addRoles(const std::vector<RoleName>& roles, std::string_view field, bson::Builder* out) {
    auto list = out->array(field);
    for (const RoleName& role : roles) {
        list.object(list.nextIndex()).add("role", role.role).add("db", role.db);
    }
}

StatusOr<bson::OwnedDocument> credentialsOf(const Invocation& call, const UserName& name) {
    Fields fields(call.body(), call.command.name);
    const std::string password(fields.string("pwd"));
    const bool digestsPassword = fields.boolean("digestPassword", true);
    FRESHET_RETURN_IF_ERROR(fields.status());
    FRESHET_ASSIGN_OR_RETURN(std::vector<ScramMechanism> mechanisms, mechanismsOf(call));
    if (password.empty()) {
        return badValue("Password cannot be empty");
    }
    if (password.size() > kPasswordBytesMax) {
        return badValue("Password is too long");
    }
    bson::Builder out;
    for (ScramMechanism mechanism : mechanisms) {
        const bool isSha1 = mechanism == ScramMechanism::kSha1;
        if (!digestsPassword && !isSha1) {
            return badValue("Use of SCRAM-SHA-256 requires undigested passwords");
        }
        FRESHET_ASSIGN_OR_RETURN(
            security::ScramCredentials made,
            digestsPassword || !isSha1
                ? security::makeCredentials(
                      mechanism, name.user, password, isSha1 ? kIterationsSha1 : kIterationsSha256)
                : security::makeCredentialsOfDigest(password, kIterationsSha1));
        addCredentials(mechanism, made, &out);
    }
    return bson::OwnedDocument(out.finish());
}

Status userNotFound(const UserName& name) {
    return Status(Code::kNotFound,
                  Reason::kUserNotFound,
                  "User '" + name.user + "@" + name.db + "' not found");
}

}  // namespace freshet::command
