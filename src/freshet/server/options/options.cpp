// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/options/options.h"

#include <algorithm>
#include <charconv>

namespace freshet::server {
namespace {

constexpr std::string_view kHelp =
    R"(Usage: freshetd [options]

  --dbpath DIR                   data directory, must exist (default /data/db)
  --port N                       TCP port, 0: any free one (default 27017)
  --bind_ip A,B                  addresses to listen on (default 127.0.0.1)
  --bind_ip_all                  listen on all IPv4 addresses
  --unsafe-listen-without-auth   allow addresses that are not loopback although
                                 nobody has to log in
  --maxConns N                   most connections at a time (default 65536)
  --reactors N                   threads that serve connections (default: one
                                 per core)
  --journalCommitInterval MS     longest time a write with w:1 stays in memory
                                 only, 1 to 500 (default 100)
  --setParameter NAME=VALUE      enableTestCommands=0|1
  --version                      show version
  --help                         show this text
)";

/// Options as read, before they are understood.
struct Given {
    std::string name;  // without the dashes
    std::string value;
};

struct Known {
    std::string_view name;
    bool takesValue;
    Status (*apply)(const std::string& value, Options* out);
};

Status badOption(std::string text) {
    return Status(Code::kInvalid, std::move(text));
}

StatusOr<uint64_t> number(std::string_view option,
                          const std::string& text,
                          uint64_t least,
                          uint64_t most) {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
        return badOption("Bad value for --" + std::string(option) + ": '" + text +
                         "' is not a number from " + std::to_string(least) + " to " +
                         std::to_string(most));
    }
    return value;
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    size_t start = 0;
    while (start <= text.size()) {
        const size_t end = std::min(text.find(separator, start), text.size());
        parts.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return parts;
}

Status applyBindIp(const std::string& value, Options* out) {
    out->bindAddresses.clear();
    for (std::string& address : split(value, ',')) {
        if (address.empty()) {
            return badOption("--bind_ip has an empty address");
        }
        out->bindAddresses.push_back(address == "localhost" ? "127.0.0.1" : std::move(address));
    }
    return Status::ok();
}

Status applySetParameter(const std::string& value, Options* out) {
    const size_t equals = value.find('=');
    const std::string name = value.substr(0, equals);
    const std::string setting = equals == std::string::npos ? "" : value.substr(equals + 1);
    if (name != "enableTestCommands") {
        return badOption("Illegal --setParameter parameter: \"" + name + "\"");
    }
    if (setting != "0" && setting != "1" && setting != "true" && setting != "false") {
        return badOption("Bad value for parameter \"" + name + "\": \"" + setting + "\"");
    }
    out->enableTestCommands = setting == "1" || setting == "true";
    return Status::ok();
}

constexpr Known kKnown[] = {
    {"dbpath",
     true,
     [](const std::string& value, Options* out) {
         out->dbPath = value;
         return value.empty() ? badOption("--dbpath is empty") : Status::ok();
     }},
    {"port",
     true,
     [](const std::string& value, Options* out) {
         FRESHET_ASSIGN_OR_RETURN(uint64_t port, number("port", value, 0, 65'535));
         out->port = static_cast<uint16_t>(port);
         return Status::ok();
     }},
    {"bind_ip", true, applyBindIp},
    {"bind_ip_all",
     false,
     [](const std::string&, Options* out) {
         out->bindAddresses = {"0.0.0.0"};
         return Status::ok();
     }},
    {"unsafe-listen-without-auth",
     false,
     [](const std::string&, Options* out) {
         out->unsafeListenWithoutAuth = true;
         return Status::ok();
     }},
    {"maxConns",
     true,
     [](const std::string& value, Options* out) {
         FRESHET_ASSIGN_OR_RETURN(uint64_t most, number("maxConns", value, 5, 1'000'000));
         out->connectionsMax = static_cast<uint32_t>(most);
         return Status::ok();
     }},
    {"reactors",
     true,
     [](const std::string& value, Options* out) {
         FRESHET_ASSIGN_OR_RETURN(uint64_t count, number("reactors", value, 1, 1024));
         out->reactors = static_cast<unsigned>(count);
         return Status::ok();
     }},
    {"journalCommitInterval",
     true,
     [](const std::string& value, Options* out) {
         FRESHET_ASSIGN_OR_RETURN(uint64_t ms, number("journalCommitInterval", value, 1, 500));
         out->journalCommitIntervalMs = static_cast<uint32_t>(ms);
         return Status::ok();
     }},
    {"setParameter", true, applySetParameter},
    {"version",
     false,
     [](const std::string&, Options* out) {
         out->showVersion = true;
         return Status::ok();
     }},
    {"help",
     false,
     [](const std::string&, Options* out) {
         out->showHelp = true;
         return Status::ok();
     }},
};

const Known* findKnown(std::string_view name) {
    for (const Known& known : kKnown) {
        if (known.name == name) {
            return &known;
        }
    }
    return nullptr;
}

/// `--name value`, `--name=value` or a bare `--name`.
StatusOr<std::vector<Given>> readArguments(const std::vector<std::string>& arguments) {
    std::vector<Given> given;
    for (size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        if (!word.starts_with("--") || word.size() == 2) {
            return badOption(word.starts_with("-") ? "unrecognised option '" + word + "'"
                                                   : "too many positional options: '" + word + "'");
        }
        const size_t equals = word.find('=');
        const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
        const Known* known = findKnown(name);
        if (known == nullptr) {
            return badOption("unrecognised option '--" + name + "'");
        }
        if (!known->takesValue) {
            if (equals != std::string::npos) {
                return badOption("option '--" + name + "' does not take any arguments");
            }
            given.push_back({name, ""});
        } else if (equals != std::string::npos) {
            given.push_back({name, word.substr(equals + 1)});
        } else if (i + 1 < arguments.size()) {
            given.push_back({name, arguments[++i]});
        } else {
            return badOption("the required argument for option '--" + name + "' is missing");
        }
    }
    return given;
}

bool isLoopback(const std::string& address) {
    return address.starts_with("127.") || address == "::1";
}

Status checkDoors(const Options& options) {
    for (const std::string& address : options.bindAddresses) {
        if (!isLoopback(address) && !options.unsafeListenWithoutAuth) {
            return badOption("refusing to listen on " + address +
                             ": this server has no authentication yet, so anyone who can reach "
                             "that address could read and change all data. Give "
                             "--unsafe-listen-without-auth to do it all the same");
        }
    }
    return Status::ok();
}

bson::OwnedDocument describe(const Options& options, const std::vector<Given>& given) {
    auto has = [&](std::string_view name) {
        return std::any_of(
            given.begin(), given.end(), [&](const Given& one) { return one.name == name; });
    };
    bson::Builder out;
    if (has("port") || has("bind_ip") || has("bind_ip_all") || has("maxConns")) {
        auto net = out.object("net");
        std::string addresses;
        for (const std::string& address : options.bindAddresses) {
            addresses += (addresses.empty() ? "" : ",") + address;
        }
        net.add("bindIp", addresses).add("port", static_cast<int32_t>(options.port));
        if (has("maxConns")) {
            net.add("maxIncomingConnections", static_cast<int32_t>(options.connectionsMax));
        }
    }
    if (has("setParameter")) {
        out.object("setParameter")
            .add("enableTestCommands", options.enableTestCommands ? "1" : "0");
    }
    if (has("dbpath") || has("journalCommitInterval")) {
        auto storage = out.object("storage");
        storage.add("dbPath", options.dbPath);
        if (has("journalCommitInterval")) {
            storage.object("journal").add("commitIntervalMs",
                                          static_cast<int32_t>(options.journalCommitIntervalMs));
        }
    }
    return bson::OwnedDocument(out.finish());
}

}  // namespace

StatusOr<Options> parseOptions(const std::vector<std::string>& arguments) {
    FRESHET_ASSIGN_OR_RETURN(std::vector<Given> given, readArguments(arguments));
    Options options;
    for (const Given& one : given) {
        FRESHET_RETURN_IF_ERROR(findKnown(one.name)->apply(one.value, &options));
    }
    FRESHET_RETURN_IF_ERROR(checkDoors(options));
    options.parsed = describe(options, given);
    return options;
}

std::string_view helpText() {
    return kHelp;
}

}  // namespace freshet::server
