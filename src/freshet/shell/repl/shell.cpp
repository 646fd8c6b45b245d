// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/repl/shell.h"

#include "freshet/shell/process/interrupts.h"
#include "freshet/shell/process/options.h"
#include "freshet/shell/process/password.h"
#include "freshet/shell/rdma_check/rdma_check.h"
#include "freshet/shell/repl/line_reader.h"
#include "freshet/shell/repl/runner.h"
#include "freshet/shell/repl/splitter.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <istream>
#include <optional>
#include <ostream>

namespace freshet::shell {

namespace {

int exitCodeOf(Outcome outcome, const Runner& runner) {
    return outcome == Outcome::kLeave  ? runner.exitCode()
           : outcome == Outcome::kDone ? kExitDone
                                       : kExitFailed;
}

/// --eval and script files, up to the first one that fails or quits. Of JavaScript only the last
/// value is shown, as in mongosh; a server command always shows its reply.
Outcome runScripts(const Options& options, Runner& runner) {
    InputMode mode;
    mode.json = options.json;
    mode.fileName = "eval";
    for (size_t at = 0; at < options.evals.size(); ++at) {
        mode.show = at + 1 == options.evals.size();
        if (Outcome outcome = runner.run(options.evals[at], mode); outcome != Outcome::kDone) {
            return outcome;
        }
    }
    mode.fileName = "file";
    for (const std::string& path : options.files) {
        if (Outcome outcome = runner.runFile(path, mode); outcome != Outcome::kDone) {
            return outcome;
        }
    }
    return Outcome::kDone;
}

/// Reads and runs inputs until there are no more or one quits. Returns the exit code.
class Loop {
public:
    Loop(LineReader& reader, Runner& runner, InputMode mode, std::ostream& out, std::ostream& err)
        : reader_(reader), runner_(runner), mode_(std::move(mode)), out_(out), err_(err) {}

    int run() {
        for (;;) {
            std::string line;
            forgetInterrupt();
            switch (reader_.read(prompt(), &line)) {
                case LineReader::Result::kInterrupted:
                    splitter_.takeRest();
                    break;
                case LineReader::Result::kEnd:
                    return end();
                case LineReader::Result::kLine:
                    if (!runLine(line)) {
                        return runner_.exitCode();
                    }
                    break;
            }
        }
    }

private:
    std::string prompt() {
        if (!mode_.interactive) {
            return {};
        }
        return splitter_.isOpen() ? "... " : runner_.prompt();
    }

    /// An unfinished input is an error; the engine's message explains it best.
    int end() {
        if (splitter_.isOpen()) {
            runOne(splitter_.takeRest());
        }
        return ok_ || mode_.interactive ? kExitDone : kExitFailed;
    }

    /// Lines up to Ctrl-D, which form one input; Ctrl-C drops them.
    std::string edited() {
        constexpr size_t kTextBytesMax = Splitter::kPendingBytesMax;
        out_ << "// Ctrl-D runs what you write, Ctrl-C drops it" << std::endl;
        std::string text;
        std::string line;
        while (text.size() < kTextBytesMax) {
            switch (reader_.read("| ", &line)) {
                case LineReader::Result::kLine:
                    text.append(line).push_back('\n');
                    break;
                case LineReader::Result::kEnd:
                    return text;
                case LineReader::Result::kInterrupted:
                    return {};
            }
        }
        return {};
    }

    /// Commands for the user of a terminal only. False: the line is none of them.
    bool runKey(const std::string& line, bool* goesOn) {
        const std::string word = line.substr(0, line.find_last_not_of(" \t") + 1);
        if (!mode_.interactive || (word != ".editor" && word != ".break" && word != ".clear")) {
            return false;
        }
        splitter_.takeRest();
        const std::string text = word == ".editor" ? edited() : "";
        *goesOn = text.find_first_not_of(" \t\n") == std::string::npos || runOne(text);
        return true;
    }

    /// False when the user wants to quit.
    bool runLine(const std::string& line) {
        bool goesOn = true;
        if (runKey(line, &goesOn)) {
            return goesOn;
        }
        if (Status status = splitter_.addLine(line); !status.isOk()) {
            err_ << status.text() << std::endl;
            ok_ = false;
        }
        while (std::optional<std::string> input = splitter_.next()) {
            if (!runOne(*input)) {
                return false;
            }
        }
        return true;
    }

    bool runOne(const std::string& input) {
        Outcome outcome = runner_.run(input, mode_);
        ok_ = ok_ && outcome != Outcome::kFailed;
        return outcome != Outcome::kLeave;
    }

