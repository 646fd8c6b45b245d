// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/options/apply.h"

#include "freshet/catalog/storage_engine.h"
#include "freshet/command/start_parameters.h"
#include "freshet/server/options/values.h"
#include "freshet/telemetry/log.h"

#include <algorithm>

namespace freshet::server {
namespace {

constexpr uint64_t kMegabyte = 1 << 20;

Status setBool(const std::string& value, bool* out) {
    FRESHET_ASSIGN_OR_RETURN(*out, truth(value));
    return Status::ok();
}

template <typename T>
Status setNumber(const std::string& value, uint64_t least, uint64_t most, T* out) {
    FRESHET_ASSIGN_OR_RETURN(const uint64_t number, wholeNumber(value, least, most));
    *out = static_cast<T>(number);
    return Status::ok();
}

Status setReal(const std::string& value, double least, double most, double* out) {
    FRESHET_ASSIGN_OR_RETURN(*out, realNumber(value, least, most));
    return Status::ok();
}

Status setText(const std::string& value, std::string* out) {
    *out = value;
    return value.empty() ? Status(Code::kInvalid, "it is empty") : Status::ok();
}

template <typename T>
Status setChoice(const std::string& value, const std::vector<std::string>& choices, T* out) {
    FRESHET_ASSIGN_OR_RETURN(const size_t position, choice(value, choices));
    *out = static_cast<T>(position);
    return Status::ok();
}

}  // namespace

Status applyHelp(const std::string& value, Settings* out) {
    return setBool(value, &out->showHelp);
}
Status applyVersion(const std::string& value, Settings* out) {
    return setBool(value, &out->showVersion);
}
Status applyConfig(const std::string& value, Settings* out) {
    return setText(value, &out->configFile);
}
Status applyConfigExpand(const std::string& value, Settings*) {
    return choice(value, {"none"}).status();
}
Status applyShutdown(const std::string& value, Settings* out) {
    return setBool(value, &out->shutdownOther);
}
Status applyParameter(const std::string& value, Settings* out) {
    FRESHET_ASSIGN_OR_RETURN(auto parameter, pair(value));
    FRESHET_RETURN_IF_ERROR(command::checkStartParameter(parameter.first, parameter.second));
    // What begins before there are commands has an option of its own.
    if (parameter.first == "logLevel") {
        FRESHET_RETURN_IF_ERROR(applyVerbosity(parameter.second, out));
    } else if (parameter.first == "journalCommitInterval") {
        FRESHET_RETURN_IF_ERROR(applyJournalInterval(parameter.second, out));
    }
    out->parameters.push_back(std::move(parameter));
    return Status::ok();
}
Status applyFork(const std::string& value, Settings* out) {
    return setBool(value, &out->fork);
}
Status applyPidFile(const std::string& value, Settings* out) {
    return setText(value, &out->pidFile);
}

Status applyVerbosity(const std::string& value, Settings* out) {
    return setNumber(value, 0, 5, &out->log.verbosity);
}
Status applyQuiet(const std::string& value, Settings* out) {
    return setBool(value, &out->log.quiet);
}
Status applyLogPath(const std::string& value, Settings* out) {
    return setText(value, &out->log.path);
}
Status applyLogAppend(const std::string& value, Settings* out) {
    return setBool(value, &out->log.append);
}
Status applyLogRotate(const std::string& value, Settings* out) {
    return setChoice(value, {"rename", "reopen"}, &out->log.rotate);
}
Status applyTimeStampFormat(const std::string& value, Settings* out) {
    return setChoice(value, {"iso8601-local", "iso8601-utc"}, &out->log.timeStampFormat);
}
Status applyLogDestination(const std::string& value, Settings* out) {
    if (value == "syslog") {
        return Status(Code::kInvalid,
                      "syslog is not served: use 'file', or standard output under systemd");
    }
    out->log.toFile = true;
    return choice(value, {"file"}).status();
}
Status applyComponentVerbosity(const std::string& value, Settings* out) {
    FRESHET_ASSIGN_OR_RETURN(auto setting, pair(value));
    std::string name = setting.first;
    if (!name.ends_with("verbosity")) {
        return Status(Code::kInvalid, "'" + name + "' does not end in 'verbosity'");
    }
    name.resize(name.size() - std::min(name.size(), std::string(".verbosity").size()));
    if (setting.second == "-1") {
        out->log.componentVerbosity.emplace_back(name, -1);
        return Status::ok();
    }
    int level = 0;
    FRESHET_RETURN_IF_ERROR(setNumber(setting.second, 0, 5, &level));
    if (telemetry::componentByName(name).isOk()) {
        out->log.componentVerbosity.emplace_back(name, level);
    } else {
        out->notes.push_back("systemLog.component." + name + ": nothing is logged there");
    }
    return Status::ok();
}

Status applyPort(const std::string& value, Settings* out) {
    return setNumber(value, 0, 65'535, &out->net.port);
}
Status applyBindIp(const std::string& value, Settings* out) {
    FRESHET_ASSIGN_OR_RETURN(std::vector<std::string> addresses, list(value));
    out->net.bindAll = std::find(addresses.begin(), addresses.end(), "*") != addresses.end();
    if (!out->net.bindAll) {
        std::replace(
            addresses.begin(), addresses.end(), std::string("localhost"), std::string("127.0.0.1"));
        out->net.bindAddresses = std::move(addresses);
    }
    return Status::ok();
}
Status applyBindAll(const std::string& value, Settings* out) {
    return setBool(value, &out->net.bindAll);
}
Status applyIpv6(const std::string& value, Settings* out) {
    return setBool(value, &out->net.ipv6);
}
Status applyMaxConns(const std::string& value, Settings* out) {
    return setNumber(value, 5, 1'000'000, &out->net.connectionsMax);
}
Status applyUnixSocket(const std::string& value, Settings* out) {
    return setBool(value, &out->net.unixSocket);
}
Status applyUnixPrefix(const std::string& value, Settings* out) {
    return setText(value, &out->net.unixSocketPrefix);
}
Status applyUnixPermissions(const std::string& value, Settings* out) {
    FRESHET_ASSIGN_OR_RETURN(const uint64_t mode, wholeNumber(value, 0, 0777, true));
    out->net.unixSocketMode = static_cast<uint32_t>(mode);
    return Status::ok();
}
Status applyCompressors(const std::string& value, Settings* out) {
    out->net.compressors.clear();
    if (value == "disabled") {
        return Status::ok();
    }
    FRESHET_ASSIGN_OR_RETURN(std::vector<std::string> names, list(value));
    for (std::string& name : names) {
        FRESHET_RETURN_IF_ERROR(choice(name, {"snappy", "zstd", "zlib", "disabled"}).status());
        out->net.compressors.push_back(std::move(name));
    }
    return Status::ok();
}
Status applyUnsafeListen(const std::string& value, Settings* out) {
    return setBool(value, &out->net.unsafeListenWithoutAuth);
}
Status applyReactors(const std::string& value, Settings* out) {
    return setNumber(value, 1, 1024, &out->net.reactors);
}
Status applyRdma(const std::string& value, Settings* out) {
    return setBool(value, &out->net.rdma);
}
Status applyRdmaPort(const std::string& value, Settings* out) {
    return setNumber(value, 1, 65'535, &out->net.rdmaPort);
}
Status applyRdmaRing(const std::string& value, Settings* out) {
    constexpr uint32_t kPageKB = 4;
    FRESHET_RETURN_IF_ERROR(setNumber(value, 64, 64 * 1024, &out->net.rdmaRingKB));
    out->net.rdmaRingKB -= out->net.rdmaRingKB % (2 * kPageKB);  // half of it must be whole pages
                                                                 // too
    return Status::ok();
}
Status applyRdmaSessions(const std::string& value, Settings* out) {
    return setNumber(value, 1, 65'536, &out->net.rdmaSessionsMax);
}
Status applyRdmaInPlace(const std::string& value, Settings* out) {
    return setBool(value, &out->net.rdmaReadsInPlace);
}
Status applyRdmaOneSlot(const std::string& value, Settings* out) {
    return setBool(value, &out->net.rdmaOneSlot);
}

Status applyTlsMode(const std::string& value, Settings* out) {
    return setChoice(value, {"disabled", "allowTLS", "preferTLS", "requireTLS"}, &out->net.tlsMode);
}
Status applyTlsKeyFile(const std::string& value, Settings* out) {
    return setText(value, &out->net.tls.certificateKeyFile);
}
Status applyTlsPassword(const std::string& value, Settings* out) {
    out->net.tls.certificateKeyPassword = value;
    return Status::ok();
}
Status applyTlsCaFile(const std::string& value, Settings* out) {
    return setText(value, &out->net.tls.caFile);
}
Status applyTlsCrlFile(const std::string& value, Settings* out) {
    return setText(value, &out->net.tls.crlFile);
}
Status applyTlsAllowNone(const std::string& value, Settings* out) {
    return setBool(value, &out->net.tls.allowConnectionsWithoutCertificates);
}
Status applyTlsAllowInvalid(const std::string& value, Settings* out) {
    return setBool(value, &out->net.tls.allowInvalidCertificates);
}
Status applyTlsDisabled(const std::string& value, Settings* out) {
    out->net.tls.disabledProtocols.clear();
    if (value == "none") {
        return Status::ok();
    }
    FRESHET_ASSIGN_OR_RETURN(std::vector<std::string> names, list(value));
    for (std::string& name : names) {
        FRESHET_RETURN_IF_ERROR(choice(name, {"TLS1_0", "TLS1_1", "TLS1_2", "TLS1_3"}).status());
        if (name == "TLS1_2" || name == "TLS1_3") {
            out->net.tls.disabledProtocols.push_back(std::move(name));
        }
    }
    return Status::ok();
}

Status applyAuthorization(const std::string& value, Settings* out) {
    return setChoice(value, {"disabled", "enabled"}, &out->auth);
}
Status applyJavaScript(const std::string& value, Settings* out) {
    return setBool(value, &out->javaScript);
}
Status applyKeyFile(const std::string& value, Settings* out) {
    out->auth = true;
    out->notes.push_back("security.keyFile: taken as --auth; the key is for clusters, not used");
    std::string ignored;
    return setText(value, &ignored);
}

Status applyDbPath(const std::string& value, Settings* out) {
    return setText(value, &out->storage.dbPath);
}
Status applyForeignFiles(const std::string& value, Settings* out) {
    return setBool(value, &out->storage.allowForeignFiles);
}
Status applyJournalInterval(const std::string& value, Settings* out) {
    return setNumber(value, 1, 500, &out->storage.journalCommitIntervalMs);
}
Status applySyncDelay(const std::string& value, Settings* out) {
    double seconds = 0;
    FRESHET_RETURN_IF_ERROR(setReal(value, 0, 3'600, &seconds));
    // 0 disables only checkpoints by time.
    out->storage.checkpointMs =
        seconds == 0 ? 0 : std::max(1u, static_cast<uint32_t>(seconds * 1'000));
    return Status::ok();
}
Status applyRepair(const std::string& value, Settings* out) {
    return setBool(value, &out->storage.repair);
}
Status applyCacheSize(const std::string& value, Settings* out) {
    out->notes.push_back("cacheSizeGB: taken as the limit of the server's memory");
    return setReal(value, 0.25, 10'000, &out->storage.memoryLimitGB);
}
Status applyBlockCompressor(const std::string& value, Settings* out) {
    const std::optional<engine::Codec> codec = catalog::codecNamed(value);
    if (!codec.has_value()) {
        return Status(Code::kInvalid,
                      Reason::kBadValue,
                      "Compression option must be one of: 'none', 'snappy', 'zlib', or 'zstd'");
    }
    out->storage.codec = *codec;
    return Status::ok();
}
Status applyMemoryLimit(const std::string& value, Settings* out) {
    return setReal(value, 0.001, 10'000, &out->storage.memoryLimitGB);
}

Status applyProfilingMode(const std::string& value, Settings* out) {
    return setChoice(value, {"off", "slowOp", "all"}, &out->profiling.mode);
}
Status applySlowMs(const std::string& value, Settings* out) {
    return setNumber(value, 0, INT32_MAX, &out->profiling.slowMs);
}
Status applySampleRate(const std::string& value, Settings* out) {
    return setReal(value, 0, 1, &out->profiling.sampleRate);
}
Status applyOplogSize(const std::string& value, Settings* out) {
    uint64_t megabytes = 0;
    FRESHET_RETURN_IF_ERROR(setNumber(value, 0, 1'000'000'000, &megabytes));
    out->storage.oplogBytes = megabytes * kMegabyte;
    return Status::ok();
}
Status applyOplogHours(const std::string& value, Settings* out) {
    return setReal(value, 0, 1'000'000, &out->storage.oplogRetentionHours);
}
Status applyReplicaSet(const std::string& value, Settings* out) {
    return setText(value, &out->replicaSet.name);
}
Status applyReplicaSetHost(const std::string& value, Settings* out) {
    const size_t colon = value.rfind(':');
    if (colon == std::string::npos || colon == 0) {
        return Status(Code::kInvalid, "it must be host:port");
    }
    FRESHET_RETURN_IF_ERROR(wholeNumber(value.substr(colon + 1), 1, 65'535).status());
    return setText(value, &out->replicaSet.host);
}

}  // namespace freshet::server
