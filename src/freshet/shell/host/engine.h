// SPDX-License-Identifier: Apache-2.0
/// The shell's JavaScript engine, started on demand.
#pragma once

#include "freshet/shell/host/host.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::shell {

/// How an input is evaluated and which results are shown.
struct InputMode {
    bool show = true;          // print the value
    bool interactive = false;  // typed by a person
    bool redeclares = false;   // `let` may declare a name again that an earlier input declared
    bool colours = false;
    std::string json;  // "", "relaxed" or "canonical"
    std::string fileName = "shell";
};

class Engine {
public:
    enum class Result : uint8_t { kDone, kFailed, kLeave };

    Engine(Link& link, bool hasSessions, std::ostream& out, std::ostream& err)
        : link_(link), host_(link, hasSessions, out, err), err_(err) {}
    ~Engine();

    /// Runs one input. Errors have been shown.
    Result run(const std::string& text, const InputMode& mode);
    /// Runs a script file.
    Result runFile(const std::string& path, const InputMode& mode);
    /// False when more lines have to follow.
    bool isComplete(const std::string& text);
    std::string prompt();
    /// The warnings of the server's start; empty when there were none.
    std::string startupWarnings();
    std::vector<std::string> complete(const std::string& line);
    /// What to put into the history for this line, by the user's settings.
    struct HistoryRule {
        std::string text;  // of the line
        int linesMax;
        bool keepsSecrets;
    };
    HistoryRule historyOf(const std::string& line);
    /// The database for commands that are not JavaScript.
    std::string database();
    void use(const std::string& database);
    int exitCode() const { return host_.exitCode().value_or(0); }

private:
    Status start();
    Result call(const char* function, const std::string& text, const InputMode& mode);
    std::string textOf(const char* function, const std::string& otherwise);
    StatusOr<script::Value> ask(const char* function, const std::string& text);

    Link& link_;
    Host host_;
    std::ostream& err_;
    std::unique_ptr<script::Context> context_;
    std::string database_;  // used until JavaScript has started
};

}  // namespace freshet::shell
