// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/repl/shell.h"

#include "freshet/shell/repl/line_reader.h"
#include "freshet/shell/repl/options.h"
#include "freshet/shell/repl/password.h"
#include "freshet/shell/repl/runner.h"
#include "freshet/shell/repl/splitter.h"

#include <istream>
#include <optional>
#include <ostream>

namespace freshet::shell {

namespace {

int runEvals(const Options& options, Runner& runner) {
    for (const std::string& json : options.evals) {
        if (runner.runJson(json) != Outcome::kDone) {
            return kExitFailed;
        }
    }
    return kExitDone;
}

/// Reads and runs commands until the input ends or a command says so. Returns whether all went
/// well.
class Loop {
public:
    Loop(LineReader& reader, Runner& runner, std::ostream& err)
        : reader_(reader), runner_(runner), err_(err) {}

    bool run() {
        for (;;) {
            std::string line;
            std::string prompt = splitter_.isOpen() ? "... " : runner_.database() + "> ";
            switch (reader_.read(prompt, &line)) {
                case LineReader::Result::kInterrupted:
                    splitter_.takeRest();
                    break;
                case LineReader::Result::kEnd:
                    if (splitter_.isOpen()) {
                        complain("the last command is not complete: " + splitter_.takeRest());
                    }
                    return ok_;
                case LineReader::Result::kLine:
                    if (!runLine(line)) {
                        return ok_;
                    }
                    break;
            }
        }
    }

private:
    /// False when the user wants to leave.
    bool runLine(const std::string& line) {
        if (Status status = splitter_.addLine(line); !status.isOk()) {
            complain(std::string(status.text()));
        }
        while (std::optional<std::string> command = splitter_.next()) {
            Outcome outcome = runner_.run(*command);
            if (outcome == Outcome::kLeave) {
                return false;
            }
            ok_ = ok_ && outcome == Outcome::kDone;
        }
        return true;
    }

    void complain(const std::string& text) {
        err_ << text << std::endl;
        ok_ = false;
    }

    LineReader& reader_;
    Runner& runner_;
    std::ostream& err_;
    Splitter splitter_;
    bool ok_ = true;
};

int runCommands(const Options& options,
                bool isTerminal,
                Runner& runner,
                std::istream& in,
                std::ostream& out,
                std::ostream& err) {
    if (!runner.connect()) {
        return kExitFailed;
    }
    std::unique_ptr<LineReader> reader = isTerminal ? makeTerminalReader() : makeStreamReader(in);
    if (reader == nullptr) {
        err << "this terminal cannot be used for editing" << std::endl;
        return kExitFailed;
    }
    if (isTerminal && !options.quiet) {
        out << versionText() << "connected to " << options.where.whereText() << ", server version "
            << runner.serverVersion() << "\nCommands are Extended JSON; help tells more."
            << std::endl;
    }
    bool ok = Loop(*reader, runner, err).run();
    return ok || isTerminal ? kExitDone : kExitFailed;
}

}  // namespace

int runShell(const std::vector<std::string>& arguments,
             bool isTerminal,
             std::istream& in,
             std::ostream& out,
             std::ostream& err) {
    StatusOr<Options> options = parseOptions(arguments);
    if (!options.isOk()) {
        err << options.status().text() << "\n\n" << usage() << std::flush;
        return kExitUsage;
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
    Runner runner(options->where, out, err);
    switch (options->mode) {
        case Mode::kHelp:
            out << usage() << std::flush;
            return kExitDone;
        case Mode::kVersion:
            out << versionText() << std::flush;
            return kExitDone;
        case Mode::kPing:
            return runner.runJson("{\"ping\": 1}") == Outcome::kDone ? kExitDone : kExitFailed;
        case Mode::kEval:
            return runEvals(*options, runner);
        case Mode::kCommands:
            break;
    }
    return runCommands(*options, isTerminal, runner, in, out, err);
}

}  // namespace freshet::shell
