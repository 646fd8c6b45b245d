// SPDX-License-Identifier: Apache-2.0
#include "freshet/client/login/login.h"

#include "freshet/security/scram.h"

namespace freshet::client {
namespace {

/// More steps than any server needs.
constexpr int kStepsMax = 8;

/// The best mechanism that the server supports for the user; SCRAM-SHA-1 when it does not say.
StatusOr<security::ScramMechanism> mechanismFor(const ConnectionString& where,
                                                bson::Document hello) {
    const std::string_view best = security::mechanismName(security::ScramMechanism::kSha256);
    const std::string_view other = security::mechanismName(security::ScramMechanism::kSha1);
    if (!where.authMechanism.empty() && where.authMechanism != best &&
        where.authMechanism != other) {
        return badValue("the login mechanism " + where.authMechanism + " is not available");
    }
    bool hasBest = where.authMechanism == best;
    const bson::Element offered = hello.find("saslSupportedMechs");
    if (where.authMechanism.empty() && offered.isArray()) {
        for (const bson::Element& name : offered.document()) {
            hasBest = hasBest || (name.isString() && name.stringValue() == best);
        }
    }
    return hasBest ? security::ScramMechanism::kSha256 : security::ScramMechanism::kSha1;
}

std::string startCommand(security::ScramMechanism mechanism, const std::string& payload) {
    bson::Builder command;
    command.add("saslStart", 1).add("mechanism", security::mechanismName(mechanism));
    command.add("payload", bson::Binary{0, payload});
    command.add("autoAuthorize", 1);
    command.object("options").add("skipEmptyExchange", true);
    return command.finish();
}

std::string continueCommand(const bson::Element& conversation, const std::string& payload) {
    bson::Builder command;
    command.add("saslContinue", 1).addAs("conversationId", conversation);
    command.add("payload", bson::Binary{0, payload});
    return command.finish();
}

}  // namespace

std::string authSourceOf(const ConnectionString& where) {
    return where.authSource.empty() ? "admin" : where.authSource;
}

std::string userForHello(const ConnectionString& where) {
    return authSourceOf(where) + "." + where.username;
}

Status logIn(Connection& connection, const ConnectionString& where, bson::Document hello) {
    if (where.authMechanism == kX509) {
        bson::Builder command;
        command.add("authenticate", 1).add("mechanism", kX509);
        if (!where.username.empty()) {
            command.add("user", where.username);
        }
        const std::string bytes = command.finish();
        return connection.runChecked("$external", bson::Document(bytes)).status();
    }
    const std::string source = authSourceOf(where);
    FRESHET_ASSIGN_OR_RETURN(security::ScramMechanism mechanism, mechanismFor(where, hello));
    security::ScramClient scram(mechanism, where.username, where.password);
    std::string command = startCommand(mechanism, scram.first());
    for (int step = 0; step < kStepsMax; ++step) {
        FRESHET_ASSIGN_OR_RETURN(bson::OwnedDocument reply,
                                 connection.runChecked(source, bson::Document(command)));
        const bson::Element payload = reply.view().find("payload");
        const bool isDone = reply.view().find("done").isTruthy();
        if (payload.type() != bson::Type::kBinary) {
            return badValue("the server's reply to a login has no payload");
        }
        std::string next;
        if (!scram.isDone()) {
            FRESHET_ASSIGN_OR_RETURN(next, scram.step(payload.binaryValue().bytes));
        }
        if (isDone) {
            return scram.isDone() ? Status::ok()
                                  : invalid(Reason::kAuthenticationFailed,
                                            "the server has not proved that it knows us");
        }
        const bson::Element conversation = reply.view().find("conversationId");
        if (conversation.isMissing()) {
            return badValue("the server's reply to a login names no conversation");
        }
        command = continueCommand(conversation, next);
    }
    return invalid(Reason::kAuthenticationFailed, "the login does not end");
}

}  // namespace freshet::client
