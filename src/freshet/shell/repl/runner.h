// SPDX-License-Identifier: Apache-2.0
/// Runs one input of the user and prints what comes of it: a server command as Extended JSON, for
/// which JavaScript is not started, or else JavaScript.
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
    /// person waits, who may press Ctrl-C.
    Runner(const client::ConnectionString& where,
           bool isInteractive,
           std::ostream& out,
           std::ostream& err);

    /// kFailed: it was wrong, the server said ok: 0, or the connection failed; `err` has been told
    /// why.
    Outcome run(const std::string& input, const InputMode& mode);
    Outcome runFile(const std::string& path, const InputMode& mode);
    /// An Extended JSON command only.
    Outcome runJson(std::string_view json);
    /// Whether the input is an Extended JSON command.
    static bool isJsonCommand(std::string_view input);
    /// Whether the lines so far are a whole input.
    bool isWhole(const std::string& text) { return engine_.isComplete(text); }
    /// Connects now. False after telling `err` why not.
    bool connect();
    /// The server's version as its buildInfo tells it; empty when it does not.
    std::string serverVersion();
    std::string startupWarnings() { return engine_.startupWarnings(); }
    std::string prompt() { return engine_.prompt(); }
    std::vector<std::string> complete(const std::string& line) { return engine_.complete(line); }
    Engine::HistoryWish historyOf(const std::string& line) { return engine_.historyOf(line); }
    /// What quit() was given.
    int exitCode() const { return engine_.exitCode(); }

private:
    static Outcome outcomeOf(Engine::Result result);

    std::ostream& out_;
    std::ostream& err_;
    Link link_;
    Engine engine_;
};

}  // namespace freshet::shell
