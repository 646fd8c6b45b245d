// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/repl/runner.h"

#include "freshet/bson/json.h"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <vector>

namespace freshet::shell {

namespace {

/// Takes the first word off the front.
std::string_view takeWord(std::string_view* text) {
    constexpr std::string_view kSpace = " \t";
    std::string_view word = text->substr(0, text->find_first_of(kSpace));
    text->remove_prefix(word.size());
    text->remove_prefix(std::min(text->find_first_not_of(kSpace), text->size()));
    return word;
}

bson::OwnedDocument commandOf(std::string_view name) {
    return bson::OwnedDocument(bson::Builder().add(name, 1).finish());
}

}  // namespace

Runner::Runner(const client::ConnectionString& where, std::ostream& out, std::ostream& err)
    : where_(where), out_(out), err_(err), database_(where.database) {}

bool Runner::connect() {
    if (connection_ != nullptr) {
        return true;
    }
    StatusOr<std::unique_ptr<client::Connection>> opened = client::Connection::open(where_);
    if (!opened.isOk()) {
        err_ << "cannot connect to " << where_.whereText() << ": " << opened.status().text()
             << std::endl;
        return false;
    }
    connection_ = std::move(*opened);
    return true;
}

std::string Runner::serverVersion() {
    if (!connect()) {
        return {};
    }
    StatusOr<bson::OwnedDocument> reply =
        connection_->runChecked("admin", commandOf("buildInfo").view());
    bson::Element version = reply.isOk() ? reply->view().find("version") : bson::Element();
    return version.isString() ? std::string(version.stringValue()) : std::string();
}

Outcome Runner::run(std::string_view command) {
    if (command.starts_with('{')) {
        return runJson(command);
    }
    std::string_view rest = command;
    std::string_view word = takeWord(&rest);
    if (word == "use") {
        return use(rest);
    }
    if (word == "show") {
        return show(rest);
    }
    if (rest.empty() && (word == "exit" || word == "quit")) {
        return Outcome::kLeave;
    }
    if (rest.empty() && word == "help") {
        return help();
    }
    err_ << "not a command: " << command << " (help tells what there is)" << std::endl;
    return Outcome::kFailed;
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
    StatusOr<bson::OwnedDocument> reply = connection_->run(database_, command->view());
    if (!reply.isOk()) {
        return failed(reply.status());
    }
    out_ << bson::toJson(reply->view()) << std::endl;
    return reply->view().find("ok").isTruthy() ? Outcome::kDone : Outcome::kFailed;
}

Outcome Runner::use(std::string_view database) {
    if (database.empty() || database.find_first_of(" \t") != std::string_view::npos) {
        err_ << "use needs the name of one database" << std::endl;
        return Outcome::kFailed;
    }
    database_ = database;
    out_ << "switched to db " << database_ << std::endl;
    return Outcome::kDone;
}

Outcome Runner::show(std::string_view what) {
    bool databases = what == "dbs" || what == "databases";
    if (!databases && what != "collections" && what != "tables") {
        err_ << "show knows dbs and collections" << std::endl;
        return Outcome::kFailed;
    }
    if (!connect()) {
        return Outcome::kFailed;
    }
    return databases ? showDatabases() : showCollections();
}

Outcome Runner::showDatabases() {
    StatusOr<bson::OwnedDocument> reply =
        connection_->runChecked("admin", commandOf("listDatabases").view());
    if (!reply.isOk()) {
        return failed(reply.status());
    }
    bson::Element databases = reply->view().find("databases");
    if (!databases.isArray()) {
        return failed(badValue("the reply has no databases"));
    }
    for (const bson::Element& element : databases.document()) {
        if (element.isObject()) {
            bson::Element name = element.document().find("name");
            constexpr int64_t kKibibyte = 1024;
            out_ << std::left << std::setw(24) << (name.isString() ? name.stringValue() : "")
                 << element.document().find("sizeOnDisk").toInt64() / kKibibyte << " KiB\n";
        }
    }
    out_.flush();
    return Outcome::kDone;
}

Outcome Runner::showCollections() {
    std::string command = bson::Builder().add("listCollections", 1).add("nameOnly", true).finish();
    std::vector<std::string> names;
    Status status = client::forEach(
        *connection_, database_, bson::Document(command), [&](bson::Document collection) {
            bson::Element name = collection.find("name");
            names.emplace_back(name.isString() ? name.stringValue() : "");
            return true;
        });
    if (!status.isOk()) {
        return failed(status);
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
        out_ << name << '\n';
    }
    out_.flush();
    return Outcome::kDone;
}

Outcome Runner::help() {
    out_ << "use <db>           commands go to that database from now on\n"
            "show dbs           the databases and their sizes\n"
            "show collections   the collections of this database\n"
            "{\"<command>\": ...} any server command, as Extended JSON, over several lines if need "
            "be\n"
            "exit, quit         leave; so does Ctrl-D\n"
         << std::flush;
    return Outcome::kDone;
}

Outcome Runner::failed(const Status& status) {
    // These two are about the command, any other about the connection.
    if (status.code() == Code::kInvalid || status.code() == Code::kLimit) {
        err_ << status.text() << std::endl;
    } else {
        connection_.reset();
        err_ << "connection to " << where_.whereText() << " lost: " << status.text()
             << "; the next command connects again" << std::endl;
    }
    return Outcome::kFailed;
}

}  // namespace freshet::shell
