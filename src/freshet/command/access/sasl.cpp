// SPDX-License-Identifier: Apache-2.0
/// saslStart, saslContinue, authenticate, logout. One login at a time; a login that fails leaves
/// the connection as it was.
#include "freshet/command/access/sasl.h"

#include "freshet/command/access/user_store.h"
#include "freshet/command/error_map.h"
#include "freshet/command/run/tables.h"
#include "freshet/telemetry/log.h"

namespace freshet::command {

using security::ScramMechanism;

struct LoginState::Conversation {
    int32_t id = 0;
    ScramMechanism mechanism = ScramMechanism::kSha256;
    std::string db;
    std::string name;
    bool isSpeculative = false;
    bool skipsEmptyExchange = false;
    UserRef user;  // the user to log in; null: no such user exists
    uint64_t generation = 0;
    std::unique_ptr<security::ScramServer> server;
};

void LoginState::ConversationFreer::operator()(Conversation* conversation) const {
    delete conversation;
}

namespace {

constexpr char kX509[] = "MONGODB-X509";
constexpr ScramMechanism kMechanisms[] = {ScramMechanism::kSha1, ScramMechanism::kSha256};

Status authenticationFailed() {
    return invalid(Reason::kAuthenticationFailed, "Authentication failed.");
}

struct Attempt {
    std::string_view mechanism;
    std::string user;
    std::string db;
    bool isSpeculative = false;
};

void logAttempt(const Invocation& call, const Attempt& attempt, const Status& outcome) {
    telemetry::LogAttributes attributes{{"client", call.client.remote},
                                        {"isSpeculative", attempt.isSpeculative},
                                        {"isClusterMember", false},
                                        {"mechanism", attempt.mechanism},
                                        {"user", attempt.user},
                                        {"db", attempt.db}};
    if (outcome.isOk()) {
        attributes.push_back({"result", 0});
        telemetry::log(telemetry::Severity::kInfo,
                       telemetry::Component::kAccess,
                       telemetry::LogId::kLoginSucceeded,
                       "Successfully authenticated",
                       attributes);
    } else {
        attributes.push_back({"error", outcome.text()});
        attributes.push_back({"result", wireErrorOf(outcome).code});
        telemetry::log(telemetry::Severity::kInfo,
                       telemetry::Component::kAccess,
                       telemetry::LogId::kLoginFailed,
                       "Failed to authenticate",
                       attributes);
    }
}

/// A connection serves one user. Logging in again as the same user is allowed.
Status adopt(Invocation& call, UserRef user, uint64_t generation) {
    const UserRef& before = call.login.user;
    if (before != nullptr && before->id() != user->id()) {
        return invalid(location(5626701),
                       "Each client connection may only be authenticated once. Previously "
                       "authenticated as: " +
                           before->user + "@" + before->db);
    }
    call.login.user = std::move(user);
    call.login.generation = generation;
    return Status::ok();
}

/// BinData of any kind, or base64 in a string.
StatusOr<std::string> payloadOf(bson::Document request) {
    const bson::Element payload = request.find("payload");
    if (payload.type() == bson::Type::kBinary) {
        return std::string(payload.binaryValue().bytes);
    }
    if (payload.isString()) {
        return security::fromBase64(payload.stringValue());
    }
    return invalid(payload.isMissing() ? Reason::kNoSuchKey : Reason::kTypeMismatch,
                   "Missing or wrong 'payload' in a SASL message");
}

StatusOr<ScramMechanism> mechanismOf(std::string_view name, std::string_view db) {
    for (ScramMechanism mechanism : kMechanisms) {
        if (security::mechanismName(mechanism) == name) {
            return mechanism;
        }
    }
    return invalid(Reason::kMechanismUnavailable,
                   "Received authentication for mechanism " + std::string(name) + " on database " +
                       std::string(db) + " which is not enabled");
}

void addReply(const LoginState::Conversation& conversation,
              bool isDone,
              const std::string& payload,
              bson::Builder* reply) {
    reply->add("conversationId", conversation.id).add("done", isDone);
    reply->add("payload", bson::Binary{0, payload});
}

/// One message in, one out. The cause of a failure is logged; the client always gets the same text.
Status step(Invocation& call, const std::string& payload, bson::Builder* reply) {
    LoginState& login = call.login;
    LoginState::Conversation& conversation = *login.conversation;
    const Attempt attempt{security::mechanismName(conversation.mechanism),
                          conversation.name,
                          conversation.db,
                          conversation.isSpeculative};
    StatusOr<std::string> answer = conversation.server->step(payload);
    if (!answer.isOk()) {
        const bool isUnknown = conversation.user == nullptr;
        logAttempt(call,
                   attempt,
                   isUnknown ? Status(Code::kNotFound,
                                      Reason::kUserNotFound,
                                      "UserNotFound: Could not find user \"" + attempt.user +
                                          "\" for db \"" + attempt.db + "\"")
                             : answer.status());
        login.conversation.reset();
        return authenticationFailed();
    }
    if (!conversation.server->isDone()) {
        addReply(conversation, false, *answer, reply);
        return Status::ok();
    }
    Status adopted = adopt(call, conversation.user, conversation.generation);
    logAttempt(call, attempt, adopted);
    if (!adopted.isOk()) {
        login.conversation.reset();
        return adopted;
    }
    addReply(conversation, conversation.skipsEmptyExchange, *answer, reply);
    if (conversation.skipsEmptyExchange) {
        login.conversation.reset();
    }
    return Status::ok();
}

/// The user's credentials for this mechanism, or ones that make the login fail in the proper way.
std::unique_ptr<security::ScramServer> makeServer(ScramMechanism mechanism,
                                                  const UserRef& user,
                                                  security::Pretence pretence) {
    return std::make_unique<security::ScramServer>(
        mechanism,
        [mechanism, user](const std::string&) -> StatusOr<security::ScramCredentials> {
            if (user == nullptr || !user->credentials(mechanism)) {
                return Status(Code::kNotFound, Reason::kUserNotFound, "no credentials");
            }
            return *user->credentials(mechanism);
        },
        std::move(pretence));
}

sync::Task<Status> runSaslStart(Invocation& call) {
    Status status = co_await startLogin(call, call.generic.db, call.body(), false, &call.reply);
    co_return status;
}

sync::Task<Status> runSaslContinue(Invocation& call) {
    Fields fields(call.body(), "saslContinue");
    const int64_t id = fields.integer("conversationId", -1);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    LoginState::Conversation* conversation = call.login.conversation.get();
    if (conversation == nullptr) {
        co_return invalid(Reason::kProtocolError, "No SASL session state found");
    }
    if (conversation->id != id || conversation->db != call.generic.db) {
        call.login.conversation.reset();
        co_return invalid(Reason::kProtocolError, "sasl: Mismatched conversation id");
    }
    StatusOr<std::string> payload = payloadOf(call.body());
    if (!payload.isOk()) {
        call.login.conversation.reset();
        co_return payload.status();
    }
    if (conversation->server->isDone()) {  // the empty exchange at the end
        const bool isEmpty = payload->empty();
        if (isEmpty) {
            addReply(*conversation, true, "", &call.reply);
        }
        call.login.conversation.reset();
        co_return isEmpty ? Status::ok() : authenticationFailed();
    }
    co_return step(call, *payload, &call.reply);
}

sync::Task<Status> runLogout(Invocation& call) {
    if (call.login.user != nullptr && call.login.user->db == call.generic.db) {
        call.login.user = nullptr;
    }
    call.login.conversation.reset();
    co_return Status::ok();
}

/// By the certificate that TLS has verified.
sync::Task<Status> runAuthenticate(Invocation& call) {
    Fields fields(call.body(), "authenticate");
    const std::string mechanism(fields.requiredString("mechanism"));
    const std::string named(fields.string("user"));
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    const std::string& subject = call.client.certificateSubject;
    if (mechanism != kX509) {
        co_return invalid(Reason::kMechanismUnavailable,
                          "Unsupported mechanism '" + mechanism +
                              "' in authenticate; SCRAM logins begin with saslStart");
    }
    if (call.generic.db != kExternalDb) {
        co_return invalid(Reason::kProtocolError,
                          "X.509 authentication must always use the $external database.");
    }
    const Attempt attempt{kX509, subject, kExternalDb, false};
    if (subject.empty() || (!named.empty() && named != subject)) {
        logAttempt(call,
                   attempt,
                   invalid(Reason::kAuthenticationFailed,
                           "There is no verified client certificate matching the user."));
        co_return authenticationFailed();
    }
    const uint64_t generation = call.services.users.generation();
    StatusOr<UserRef> user = co_await fetchUser(call, std::string(kExternalDb) + "." + subject);
    if (!user.isOk()) {
        logAttempt(call, attempt, user.status());
        co_return user.status().reason() == Reason::kUserNotFound ? authenticationFailed()
                                                                  : user.status();
    }
    Status adopted = adopt(call, *user, generation);
    logAttempt(call, attempt, adopted);
    if (adopted.isOk()) {
        call.reply.add("dbname", kExternalDb).add("user", subject);
    }
    co_return adopted;
}

}  // namespace

sync::Task<Status> startLogin(Invocation& call,
                              std::string db,
                              bson::Document request,
                              bool isSpeculative,
                              bson::Builder* reply) {
    call.login.conversation.reset();
    Fields fields(request, "saslStart");
    const std::string_view name = fields.requiredString("mechanism");
    const bson::Document options = fields.object("options");
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    StatusOr<ScramMechanism> mechanism = mechanismOf(name, db);
    FRESHET_CO_RETURN_IF_ERROR(mechanism.status());
    StatusOr<std::string> payload = payloadOf(request);
    FRESHET_CO_RETURN_IF_ERROR(payload.status());

    auto conversation = std::make_unique<LoginState::Conversation>();
    conversation->id = ++call.login.conversations;
    conversation->mechanism = *mechanism;
    conversation->db = db;
    conversation->isSpeculative = isSpeculative;
    conversation->skipsEmptyExchange = options.find("skipEmptyExchange").isTruthy();
    conversation->generation = call.services.users.generation();
    StatusOr<std::string> userName = security::userOfFirstMessage(*payload);
    if (userName.isOk()) {
        conversation->name = *userName;
        StatusOr<UserRef> user = co_await fetchStranger(call, db + "." + *userName);
        if (user.isOk() && (*user)->db == db) {  // the id "a.b.c" could be of two databases
            conversation->user = *user;
        } else if (user.isOk()) {
            conversation->user = nullptr;
        } else if (user.status().reason() != Reason::kUserNotFound) {
            co_return user.status();
        }
    }
    const UserRef& user = conversation->user;
    if (isSpeculative && user != nullptr && !user->credentials(*mechanism)) {
        // A driver that guessed wrong should start again with one of saslSupportedMechs, which
        // reveal that the user exists anyway. Pretended credentials here would end the login.
        co_return authenticationFailed();
    }
    std::string secret = co_await pretenceSecret(call);
    conversation->server = makeServer(*mechanism, user, {std::move(secret), std::move(db)});
    call.login.conversation.reset(conversation.release());
    co_return step(call, *payload, reply);
}

sync::Task<Status> addLoginFields(Invocation& call) {
    const bson::Element asked = call.body().find("saslSupportedMechs");
    if (asked.isString()) {
        StatusOr<UserRef> user = co_await fetchUser(call, std::string(asked.stringValue()));
        if (user.isOk()) {  // an unknown user has none
            auto list = call.reply.array("saslSupportedMechs");
            for (ScramMechanism mechanism : kMechanisms) {
                if ((*user)->credentials(mechanism)) {
                    list.push(security::mechanismName(mechanism));
                }
            }
            if ((*user)->db == kExternalDb) {
                list.push(kX509);
            }
        } else if (user.status().reason() != Reason::kUserNotFound) {
            co_return user.status();
        }
    }
    const bson::Element speculative = call.body().find("speculativeAuthenticate");
    if (!speculative.isObject() || speculative.document().isEmpty() ||
        speculative.document().begin()->name() != "saslStart") {
        co_return Status::ok();
    }
    const bson::Element db = speculative.document().find("db");
    if (!db.isString()) {
        co_return Status::ok();
    }
    // Only success is shown: otherwise the driver starts again.
    bson::Builder answer;
    const Status begun = co_await startLogin(
        call, std::string(db.stringValue()), speculative.document(), true, &answer);
    if (begun.isOk()) {
        const bson::OwnedDocument document(answer.finish());
        call.reply.add("speculativeAuthenticate", document.view());
    }
    co_return Status::ok();
}

void describeLogin(const Invocation& call, bool showPrivileges, bson::Builder* reply) {
    const UserRef& user = call.login.user;
    auto info = reply->object("authInfo");
    {
        auto users = info.array("authenticatedUsers");
        if (user != nullptr) {
            users.object(users.nextIndex()).add("user", user->user).add("db", user->db);
        }
    }
    {
        auto roles = info.array("authenticatedUserRoles");
        if (user != nullptr) {
            for (const RoleName& role : user->roles) {
                roles.object(roles.nextIndex()).add("role", role.role).add("db", role.db);
            }
        }
    }
    if (showPrivileges) {
        auto privileges = info.array("authenticatedUserPrivileges");
        if (user != nullptr) {
            user->grants.describe(&privileges);
        }
    }
}

CommandTable loginCommands() {
    return {
        {
            .name = "saslStart",
            .aliases = {},
            .help = "begin a login",
            .fields = {"mechanism", "payload", "autoAuthorize", "options", "db"},
            .handler = runSaslStart,
            .access = Access::anybody(),
            .readOnly = true,
            .inApiVersion1 = true,
        },
        {
            .name = "saslContinue",
            .aliases = {},
            .help = "the next message of a login",
            .fields = {"conversationId", "payload"},
            .handler = runSaslContinue,
            .access = Access::anybody(),
            .readOnly = true,
            .inApiVersion1 = true,
        },
        {
            .name = "authenticate",
            .aliases = {},
            .help = "log in by a TLS certificate",
            .fields = {"mechanism", "user", "db"},
            .handler = runAuthenticate,
            .access = Access::anybody(),
            .readOnly = true,
            .inApiVersion1 = true,
        },
        {
            .name = "logout",
            .aliases = {},
            .help = "be nobody again",
            .fields = {},
            .handler = runLogout,
            .access = Access::anybody(),
            .readOnly = true,
            .inApiVersion1 = true,
        },
    };
}

}  // namespace freshet::command
