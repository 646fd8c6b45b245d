// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/repl/runner.h"

#include "freshet/bson/json.h"

#include <ostream>

namespace freshet::shell {

Runner::Runner(const client::ConnectionString& where,
               bool isInteractive,
               std::ostream& out,
               std::ostream& err)
    : out_(out), err_(err), link_(where, isInteractive), engine_(link_, isInteractive, out, err) {}

bool Runner::connect() {
    Status status = link_.open();
    if (!status.isOk()) {
        const bool isWrong = status.reason() == Reason::kFailedToParse;  // the string, or DNS of it
        const bool isRefused = status.reason() == Reason::kAuthenticationFailed;  // by the server
        err_ << (isWrong     ? "MongoParseError: "
                 : isRefused ? "MongoServerError: "
                             : "MongoNetworkError: ")
             << status.text() << std::endl;
    }
    return status.isOk();
}

std::string Runner::serverVersion() {
    const std::string command = bson::Builder().add("buildInfo", 1).finish();
    StatusOr<bson::OwnedDocument> reply = link_.run("admin", bson::Document(command));
    bson::Element version = reply.isOk() ? reply->view().find("version") : bson::Element();
    return version.isString() ? std::string(version.stringValue()) : std::string();
}

bool Runner::isJsonCommand(std::string_view input) {
    const size_t brace = input.find_first_not_of(" \t\r\n");
    if (brace == std::string_view::npos || input[brace] != '{') {
        return false;
    }
    const size_t name = input.find_first_not_of(" \t\r\n", brace + 1);
    return name != std::string_view::npos && input[name] == '"' && bson::fromJson(input).isOk();
}

Outcome Runner::outcomeOf(Engine::Result result) {
    switch (result) {
        case Engine::Result::kDone:
            return Outcome::kDone;
        case Engine::Result::kLeave:
            return Outcome::kLeave;
        default:
            return Outcome::kFailed;
    }
}

Outcome Runner::run(const std::string& input, const InputMode& mode) {
    return isJsonCommand(input) ? runJson(input) : outcomeOf(engine_.run(input, mode));
}

Outcome Runner::runFile(const std::string& path, const InputMode& mode) {
    return outcomeOf(engine_.runFile(path, mode));
}

Outcome Runner::runJson(std::string_view json) {
    StatusOr<bson::OwnedDocument> command = bson::fromJson(json);
    if (!command.isOk()) {
        err_ << command.status().text() << std::endl;
        return Outcome::kFailed;
    }
    if (!connect()) {
        return Outcome::kFailed;
    }
    StatusOr<bson::OwnedDocument> reply = link_.run(engine_.database(), command->view());
    if (!reply.isOk()) {
        err_ << reply.status().text() << std::endl;
        return Outcome::kFailed;
    }
    out_ << bson::toJson(reply->view()) << std::endl;
    return reply->view().find("ok").isTruthy() ? Outcome::kDone : Outcome::kFailed;
}

}  // namespace freshet::shell
