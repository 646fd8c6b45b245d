// SPDX-License-Identifier: Apache-2.0
/// Runs one input of the user and prints the result: a server command as Extended JSON, which does
/// not start JavaScript, or else JavaScript.
#pragma once

#include "freshet/shell/host/engine.h"

#include <iosfwd>
#include <string>
#include <string_view>

namespace freshet::shell {

enum class Outcome : uint8_t { kDone, kFailed, kLeave };

class Runner {
public:
    /// Replies go to `out`, all other texts to `err`. Both must outlive this. `isInteractive`: a
    /// person waits, and may press Ctrl-C.
    Runner(const client::ConnectionString& where,
           bool isInteractive,
           std::ostream& out,
           std::ostream& err);

    /// kFailed: the input was wrong, the server replied ok: 0, or the connection failed; the reason
    /// was written to `err`.
    Outcome run(const std::string& input, const InputMode& mode);
    Outcome runFile(const std::string& path, const InputMode& mode);
    /// Only an Extended JSON command.
    Outcome runJson(std::string_view json);
    /// Whether the input is an Extended JSON command.
    static bool isJsonCommand(std::string_view input);
    /// Whether the lines so far are a complete input.
    bool isWhole(const std::string& text) { return engine_.isComplete(text); }
    /// Connects now. False after writing the reason to `err`.
    bool connect();
    /// The server's version from buildInfo; empty if that fails.
    std::string serverVersion();
    std::string startupWarnings() { return engine_.startupWarnings(); }
    std::string prompt() { return engine_.prompt(); }
    std::vector<std::string> complete(const std::string& line) { return engine_.complete(line); }
    Engine::HistoryRule historyOf(const std::string& line) { return engine_.historyOf(line); }
    /// The argument of quit().
    int exitCode() const { return engine_.exitCode(); }

private:
    static Outcome outcomeOf(Engine::Result result);

    std::ostream& out_;
    std::ostream& err_;
    Link link_;
    Engine engine_;
};

}  // namespace freshet::shell
