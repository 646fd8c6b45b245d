// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/process/options.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <optional>

namespace freshet::shell {

namespace {

constexpr std::string_view kVersion = "0.1.0";

Status fail(std::string text) {
    return invalid(Reason::kFailedToParse, std::move(text));
}

/// Parses the arguments. Options may be written "--name value" or "--name=value".
class Parser {
public:
    explicit Parser(const std::vector<std::string>& arguments) : arguments_(arguments) {}

    StatusOr<Options> parse() {
        while (at_ < arguments_.size()) {
            FRESHET_RETURN_IF_ERROR(one());
        }
        if (hasAddress_ && !options_.where.service.domain.empty()) {
            return fail("--host and --port exclude mongodb+srv, which has its servers from DNS");
        }
        // These override the connection string, wherever they are.
        for (const auto& change : changes_) {
            change(&options_.where);
        }
        options_.asksPassword = !options_.where.username.empty() && !hasPassword_ &&
                                options_.where.password.empty() &&
                                options_.where.authMechanism != client::kX509;
        const bool hasScripts = !options_.evals.empty() || !options_.files.empty();
        if (options_.mode == Mode::kPing && hasScripts) {
            return fail("--ping and --eval exclude each other");
        }
        if (options_.mode == Mode::kRdmaCheck && hasScripts) {
            return fail("--rdma-check and --eval exclude each other");
        }
        if (options_.mode == Mode::kCommands && hasScripts) {
            options_.mode = Mode::kEval;
        }
        return std::move(options_);
    }

private:
    Status one() {
        std::string_view argument = arguments_[at_++];
        if (!argument.starts_with('-')) {
            return place(argument);
        }
        if (argument.size() > 2 && (argument.starts_with("-u") || argument.starts_with("-p"))) {
            value_ = argument.substr(argument[2] == '=' ? 3 : 2);
            return option(argument.substr(0, 2));
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
        } else if (name == "--help" || name == "-h") {
            options_.mode = Mode::kHelp;
        } else if (name == "--version" || name == "--build-info" || name == "--buildInfo") {
            options_.mode = Mode::kVersion;
        } else if (name == "--eval") {
            FRESHET_ASSIGN_OR_RETURN(std::string text, value(name));
            options_.evals.push_back(std::move(text));
        } else if (name == "--file" || name == "-f") {
            FRESHET_ASSIGN_OR_RETURN(std::string path, value(name));
            options_.files.push_back(std::move(path));
        } else if (name == "--json") {
            return json();
        } else if (name == "--rdma-check") {
            return rdmaCheck(name);
        } else if (bool* flag = flagOf(name); flag != nullptr) {
            *flag = !*flag;
        } else if (name == "--port") {
            return port(name);
        } else if (name == "--host") {
            return host(name);
        } else if (name == "--password" || name == "-p") {
            return password(name);
        } else if (name == "--networkMessageCompressors") {
            return compressors(name);
        } else {
            return ofConnection(name);
        }
        return Status::ok();
    }

    /// The flag that the option sets; null when it is not such an option.
    bool* flagOf(std::string_view name) {
        return name == "--quiet"                 ? &options_.quiet
               : name == "--nodb"                ? &options_.connects
               : name == "--norc"                ? &options_.readsRcFiles
               : name == "--shell"               ? &options_.staysForMore
               : name == "--skipStartupWarnings" ? &options_.tellsWarnings
                                                 : nullptr;
    }

    /// The option's value is a server: HOST[:PORT], or a connection string.
    Status rdmaCheck(std::string_view name) {
        FRESHET_ASSIGN_OR_RETURN(const std::string text, value(name));
        const bool isAddress = text.find("://") == std::string::npos;
        options_.mode = Mode::kRdmaCheck;
        return place(isAddress ? "mongodb://" + text : text);
    }

    Status json() {
        options_.json = value_.value_or("canonical");
        value_.reset();
        return options_.json == "relaxed" || options_.json == "canonical"
                   ? Status::ok()
                   : fail("--json is relaxed or canonical");
    }

    /// Options of mongosh that have no effect here, accepted so that its callers can call us.
    bool isIgnored(std::string_view name) {
        constexpr std::string_view kFlags[] = {"--verbose",
                                               "--disableJavaScriptJIT",
                                               "--ipv6",
                                               "--no-quiet",
                                               "--tlsUseSystemCA",
                                               "--tlsFIPSMode",
                                               "--sslFIPSMode"};
        constexpr std::string_view kWithValue[] = {"--jsContext"};
        if (std::find(std::begin(kFlags), std::end(kFlags), name) != std::end(kFlags)) {
            return true;
        }
        if (name == "--deep-inspect") {
            value_.reset();
            return true;
        }
        return std::find(std::begin(kWithValue), std::end(kWithValue), name) !=
                   std::end(kWithValue) &&
               value(name).isOk();
    }

