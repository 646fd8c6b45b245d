// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/access/user_arguments.h"

#include <algorithm>
#include <memory>

namespace freshet::command {
namespace {

using security::ScramMechanism;

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

/// The input for hashing a password, independent of the command's objects.
struct PasswordWork {
    std::string user;
    std::string password;
    bool digestsPassword = true;
    std::vector<ScramMechanism> mechanisms;
};

StatusOr<PasswordWork> passwordWorkOf(const Invocation& call, const UserName& name) {
    PasswordWork work;
    work.user = name.user;
    Fields fields(call.body(), call.command.name);
    work.password = std::string(fields.string("pwd"));
    work.digestsPassword = fields.boolean("digestPassword", true);
    FRESHET_RETURN_IF_ERROR(fields.status());
    FRESHET_ASSIGN_OR_RETURN(work.mechanisms, mechanismsOf(call));
    if (work.password.empty()) {
        return badValue("Password cannot be empty");
    }
    if (work.password.size() > kPasswordBytesMax) {
        return badValue("Password is too long");
    }
    const auto& list = work.mechanisms;
    if (!work.digestsPassword &&
        std::find(list.begin(), list.end(), ScramMechanism::kSha256) != list.end()) {
        return badValue("Use of SCRAM-SHA-256 requires undigested passwords");
    }
    return work;
}

StatusOr<bson::OwnedDocument> makeCredentials(const PasswordWork& work) {
    bson::Builder out;
    for (ScramMechanism mechanism : work.mechanisms) {
        const uint32_t iterations = security::defaultIterations(mechanism);
        FRESHET_ASSIGN_OR_RETURN(
            security::ScramCredentials made,
            work.digestsPassword
                ? security::makeCredentials(mechanism, work.user, work.password, iterations)
                : security::makeCredentialsOfDigest(work.password, iterations));
        addCredentials(mechanism, made, &out);
    }
    return bson::OwnedDocument(out.finish());
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

sync::Task<StatusOr<bson::OwnedDocument>> credentialsOf(Invocation& call, UserName name) {
    StatusOr<PasswordWork> work = passwordWorkOf(call, name);
    FRESHET_CO_RETURN_IF_ERROR(work.status());
    auto made = std::make_shared<StatusOr<bson::OwnedDocument>>(
        Status(Code::kCancelled, Reason::kInterruptedAtShutdown, "interrupted at shutdown"));
    StatusOr<sync::WaitToken> done = call.services.worker.run(
        [work = std::move(*work), made] { *made = makeCredentials(work); });
    FRESHET_CO_RETURN_IF_ERROR(done.status());
    Status status = co_await waitOrStop(call, *done);
    FRESHET_CO_RETURN_IF_ERROR(status);
    co_return std::move(*made);
}

Status userNotFound(const UserName& name) {
    return Status(Code::kNotFound,
                  Reason::kUserNotFound,
                  "User '" + name.user + "@" + name.db + "' not found");
}

}  // namespace freshet::command