    LineReader& reader_;
    Runner& runner_;
    const InputMode mode_;
    std::ostream& out_;
    std::ostream& err_;
    Splitter splitter_{[this](const std::string& text) { return runner_.isWhole(text); }};
    bool ok_ = true;
};

std::string homePath(const char* name) {
    const char* home = std::getenv("HOME");
    return home == nullptr || *home == '\0' ? std::string() : std::string(home) + "/" + name;
}

/// The scripts that shells run at their start: ours, and those of mongosh and of the older shell.
void runRcFiles(Runner& runner, const InputMode& mode) {
    constexpr std::array<const char*, 3> kNames = {".freshetrc.js", ".mongoshrc.js", ".mongorc.js"};
    for (const char* name : kNames) {
        const std::string path = homePath(name);
        if (!path.empty() && ::access(path.c_str(), R_OK) == 0) {
            runner.runFile(path, mode);
            return;
        }
    }
}

int runTerminal(const Options& options, Runner& runner, std::ostream& out, std::ostream& err) {
    InputMode mode;
    mode.interactive = true;
    mode.redeclares = true;
    mode.colours = true;
    mode.json = options.json;
    if (!options.quiet) {
        out << versionText();
        if (options.connects) {
            out << "connected to " << options.where.whereText() << ", server version "
                << runner.serverVersion() << "\n";
        }
        out << "help tells what there is." << std::endl;
        const bool asks = options.connects && options.tellsWarnings;
        if (const std::string warnings = asks ? runner.startupWarnings() : ""; !warnings.empty()) {
            out << warnings << std::endl;
        }
    }
    if (options.readsRcFiles) {
        runRcFiles(runner, mode);
    }
    TerminalOptions terminal;
    terminal.historyPath = homePath(".freshet_history");
    terminal.remembered = [&runner](const std::string& line) -> Remembered {
        const Engine::HistoryRule rule = runner.historyOf(line);
        return {!rule.keepsSecrets && holdsSecret(line) ? "" : rule.text, rule.linesMax};
    };
    terminal.complete = [&runner](const std::string& text) { return runner.complete(text); };
    std::unique_ptr<LineReader> reader = makeTerminalReader(std::move(terminal));
    if (reader == nullptr) {
        err << "this terminal cannot be used for editing" << std::endl;
        return kExitFailed;
    }
    return Loop(*reader, runner, mode, out, err).run();
}

int runStream(const Options& options,
              Runner& runner,
              std::istream& in,
              std::ostream& out,
              std::ostream& err) {
    InputMode mode;
    mode.redeclares = true;
    mode.json = options.json;
    mode.fileName = "stdin";
    return Loop(*makeStreamReader(in), runner, mode, out, err).run();
}

int runInputs(const Options& options,
              bool isTerminal,
              std::istream& in,
              std::ostream& out,
              std::ostream& err) {
    const bool stays = options.mode == Mode::kCommands || options.staysForMore;
    Runner runner(options.where, isTerminal && stays, out, err);
    if (options.mode == Mode::kPing) {
        return exitCodeOf(runner.runJson("{\"ping\": 1}"), runner);
    }
    if (options.connects && !runner.connect()) {
        return kExitFailed;
    }
    const Outcome outcome = runScripts(options, runner);
    if (!stays || outcome == Outcome::kLeave) {
        return exitCodeOf(outcome, runner);
    }
    return isTerminal ? runTerminal(options, runner, out, err)
                      : runStream(options, runner, in, out, err);
}

}  // namespace

int runShell(const std::vector<std::string>& arguments,
             bool isTerminal,
             std::istream& in,
             std::ostream& out,
             std::ostream& err) {
    StatusOr<Options> options = parseOptions(arguments);
    if (!options.isOk()) {
        err << "freshet: " << options.status().text() << "\nsee freshet --help" << std::endl;
        return kExitUsage;
    }
    if (options->mode == Mode::kHelp || options->mode == Mode::kVersion) {
        out << (options->mode == Mode::kHelp ? usage() : versionText()) << std::flush;
        return kExitDone;
    }
    if (options->mode == Mode::kRdmaCheck) {
        return checkRdma({options->where, nullptr, lockedBytesMax()}, out) ? kExitDone
                                                                           : kExitFailed;
    }
    if (options->asksPassword) {
        std::optional<std::string> password =
            askPassword("Password of " + options->where.username + ": ");
        if (!password.has_value()) {
            err << "a password is needed, and there is no terminal to ask at" << std::endl;
            return kExitUsage;
        }
        options->where.password = *password;
    }
    return runInputs(*options, isTerminal, in, out, err);
}

}  // namespace freshet::shell