    Status retryWrites() {
        const std::string given(value_.value_or("true"));
        value_.reset();
        if (given != "true" && given != "false") {
            return fail("--retryWrites is true or false");
        }
        changes_.push_back(
            [given](client::ConnectionString* where) { where->retryWrites = given == "true"; });
        return Status::ok();
    }

    /// Options that set a field of the connection string.
    Status ofConnection(std::string_view name) {
        using client::ConnectionString;
        if (name == "--retryWrites") {
            return retryWrites();
        }
        struct Text {
            std::string_view name;
            std::string ConnectionString::*member;
        };
        constexpr Text kTexts[] = {
            {"--sslCAFile", &ConnectionString::tlsCaFile},
            {"--sslPEMKeyFile", &ConnectionString::tlsCertificateKeyFile},
            {"--sslPEMKeyPassword", &ConnectionString::tlsCertificateKeyFilePassword},
            {"--apiVersion", &ConnectionString::apiVersion},
            {"--username", &ConnectionString::username},
            {"-u", &ConnectionString::username},
            {"--authenticationDatabase", &ConnectionString::authSource},
            {"--authenticationMechanism", &ConnectionString::authMechanism},
            {"--tlsCAFile", &ConnectionString::tlsCaFile},
            {"--tlsCRLFile", &ConnectionString::tlsCrlFile},
            {"--tlsDisabledProtocols", &ConnectionString::tlsDisabledProtocols},
            {"--sslCRLFile", &ConnectionString::tlsCrlFile},
            {"--sslDisabledProtocols", &ConnectionString::tlsDisabledProtocols},
            {"--tlsCertificateKeyFile", &ConnectionString::tlsCertificateKeyFile},
            {"--tlsCertificateKeyFilePassword", &ConnectionString::tlsCertificateKeyFilePassword},
        };
        struct Flag {
            std::string_view name;
            bool ConnectionString::*member;
        };
        constexpr Flag kFlags[] = {
            {"--apiStrict", &ConnectionString::apiStrict},
            {"--apiDeprecationErrors", &ConnectionString::apiDeprecationErrors},
            {"--ssl", &ConnectionString::tls},
            {"--sslAllowInvalidCertificates", &ConnectionString::tlsAllowInvalidCertificates},
            {"--sslAllowInvalidHostnames", &ConnectionString::tlsAllowInvalidHostnames},
            {"--tls", &ConnectionString::tls},
            {"--tlsAllowInvalidCertificates", &ConnectionString::tlsAllowInvalidCertificates},
            {"--tlsAllowInvalidHostnames", &ConnectionString::tlsAllowInvalidHostnames},
        };
        for (const Text& text : kTexts) {
            if (name == text.name) {
                FRESHET_ASSIGN_OR_RETURN(std::string given, value(name));
                changes_.push_back([member = text.member, given](ConnectionString* where) {
                    where->*member = given;
                });
                return Status::ok();
            }
        }
        for (const Flag& flag : kFlags) {
            if (name == flag.name) {
                changes_.push_back(
                    [member = flag.member](ConnectionString* where) { where->*member = true; });
                return Status::ok();
            }
        }
        return isIgnored(name) ? Status::ok() : fail("unknown option " + std::string(name));
    }

    /// Without a value, the password is read from the terminal.
    Status password(std::string_view name) {
        if (!value_.has_value() && (at_ == arguments_.size() || arguments_[at_].starts_with('-'))) {
            return Status::ok();
        }
        FRESHET_ASSIGN_OR_RETURN(std::string given, value(name));
        hasPassword_ = true;
        changes_.push_back([given](client::ConnectionString* where) { where->password = given; });
        return Status::ok();
    }

    Status compressors(std::string_view name) {
        FRESHET_ASSIGN_OR_RETURN(std::string given, value(name));
        FRESHET_ASSIGN_OR_RETURN(
            client::ConnectionString parsed,
            client::ConnectionString::parse("mongodb://h/?compressors=" + given));
        changes_.push_back(
            [parsed](client::ConnectionString* where) { where->compressors = parsed.compressors; });
        return Status::ok();
    }

    Status port(std::string_view name) {
        FRESHET_ASSIGN_OR_RETURN(std::string text, value(name));
        uint16_t number = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || end != text.data() + text.size() || number == 0) {
            return fail("'" + text + "' is not a port");
        }
        hasAddress_ = true;
        changes_.push_back([number](client::ConnectionString* where) { where->port = number; });
        return Status::ok();
    }

