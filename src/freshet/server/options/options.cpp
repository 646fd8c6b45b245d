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

/// The options of the configuration file, if there is one, then those of the command line.
StatusOr<std::vector<Given>> gather(const std::vector<std::string>& arguments,
                                    platform::FileSystem& files) {
    FRESHET_ASSIGN_OR_RETURN(std::vector<Given> flags, readCommandLine(arguments));
    auto config = std::find_if(
        flags.begin(), flags.end(), [](const Given& one) { return one.option->flag == "config"; });
    if (config == flags.end()) {
        return flags;
    }
    FRESHET_ASSIGN_OR_RETURN(std::vector<Given> all, readConfigFile(files, config->value));
    // A flag replaces the file's value for the same option, except for options that may be
    // repeated.
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
    FRESHET_ASSIGN_OR_RETURN(const std::vector<Given> given, gather(arguments, files));
    Settings settings;
    for (const Given& one : given) {
        FRESHET_RETURN_IF_ERROR(applyOne(one, &settings));
    }
    if (!settings.showHelp && !settings.showVersion) {
        FRESHET_RETURN_IF_ERROR(checkTogether(settings));
    }
    settings.parsed = describe(given);
    return settings;
}

}  // namespace freshet::server
