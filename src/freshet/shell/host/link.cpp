// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/host/link.h"

#include "freshet/platform/thread.h"
#include "freshet/shell/process/interrupts.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iostream>

namespace freshet::shell {

namespace {

constexpr uint8_t kUuidSubtype = 4;

std::string newSessionId() {
    const std::array<uint64_t, 2> words = {platform::randomSeed(), platform::randomSeed()};
    return std::string(reinterpret_cast<const char*>(words.data()), sizeof words);
}

/// {<name>: [{id: <session>}]}
std::string sessionCommand(std::string_view name, const std::string& id) {
    bson::Builder command;
    bson::Builder list = command.array(name);
    bson::Builder session = list.object(list.nextIndex());
    session.add("id", bson::Binary{kUuidSubtype, id});
    session.close();
    list.close();
    return command.finish();
}

bool allAre(bson::Document command, std::string_view list, bool (*isGood)(bson::Document)) {
    const bson::Element statements = command.find(list);
    if (!statements.isArray()) {
        return false;
    }
    for (const bson::Element& statement : statements.document()) {
        if (!statement.isObject() || !isGood(statement.document())) {
            return false;
        }
    }
    return true;
}

/// Whether it is an acknowledged write of single documents.
bool mayBeSentAgain(bson::Document command) {
    const std::string_view name = command.begin()->name();
    const bson::Element concern = command.find("writeConcern");
    const bson::Element w = concern.isObject() ? concern.document().find("w") : bson::Element();
    if (command.has("txnNumber") || (w.isNumber() && w.toInt64() == 0)) {
        return false;
    }
    if (name == "update") {
        return allAre(command, "updates", [](bson::Document statement) {
            return !statement.find("multi").isTruthy();
        });
    }
    if (name == "delete") {
        return allAre(command, "deletes", [](bson::Document statement) {
            return statement.find("limit").toInt64() == 1;
        });
    }
    return name == "insert" || name == "findAndModify" || name == "findandmodify";
}

/// The connection is lost; a reply of the server is not such an error, nor are kInvalid and kLimit.
bool isLost(const StatusOr<bson::OwnedDocument>& reply) {
    return !reply.isOk() && reply.status().code() != Code::kInvalid &&
           reply.status().code() != Code::kLimit;
}

/// Writes to the user without disturbing the output of scripts.
void tellUser(const std::string& text) {
    std::cerr << "freshet: " << text << "\n";
}

}  // namespace

Link::Link(client::ConnectionString where, bool hasSession)
    : where_(std::move(where)), hasSession_(hasSession), sessionId_(newSessionId()) {}

Link::~Link() {
    close();
}

void Link::close() {
    if (connection_ != nullptr && sessionUsed_) {
        const std::string command = sessionCommand("endSessions", sessionId_);
        static_cast<void>(connection_->run("admin", bson::Document(command)));
        sessionUsed_ = false;
        sessionId_ = newSessionId();
    }
    connection_.reset();
}

Status Link::open() {
    if (connection_ != nullptr) {
        return Status::ok();
    }
    // Once, so that killLeftWork() goes to the server that does the work.
    FRESHET_ASSIGN_OR_RETURN(where_, where_.lookedUp());
    StatusOr<std::unique_ptr<client::Connection>> opened =
        client::Connection::open(where_, {nullptr, tellUser});
    if (!opened.isOk()) {
        const Status& why = opened.status();
        // That needs no more words, nor does what names the server.
        const bool isAnswer = why.reason() == Reason::kAuthenticationFailed;
        const bool isNamed = why.text().find(where_.whereText()) != std::string_view::npos;
        return isAnswer || isNamed ? why
                                   : why.withContext("cannot connect to " + where_.whereText());
    }
    connection_ = std::move(*opened);
    wasOpened_ = true;
    return Status::ok();
}

bool Link::canCarrySession(bson::Document command) const {
    constexpr std::array<std::string_view, 6> kWithout = {
        "hello", "isMaster", "ismaster", "startSession", "endSessions", "killSessions"};
    return !command.isEmpty() && !command.has("lsid") &&
           hello().has("logicalSessionTimeoutMinutes") &&
           std::find(kWithout.begin(), kWithout.end(), command.begin()->name()) == kWithout.end();
}

std::string Link::stamped(bson::Document command, bool isRetryable, bool carriesSession) {
    bson::Builder builder;
    builder.addFields(command);
    if (carriesSession) {
        builder.object("lsid").add("id", bson::Binary{kUuidSubtype, sessionId_});
        sessionUsed_ = true;
    }
    if (!where_.apiVersion.empty() && !command.has("apiVersion")) {
        builder.add("apiVersion", where_.apiVersion).add("apiStrict", where_.apiStrict);
        builder.add("apiDeprecationErrors", where_.apiDeprecationErrors);
    }
    if (isRetryable) {
        builder.add("txnNumber", ++txnNumber_);
    }
    return builder.finish();
}

StatusOr<bson::OwnedDocument> Link::exchange(std::string_view database,
                                             bson::Document command,
                                             bool isRetryable) {
    StatusOr<bson::OwnedDocument> reply = connection_->run(database, command);
    if (!isLost(reply) || !isRetryable || wasInterrupted()) {
        return reply;
    }
    connection_.reset();
    return open().isOk() ? connection_->run(database, command) : reply;
}

StatusOr<bson::OwnedDocument> Link::run(std::string_view database, bson::Document command) {
    FRESHET_RETURN_IF_ERROR(open());
    const bool isRetryable = canCarrySession(command) && where_.retryWrites &&
                             hello().has("setName") && mayBeSentAgain(command);
    const bool carriesSession = isRetryable || (hasSession_ && canCarrySession(command));
    std::string carried;
    if (carriesSession || !where_.apiVersion.empty()) {
        carried = stamped(command, isRetryable, carriesSession);
        command = bson::Document(carried);
    }
    StatusOr<bson::OwnedDocument> reply = exchange(database, command, isRetryable);
    if (!isLost(reply)) {
        return reply;
    }
    connection_.reset();
    if (wasInterrupted()) {
        killLeftWork();
        return Status(Code::kCancelled, "the operation was interrupted");
    }
    return Status(reply.status().code(),
                  "connection to " + where_.whereText() + " lost: " +
                      std::string(reply.status().text()) + "; the next command connects again");
}

void Link::killLeftWork() {
    if (!sessionUsed_ || !open().isOk()) {
        return;
    }
    const std::string command = sessionCommand("killSessions", sessionId_);
    if (!connection_->run("admin", bson::Document(command)).isOk()) {
        connection_.reset();
    }
    sessionUsed_ = false;
    sessionId_ = newSessionId();
}

Status Link::logIn(const client::ConnectionString& where) {
    const client::ConnectionString before = where_;
    where_ = where;
    close();
    Status status = open();
    if (!status.isOk()) {
        where_ = before;
    }
    return status;
}

}  // namespace freshet::shell
