// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/options/options.h"

#include "freshet/server/options/describe.h"
#include "freshet/server/options/sources.h"

#include <algorithm>

namespace freshet::server {
namespace {

/// Switching an unsupported feature off is accepted.
bool asksForNothing(const std::string& value) {
    return value == "false" || value == "disabled" || value == "none" || value.empty();
}

/// The user wants to know whether to look at the command line or into the file.
Status inCommandLine(const Status& why) {
    return why.withContext("Error parsing command line");
}

Status inFile(const Status& why, const std::string& path) {
    return why.withContext("Error in the configuration file " + path);
}

Status applyOne(const Given& given, Settings* settings) {
    const Option& option = *given.option;
    switch (option.effect) {
        case Effect::kServed: {
            const Status applied = option.apply(given.value, settings);
            // Parameters have error texts of their own, which clients know.
            const bool keepsText = option.flag == "setParameter";
            return applied.isOk() || keepsText
                       ? applied
                       : bad("Bad value for " + given.label + ": " + std::string(applied.text()));
        }
        case Effect::kIgnored:
            settings->notes.push_back(given.label + " has no effect: " + std::string(option.help));
            return Status::ok();
        case Effect::kRefused:
            return asksForNothing(given.value) ? Status::ok()
                                               : bad(given.label + ": " + std::string(option.help));
    }
    return Status::ok();
}

bool isLocal(const std::string& address) {
    return address.starts_with("127.") || address == "::1" || address == "localhost" ||
           address.starts_with("/");
}

Status checkAddresses(const Settings& settings) {
    if (settings.auth || settings.net.unsafeListenWithoutAuth) {
        return Status::ok();
    }
    std::vector<std::string> addresses = settings.net.bindAddresses;
    if (settings.net.bindAll) {
        addresses = {"all addresses"};
    }
    auto open = std::find_if_not(addresses.begin(), addresses.end(), isLocal);
    return open == addresses.end()
               ? Status::ok()
               : bad("refusing to listen on " + *open +
                     " without --auth: anyone who can reach it could read and change all data. "
                     "Give --auth, or --unsafe-listen-without-auth to do it all the same");
}

Status checkTogether(const Settings& settings) {
    if (settings.fork && settings.log.path.empty()) {
        return bad("--fork has to be used with --logpath");
    }
    if (settings.log.toFile && settings.log.path.empty()) {
        return bad("systemLog.path is required with systemLog.destination: file");
    }
    if (settings.log.rotate == LogRotate::kReopen && !settings.log.append) {
        return bad("logAppend must be true if logRotate is reopen");
    }
    if (settings.net.tlsMode != transport::TlsMode::kDisabled &&
        settings.net.tls.certificateKeyFile.empty()) {
        return bad("need tlsCertificateKeyFile when TLS is enabled");
    }
    if (settings.net.rdmaPort != 0 && !settings.net.rdma) {
        return bad("--rdmaPort has to be used with --rdma");
    }
    return checkAddresses(settings);
}

std::string configPathOf(const std::vector<Given>& flags) {
    auto config = std::find_if(
        flags.begin(), flags.end(), [](const Given& one) { return one.option->flag == "config"; });
    return config == flags.end() ? "" : config->value;
}

/// The file's options, if there is one, then the command line's.
StatusOr<std::vector<Given>> gather(std::vector<Given> flags,
                                    const std::string& configPath,
                                    platform::FileSystem& files) {
    if (configPath.empty()) {
        return flags;
    }
    auto read = readConfigFile(files, configPath);
    if (!read.isOk()) {
        return inFile(read.status(), configPath);
    }
    std::vector<Given> all = std::move(*read);
    // A flag that is a list, or that the file says otherwise, replaces what the file says.
    std::erase_if(all, [&](const Given& inFile) {
        return inFile.option->kind != ValueKind::kPairs &&
               std::any_of(flags.begin(), flags.end(), [&](const Given& flag) {
                   return !flag.option->path.empty() && flag.option->path == inFile.option->path;
               });
    });
    all.insert(all.end(), flags.begin(), flags.end());
    return all;
}

}  // namespace

bool Settings::parameterIsOn(std::string_view name) const {
    bool isOn = false;
    for (const auto& [key, value] : parameters) {
        if (key == name) {
            isOn = value == "1" || value == "true";
        }
    }
    return isOn;
}

StatusOr<Settings> parseOptions(const std::vector<std::string>& arguments,
                                platform::FileSystem& files) {
    auto flags = readCommandLine(arguments);
    if (!flags.isOk()) {
        return inCommandLine(flags.status());
    }
    const std::string configPath = configPathOf(*flags);
    FRESHET_ASSIGN_OR_RETURN(const std::vector<Given> given,
                             gather(std::move(*flags), configPath, files));
    Settings settings;
    for (const Given& one : given) {
        if (const Status applied = applyOne(one, &settings); !applied.isOk()) {
            const bool isFlag = one.label.starts_with("--");
            return isFlag ? inCommandLine(applied) : inFile(applied, configPath);
        }
    }
    if (!settings.showHelp && !settings.showVersion) {
        FRESHET_RETURN_IF_ERROR(checkTogether(settings));
    }
    settings.parsed = describe(given);
    return settings;
}

}  // namespace freshet::server
