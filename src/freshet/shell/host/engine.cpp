// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/host/engine.h"

#include "freshet/shell/js/library.h"
#include "freshet/shell/process/interrupts.h"

#include <ostream>

namespace freshet::shell {

namespace {

constexpr uint64_t kHeapBytesMax = 2ull << 30;
constexpr uint32_t kStackBytesMax = 4u << 20;
constexpr int kHistoryLines = 1000;  // when JavaScript cannot be asked

std::string modeBytes(const InputMode& mode) {
    return bson::Builder()
        .add("show", mode.show)
        .add("interactive", mode.interactive)
        .add("redeclares", mode.redeclares)
        .add("colours", mode.colours)
        .add("json", mode.json)
        .add("fileName", mode.fileName)
        .finish();
}

}  // namespace

Engine::~Engine() {
    setInterruptible(nullptr);
    if (context_ != nullptr) {
        context_->clearInterrupt();
        static_cast<void>(ask("stopServers", ""));
    }
}

Status Engine::start() {
    if (context_ != nullptr) {
        return Status::ok();
    }
    script::Limits limits;
    limits.heapBytesMax = kHeapBytesMax;
    limits.stackBytesMax = kStackBytesMax;
    FRESHET_ASSIGN_OR_RETURN(context_, script::Context::make(limits));
    FRESHET_RETURN_IF_ERROR(host_.define(*context_));
    for (const script::Source& source : librarySources()) {
        FRESHET_RETURN_IF_ERROR(context_->addLibrary(source));
    }
    setInterruptible(context_.get());
    const std::string about = describeLink(link_, 0);
    const std::string& database = database_.empty() ? link_.where().database : database_;
    const std::string arguments = bson::Builder()
                                      .add("0", bson::Document(about))
                                      .add("1", database)
                                      .add("2", link_.wasOpened())
                                      .finish();
    return context_->callLibrary("attach", bson::Document(arguments)).status();
}

Engine::Result Engine::run(const std::string& text, const InputMode& mode) {
    return call("runInput", text, mode);
}

Engine::Result Engine::runFile(const std::string& path, const InputMode& mode) {
    return call("runScript", path, mode);
}

Engine::Result Engine::call(const char* function, const std::string& text, const InputMode& mode) {
    if (Status status = start(); !status.isOk()) {
        err_ << status.text() << std::endl;
        return Result::kFailed;
    }
    const std::string options = modeBytes(mode);
    const std::string arguments =
        bson::Builder().add("0", text).add("1", bson::Document(options)).finish();
    StatusOr<script::Value> ok = context_->callLibrary(function, bson::Document(arguments));
    if (host_.exitCode().has_value()) {
        context_->clearInterrupt();
        return Result::kLeave;
    }
    if (ok.isOk()) {
        return ok->element().isTruthy() ? Result::kDone : Result::kFailed;
    }
    err_ << ok.status().text() << std::endl;
    return Result::kFailed;
}

StatusOr<script::Value> Engine::ask(const char* function, const std::string& text) {
    FRESHET_RETURN_IF_ERROR(start());
    const std::string arguments = bson::Builder().add("0", text).finish();
    return context_->callLibrary(function, bson::Document(arguments));
}

bool Engine::isComplete(const std::string& text) {
    StatusOr<script::Value> answer = ask("isComplete", text);
    return !answer.isOk() || answer->element().isTruthy();
}

std::string Engine::textOf(const char* function, const std::string& otherwise) {
    StatusOr<script::Value> answer = ask(function, "");
    return answer.isOk() && answer->element().isString()
               ? std::string(answer->element().stringValue())
               : otherwise;
}

std::string Engine::prompt() {
    return textOf("prompt", "> ");
}

std::string Engine::startupWarnings() {
    return textOf("greet", "");
}

std::vector<std::string> Engine::complete(const std::string& line) {
    std::vector<std::string> words;
    StatusOr<script::Value> answer = ask("complete", line);
    if (answer.isOk() && answer->element().isArray()) {
        for (const bson::Element& word : answer->element().document()) {
            words.emplace_back(word.isString() ? word.stringValue() : "");
        }
    }
    return words;
}

Engine::HistoryRule Engine::historyOf(const std::string& line) {
    StatusOr<script::Value> answer = ask("historyOf", line);
    if (!answer.isOk() || !answer->element().isObject()) {
        return {"", kHistoryLines, false};
    }
    const bson::Document rule = answer->element().document();
    return {std::string(rule.find("text").stringValue()),
            static_cast<int>(rule.find("lines").toInt64()),
            rule.find("keepsSecrets").isTruthy()};
}

std::string Engine::database() {
    if (context_ == nullptr) {
        return database_.empty() ? link_.where().database : database_;
    }
    return textOf("databaseName", link_.where().database);
}

void Engine::use(const std::string& database) {
    database_ = database;
    if (context_ != nullptr) {
        static_cast<void>(ask("use", database));
    }
}

}  // namespace freshet::shell
