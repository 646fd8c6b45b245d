// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/repl/options.h"

#include <charconv>
#include <optional>

namespace freshet::shell {

namespace {

constexpr std::string_view kVersion = "0.1.0";

Status fail(std::string text) {
    return invalid(Reason::kFailedToParse, std::move(text));
}

/// Walks the arguments. Options may be written "--name value" or "--name=value".
class Parser {
public:
    explicit Parser(const std::vector<std::string>& arguments) : arguments_(arguments) {}

    StatusOr<Options> parse() {
        while (at_ < arguments_.size()) {
            FRESHET_RETURN_IF_ERROR(one());
        }
        // These win over the connection string wherever they stand.
        if (host_.has_value()) {
            options_.where.host = *host_;
        }
        if (port_.has_value()) {
            options_.where.port = *port_;
        }
        if (options_.mode == Mode::kPing && !options_.evals.empty()) {
            return fail("--ping and --eval exclude each other");
        }
        return std::move(options_);
    }

private:
    Status one() {
        std::string_view argument = arguments_[at_++];
        if (!argument.starts_with('-')) {
            return place(argument);
        }
        size_t equals = argument.find('=');
        std::string_view name = argument.substr(0, equals);
        if (equals != std::string_view::npos) {
            value_ = argument.substr(equals + 1);
        }
        FRESHET_RETURN_IF_ERROR(option(name));
        if (value_.has_value()) {
            return fail(std::string(name) + " takes no value");
        }
        return Status::ok();
    }

    Status option(std::string_view name) {
        if (name == "--ping" || name == "--health") {
            options_.mode = Mode::kPing;
        } else if (name == "--quiet") {
            options_.quiet = true;
        } else if (name == "--help" || name == "-h") {
            options_.mode = Mode::kHelp;
        } else if (name == "--version") {
            options_.mode = Mode::kVersion;
        } else if (name == "--eval") {
            FRESHET_ASSIGN_OR_RETURN(std::string text, value(name));
            options_.evals.push_back(std::move(text));
            options_.mode = options_.mode == Mode::kCommands ? Mode::kEval : options_.mode;
        } else if (name == "--host") {
            FRESHET_ASSIGN_OR_RETURN(host_, value(name));
        } else if (name == "--port") {
            return port(name);
        } else {
            return fail("unknown option " + std::string(name));
        }
        return Status::ok();
    }

    Status port(std::string_view name) {
        FRESHET_ASSIGN_OR_RETURN(std::string text, value(name));
        uint16_t number = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || end != text.data() + text.size() || number == 0) {
            return fail("'" + text + "' is not a port");
        }
        port_ = number;
        return Status::ok();
    }

    Status place(std::string_view argument) {
        if (placed_) {
            return fail("more than one connection string: '" + std::string(argument) + "'");
        }
        placed_ = true;
        FRESHET_ASSIGN_OR_RETURN(options_.where, client::ConnectionString::parse(argument));
        return Status::ok();
    }

    /// The option's value: behind '=' or the next argument.
    StatusOr<std::string> value(std::string_view name) {
        if (value_.has_value()) {
            std::string result(*value_);
            value_.reset();
            return result;
        }
        if (at_ == arguments_.size()) {
            return fail(std::string(name) + " needs a value");
        }
        return arguments_[at_++];
    }

    const std::vector<std::string>& arguments_;
    size_t at_ = 0;
    std::optional<std::string_view> value_;
    std::optional<std::string> host_;
    std::optional<uint16_t> port_;
    bool placed_ = false;
    Options options_;
};

}  // namespace

StatusOr<Options> parseOptions(const std::vector<std::string>& arguments) {
    return Parser(arguments).parse();
}

std::string usage() {
    return "usage: freshet [connection-string] [options]\n"
           "\n"
           "  connection-string   mongodb://host:port/database, host:port, or a database's name\n"
           "  --host HOST         server to connect to (127.0.0.1)\n"
           "  --port PORT         its port (27017)\n"
           "  --ping, --health    ask the server whether it is alive, and leave\n"
           "  --eval JSON         run an Extended JSON command and leave; may be repeated\n"
           "  --quiet             no greeting\n"
           "  --help, --version\n"
           "\n"
           "Without --ping and --eval, commands are read from the terminal or standard input.\n"
           "Exit code: 0 when all went well, 1 when a command or the connection failed, 2 for\n"
           "wrong usage.\n";
}

std::string versionText() {
    return "freshet shell " + std::string(kVersion) + "\n";
}

}  // namespace freshet::shell
