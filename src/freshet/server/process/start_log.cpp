// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/process/start_log.h"

#include "freshet/bson/json.h"
#include "freshet/platform/thread.h"
#include "freshet/telemetry/log.h"

namespace freshet::server {
namespace {

using telemetry::Component;
using telemetry::JsonText;
using telemetry::LogId;
using telemetry::Severity;

bool isOnlyLocal(const NetSettings& net) {
    bool isLocal = !net.bindAll;
    for (const std::string& address : net.bindAddresses) {
        isLocal = isLocal && (address.starts_with("127.") || address == "::1" ||
                              address == "localhost" || address.starts_with("/"));
    }
    return isLocal;
}

}  // namespace

Status openLog(const LogSettings& settings) {
    FRESHET_RETURN_IF_ERROR(telemetry::setLogDestination(
        {.path = settings.path,
         .append = settings.append,
         .rotateReopens = settings.rotate == LogRotate::kReopen,
         .utc = settings.timeStampFormat == TimeStampFormat::kIso8601Utc}));
    telemetry::setVerbosity(Component::kDefault, settings.verbosity);
    for (const auto& [name, level] : settings.componentVerbosity) {
        if (auto component = telemetry::componentByName(name); component.isOk()) {
            telemetry::setVerbosity(*component, level);
        }
    }
    return Status::ok();
}

void logStart(const Settings& settings, const Versions& versions) {
    telemetry::log(Severity::kInfo,
                   Component::kControl,
                   LogId::kFreshetStarting,
                   "Freshet starting",
                   {{"version", versions.own}, {"servesProtocolOfVersion", versions.served}});
    // mongod's words: scripts wait for them.
    telemetry::log(Severity::kInfo,
                   Component::kControl,
                   LogId::kStarting,
                   "MongoDB starting",
                   {{"pid", platform::processId()},
                    {"port", settings.net.port},
                    {"dbPath", settings.storage.dbPath},
                    {"architecture", "64-bit"},
                    {"host", platform::hostName()}});
    bson::Builder build;
    build.add("version", versions.served).add("freshetVersion", versions.own);
    const bson::OwnedDocument buildInfo(build.finish());
    telemetry::log(Severity::kInfo,
                   Component::kControl,
                   LogId::kBuildInfo,
                   "Build Info",
                   {{"buildInfo", JsonText{bson::toJson(buildInfo.view())}}});
    telemetry::log(Severity::kInfo,
                   Component::kControl,
                   LogId::kOptionsSet,
                   "Options set by command line",
                   {{"options", JsonText{bson::toJson(settings.parsed.view())}}});
    for (const std::string& note : settings.notes) {
        telemetry::log(Severity::kWarning,
                       Component::kControl,
                       LogId::kOptionNote,
                       "Option without its effect",
                       {{"note", note}});
    }
}

void logStartupWarnings(const Settings& settings) {
    if (!settings.auth) {
        telemetry::logStartupWarning(
            Component::kControl,
            LogId::kNoAccessControl,
            "Access control is not enabled for the database. Whoever connects may read and write "
            "everything");
    }
    if (isOnlyLocal(settings.net)) {
        telemetry::logStartupWarning(Component::kControl,
                                     LogId::kOnlyLocalhost,
                                     "This server is bound to localhost. Other machines cannot "
                                     "connect; --bind_ip names further addresses");
    } else if (!settings.auth) {
        telemetry::logStartupWarning(
            Component::kControl,
            LogId::kReachableWithoutLogin,
            "Listening beyond loopback without authentication: whoever reaches it owns it");
    }
}

Status rotateLogNow() {
    telemetry::log(
        Severity::kInfo, Component::kControl, LogId::kRotating, "Log rotation initiated");
    Status rotated = telemetry::rotateLog();
    if (!rotated.isOk()) {
        telemetry::log(Severity::kError,
                       Component::kControl,
                       LogId::kRotationFailed,
                       "Log rotation failed",
                       {{"error", rotated}});
    }
    return rotated;
}

}  // namespace freshet::server