    /// A name or address, possibly with a port, several of a set ("rs0/a:1,b"), a Unix socket, or a
    /// whole connection string.
    Status host(std::string_view name) {
        FRESHET_ASSIGN_OR_RETURN(std::string given, value(name));
        if (given.starts_with("mongodb")) {
            return place(given);
        }
        const size_t slash = given.starts_with('/') ? std::string::npos : given.find('/');
        const std::string set = slash == std::string::npos ? "" : given.substr(0, slash);
        const std::string list = set.empty() ? given : given.substr(slash + 1);
        client::ConnectionString parsed;
        if (given.starts_with('/')) {
            parsed.host = given;
        } else {
            FRESHET_ASSIGN_OR_RETURN(parsed, client::ConnectionString::parse("mongodb://" + list));
        }
        const bool hasPort = list.ends_with(std::to_string(parsed.port));
        hasAddress_ = true;
        changes_.push_back([parsed, set, hasPort](client::ConnectionString* where) {
            where->host = parsed.host;
            where->port = hasPort || !parsed.others.empty() ? parsed.port : where->port;
            where->others = parsed.others;
            where->replicaSet = set.empty() ? where->replicaSet : set;
        });
        return Status::ok();
    }

    Status place(std::string_view argument) {
        const bool isUri = argument.starts_with("mongodb");
        if (!isUri && (argument.ends_with(".js") || argument.ends_with(".mongodb"))) {
            options_.files.emplace_back(argument);
            return Status::ok();
        }
        if (placed_) {
            return fail("more than one connection string: '" + std::string(argument) + "'");
        }
        placed_ = true;
        FRESHET_ASSIGN_OR_RETURN(options_.where, client::ConnectionString::parse(argument));
        return Status::ok();
    }

    /// The option's value: after '=', or the next argument.
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
    std::vector<std::function<void(client::ConnectionString*)>> changes_;
    bool hasPassword_ = false;
    bool hasAddress_ = false;
    bool placed_ = false;
    Options options_;
};

}  // namespace

StatusOr<Options> parseOptions(const std::vector<std::string>& arguments) {
    return Parser(arguments).parse();
}

std::string usage() {
    return "usage: freshet [connection-string] [script.js ...] [options]\n"
           "\n"
           "  connection-string   mongodb://host:port/database, mongodb+srv://domain/database,\n"
           "                      host:port, or a database's name\n"
           "  --host HOST         server to connect to (127.0.0.1); also HOST:PORT, "
           "SET/HOST,HOST,\n"
           "                      a Unix socket's path or a connection string\n"
           "  --port PORT         its port (27017)\n"
           "  -u, --username NAME, -p, --password [PASSWORD]\n"
           "                      log in; a password that is not given is asked for\n"
           "  --authenticationDatabase DB, --authenticationMechanism NAME\n"
           "  --tls, --tlsCAFile FILE, --tlsCertificateKeyFile FILE,\n"
           "  --tlsCertificateKeyFilePassword WORD, --tlsAllowInvalidCertificates,\n"
           "  --tlsAllowInvalidHostnames, --tlsCRLFile FILE, --tlsDisabledProtocols NAMES\n"
           "  --networkMessageCompressors NAMES   of snappy, zstd, zlib\n"
           "  --retryWrites=false, --apiVersion VERSION, --apiStrict, --apiDeprecationErrors\n"
           "  --ping, --health    ask the server whether it is alive, and leave\n"
           "  --rdma-check HOST[:PORT]\n"
           "                      tell what of RDMA works between here and that server, and\n"
           "                      leave; also with a connection string (rdma=cm)\n"
           "  --eval TEXT         run JavaScript, or a server command as Extended JSON, and "
           "leave;\n"
           "                      may be repeated. Of JavaScript the last value is shown\n"
           "  -f, --file FILE     run a script and leave; may be repeated\n"
           "  --json[=relaxed]    show values as Extended JSON, canonical if not told otherwise\n"
           "  --shell             stay for more input after scripts\n"
           "  --nodb              do not connect at the start\n"
           "  --norc              do not run ~/.freshetrc.js, ~/.mongoshrc.js or ~/.mongorc.js\n"
           "  --quiet             no greeting\n"
           "  --skipStartupWarnings   a greeting without what the server warns of\n"
           "  --help, --version\n"
           "\n"
           "Without --ping, --eval and scripts, input is read from the terminal or standard "
           "input.\n"
           "Exit code: 0 when all went well, 1 when an input or the connection failed (with\n"
           "--rdma-check: when RDMA does not work), 2 for\n"
           "wrong usage, or what quit(code) was given.\n";
}

std::string versionText() {
    return "freshet shell " + std::string(kVersion) + "\n";
}

std::string versionNumber() {
    return std::string(kVersion);
}

}  // namespace freshet::shell
