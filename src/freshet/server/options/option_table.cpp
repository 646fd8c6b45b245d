// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/options/option_table.h"

#include "freshet/server/options/apply.h"

#include <algorithm>

namespace freshet::server {
namespace {

constexpr ValueKind kBool = ValueKind::kBool;
constexpr ValueKind kInt = ValueKind::kInt;
constexpr ValueKind kReal = ValueKind::kReal;
constexpr ValueKind kText = ValueKind::kText;
constexpr ValueKind kPairs = ValueKind::kPairs;
constexpr Effect kServed = Effect::kServed;
constexpr Effect kIgnored = Effect::kIgnored;
constexpr Effect kRefused = Effect::kRefused;

std::string profilingMode(const std::string& level) {
    return level == "0" ? "off" : level == "1" ? "slowOp" : level == "2" ? "all" : level;
}

std::vector<Option> generalOptions() {
    return {
        {"help", "", kBool, kServed, "true", "show this text", applyHelp},
        {"version", "", kBool, kServed, "true", "show version", applyVersion},
        {"config", "", kText, kServed, "", "configuration file in YAML (also -f)", applyConfig},
        {"configExpand", "", kText, kServed, "", "only 'none'", applyConfigExpand},
        {"shutdown",
         "",
         kBool,
         kServed,
         "true",
         "end the server that runs on the data directory",
         applyShutdown},
        {"setParameter",
         "setParameter",
         kPairs,
         kServed,
         "",
         "name=value; may be given several times",
         applyParameter},
        {"fork",
         "processManagement.fork",
         kBool,
         kServed,
         "true",
         "go to the background once connections are accepted; needs --logpath",
         applyFork},
        {"pidfilepath",
         "processManagement.pidFilePath",
         kText,
         kServed,
         "",
         "file to write the process id to",
         applyPidFile},
        {"timeZoneInfo",
         "processManagement.timeZoneInfo",
         kText,
         kIgnored,
         "",
         "time zones come from the ICU library"},
    };
}

std::vector<Option> logOptions() {
    return {
        {"verbose",
         "systemLog.verbosity",
         kInt,
         kServed,
         "1",
         "log more; -vv to -vvvvv still more",
         applyVerbosity},
        {"quiet", "systemLog.quiet", kBool, kServed, "true", "log less", applyQuiet},
        {"logpath",
         "systemLog.path",
         kText,
         kServed,
         "",
         "log to this file instead of standard output",
         applyLogPath},
        {"logappend",
         "systemLog.logAppend",
         kBool,
         kServed,
         "true",
         "go on with an existing log file instead of putting it aside",
         applyLogAppend},
        {"logRotate",
         "systemLog.logRotate",
         kText,
         kServed,
         "",
         "what rotation does with the file: rename (default) or reopen",
         applyLogRotate},
        {"timeStampFormat",
         "systemLog.timeStampFormat",
         kText,
         kServed,
         "",
         "iso8601-local (default) or iso8601-utc",
         applyTimeStampFormat},
        {"", "systemLog.destination", kText, kServed, "", "file", applyLogDestination},
        {"",
         "systemLog.component",
         kPairs,
         kServed,
         "",
         "verbosity by component",
         applyComponentVerbosity},
        {"syslog",
         "",
         kBool,
         kRefused,
         "true",
         "syslog is not served: use --logpath, or standard output under systemd"},
        {"", "systemLog.syslogFacility", kText, kIgnored, "", "syslog is not served"},
        {"traceExceptions", "systemLog.traceAllExceptions", kBool, kIgnored, "true", "no effect"},
    };
}

std::vector<Option> netOptions() {
    return {
        {"port",
         "net.port",
         kInt,
         kServed,
         "",
         "TCP port, 0: any free one (default 27017)",
         applyPort},
        {"bind_ip",
         "net.bindIp",
         kText,
         kServed,
         "",
         "addresses to listen on, separated by commas (default 127.0.0.1)",
         applyBindIp},
        {"bind_ip_all",
         "net.bindIpAll",
         kBool,
         kServed,
         "true",
         "listen on all addresses",
         applyBindAll},
        {"ipv6", "net.ipv6", kBool, kServed, "true", "IPv6 for names and --bind_ip_all", applyIpv6},
        {"maxConns",
         "net.maxIncomingConnections",
         kInt,
         kServed,
         "",
         "most connections at a time (default 65536)",
         applyMaxConns},
        {"reactors",
         "net.reactors",
         kInt,
         kServed,
         "",
         "threads that serve connections (default: one per core)",
         applyReactors},
        {"objcheck", "net.wireObjectCheck", kBool, kIgnored, "true", "it is always done"},
        {"listenBacklog", "net.listenBacklog", kInt, kIgnored, "", "the system's maximum is used"},
        {"", "net.serviceExecutor", kText, kIgnored, "", "there is one model"},
    };
}

std::vector<Option> rdmaOptions() {
    return {
        {"rdma",
         "net.rdma.enabled",
         kBool,
         kServed,
         "true",
         "connections move to RDMA when their clients ask",
         applyRdma},
        {"rdmaPort",
         "net.rdma.port",
         kInt,
         kServed,
         "",
         "for clients that come by RDMA alone, without TCP (default: none)",
         applyRdmaPort},
        {"rdmaRingKB",
         "net.rdma.ringKB",
         kInt,
         kServed,
         "",
         "of an RDMA connection's ring (default 256)",
         applyRdmaRing},
        {"rdmaMaxSessions",
         "net.rdma.maxSessions",
         kInt,
         kServed,
         "",
         "most RDMA connections; further ones stay on TCP (default 1024)",
         applyRdmaSessions},
        {"rdmaReadInPlace",
         "net.rdma.readInPlace",
         kBool,
         kServed,
         "true",
         "no copies of requests from clients that have logged in; these must be trusted",
         applyRdmaInPlace},
        {"rdmaOneSlot",
         "net.rdma.oneSlot",
         kBool,
         kServed,
         "true",
         "clients may ask for a slot of the largest message in place of a ring; to measure with",
         applyRdmaOneSlot},
    };
}

std::vector<Option> doorOptions() {
    return {
        {"nounixsocket",
         "net.unixDomainSocket.enabled",
         kBool,
         kServed,
         "false",
         "no Unix socket",
         applyUnixSocket},
        {"unixSocketPrefix",
         "net.unixDomainSocket.pathPrefix",
         kText,
         kServed,
         "",
         "directory of the Unix socket (default /tmp)",
         applyUnixPrefix},
        {"filePermissions",
         "net.unixDomainSocket.filePermissions",
         kInt,
         kServed,
         "",
         "of the Unix socket, in octal (default 0700)",
         applyUnixPermissions},
        {"networkMessageCompressors",
         "net.compression.compressors",
         kText,
         kServed,
         "",
         "snappy, zstd, zlib or disabled (default snappy,zstd,zlib)",
         applyCompressors},
        {"unsafe-listen-without-auth",
         "net.unsafeListenWithoutAuth",
         kBool,
         kServed,
         "true",
         "allow addresses that are not loopback although nobody has to log in",
         applyUnsafeListen},
    };
}

std::vector<Option> tlsOptions() {
    return {
        {"tlsMode",
         "net.tls.mode",
         kText,
         kServed,
         "",
         "disabled (default), allowTLS, preferTLS or requireTLS",
         applyTlsMode},
        {"tlsCertificateKeyFile",
         "net.tls.certificateKeyFile",
         kText,
         kServed,
         "",
         "PEM file with the server's certificate and key",
         applyTlsKeyFile},
        {"tlsCertificateKeyFilePassword",
         "net.tls.certificateKeyFilePassword",
         kText,
         kServed,
         "",
         "password of the key",
         applyTlsPassword},
        {"tlsCAFile",
         "net.tls.CAFile",
         kText,
         kServed,
         "",
         "PEM file with the authorities that vouch for clients",
         applyTlsCaFile},
        {"tlsCRLFile",
         "net.tls.CRLFile",
         kText,
         kServed,
         "",
         "PEM file with revoked certificates",
         applyTlsCrlFile},
        {"tlsAllowConnectionsWithoutCertificates",
         "net.tls.allowConnectionsWithoutCertificates",
         kBool,
         kServed,
         "true",
         "clients may have no certificate although --tlsCAFile is given",
         applyTlsAllowNone},
        {"tlsAllowInvalidCertificates",
         "net.tls.allowInvalidCertificates",
         kBool,
         kServed,
         "true",
         "clients' certificates are not checked",
         applyTlsAllowInvalid},
        {"tlsDisabledProtocols",
         "net.tls.disabledProtocols",
         kText,
         kServed,
         "",
         "TLS1_2, TLS1_3 (older ones are never served)",
         applyTlsDisabled},
    };
}

std::vector<Option> unservedTlsOptions() {
    return {
        {"tlsAllowInvalidHostnames",
         "net.tls.allowInvalidHostnames",
         kBool,
         kIgnored,
         "true",
         "this server does not connect to others"},
        {"tlsClusterFile", "net.tls.clusterFile", kText, kIgnored, "", "there is no cluster"},
        {"tlsClusterPassword",
         "net.tls.clusterPassword",
         kText,
         kIgnored,
         "",
         "there is no cluster"},
        {"tlsClusterCAFile", "net.tls.clusterCAFile", kText, kIgnored, "", "there is no cluster"},
        {"tlsFIPSMode", "net.tls.FIPSMode", kBool, kRefused, "true", "FIPS mode is not served"},
    };
}

std::vector<Option> securityOptions() {
    return {
        {"auth",
         "security.authorization",
         kText,
         kServed,
         "enabled",
         "clients must log in",
         applyAuthorization},
        {"noauth",
         "security.authorization",
         kText,
         kServed,
         "disabled",
         "nobody has to log in (default)",
         applyAuthorization},
        {"keyFile",
         "security.keyFile",
         kText,
         kServed,
         "",
         "means --auth; the key itself is for clusters and is not used",
         applyKeyFile},
        {"transitionToAuth",
         "security.transitionToAuth",
         kBool,
         kRefused,
         "true",
         "a server that asks for a login and does without it is not served: use --auth or not"},
        {"", "security.enableEncryption", kBool, kRefused, "", "encryption at rest is not served"},
        {"clusterAuthMode", "security.clusterAuthMode", kText, kIgnored, "", "there is no cluster"},
        {"noscripting",
         "security.javascriptEnabled",
         kBool,
         kServed,
         "false",
         "run no JavaScript ($where, $function, $accumulator, mapReduce)",
         applyJavaScript},
        {"", "security.clusterIpSourceAllowlist", kText, kIgnored, "", "there is no cluster"},
        {"", "security.sasl", kText, kRefused, "", "SASL by other services is not served"},
        {"", "security.ldap", kText, kRefused, "", "LDAP is not served"},
        {"", "security.kmip", kText, kRefused, "", "KMIP is not served"},
        {"", "security.redactClientLogData", kBool, kRefused, "", "redaction is not served"},
    };
}

std::vector<Option> directoryOptions() {
    return {
        {"dbpath",
         "storage.dbPath",
         kText,
         kServed,
         "",
         "data directory, must exist (default /data/db)",
         applyDbPath},
        {"allowForeignFiles",
         "storage.allowForeignFiles",
         kBool,
         kServed,
         "true",
         "begin in a directory that has no data of this server and other files",
         applyForeignFiles},
    };
}

std::vector<Option> storageOptions() {
    return {
        {"journalCommitInterval",
         "storage.journal.commitIntervalMs",
         kInt,
         kServed,
         "",
         "longest time in ms that a write with w:1 stays in memory only, 1 to 500 (default 100)",
         applyJournalInterval},
        {"syncdelay",
         "storage.syncPeriodSecs",
         kReal,
         kServed,
         "",
         "seconds between checkpoints (default 60)",
         applySyncDelay},
        {"repair",
         "",
         kBool,
         kServed,
         "true",
         "mend damaged data files as far as that goes, then end",
         applyRepair},
        {"wiredTigerCacheSizeGB",
         "storage.wiredTiger.engineConfig.cacheSizeGB",
         kReal,
         kServed,
         "",
         "as memoryLimitGB",
         applyCacheSize},
        {"wiredTigerCollectionBlockCompressor",
         "storage.wiredTiger.collectionConfig.blockCompressor",
         kText,
         kServed,
         "",
         "how data lies on disk: zstd (default), snappy, none; zlib is taken as zstd",
         applyBlockCompressor},
        {"wiredTigerIndexPrefixCompression",
         "storage.wiredTiger.indexConfig.prefixCompression",
         kBool,
         kIgnored,
         "",
         "pages of indexes always are without what their keys have in common"},
        {"memoryLimitGB",
         "storage.freshet.memoryLimitGB",
         kReal,
         kServed,
         "",
         "what data may take in memory; the rest is read from disk when it is needed",
         applyMemoryLimit},
        {"", "storage.journal.enabled", kBool, kIgnored, "", "the journal is always on"},
        {"", "storage.engine", kText, kIgnored, "", "there is one engine"},
        {"storageEngine", "", kText, kIgnored, "", "there is one engine"},
        {"directoryperdb", "storage.directoryPerDB", kBool, kIgnored, "true", "one data file"},
        {"", "storage.indexBuildRetry", kBool, kIgnored, "", "index builds are atomic"},
        {"", "storage.wiredTiger", kText, kIgnored, "", "it tunes another engine"},
        {"", "storage.inMemory", kText, kIgnored, "", "it tunes another engine"},
    };
}

std::vector<Option> otherOptions() {
    return {
        {"profile",
         "operationProfiling.mode",
         kText,
         kServed,
         "",
         "0 off (default), 1 slow operations, 2 all",
         applyProfilingMode,
         profilingMode},
        {"slowms",
         "operationProfiling.slowOpThresholdMs",
         kInt,
         kServed,
         "",
         "what counts as slow, in ms (default 100)",
         applySlowMs},
        {"slowOpSampleRate",
         "operationProfiling.slowOpSampleRate",
         kReal,
         kServed,
         "",
         "share of the slow operations that is logged, 0 to 1 (default 1)",
         applySampleRate},
        {"", "operationProfiling.filter", kText, kRefused, "", "profiling filters are not served"},
        {"oplogSize",
         "replication.oplogSizeMB",
         kInt,
         kServed,
         "",
         "journal kept for readers of changes, in MB",
         applyOplogSize},
        {"oplogMinRetentionHours",
         "storage.oplogMinRetentionHours",
         kReal,
         kServed,
         "",
         "least time that it is kept",
         applyOplogHours},
        {"replSet",
         "replication.replSetName",
         kText,
         kServed,
         "",
         "answer as the primary of a replica set of this name, of which this server is the only "
         "member",
         applyReplicaSet},
        {"replSetHost",
         "replication.freshet.memberHost",
         kText,
         kServed,
         "",
         "host:port at which clients reach that member (default: as they dialled it)",
         applyReplicaSetHost},
        {"enableMajorityReadConcern",
         "replication.enableMajorityReadConcern",
         kBool,
         kIgnored,
         "",
         "majority reads are always served"},
        {"", "sharding.clusterRole", kText, kRefused, "", "sharding is not served"},
        {"", "sharding", kText, kIgnored, "", "sharding is not served"},
        {"notablescan",
         "",
         kBool,
         kRefused,
         "true",
         "queries that scan a collection cannot be forbidden"},
    };
}

}  // namespace

const std::vector<Option>& optionTable() {
    static const std::vector<Option> all = [] {
        std::vector<Option> rows;
        for (auto part : {generalOptions(),
                          logOptions(),
                          netOptions(),
                          rdmaOptions(),
                          doorOptions(),
                          tlsOptions(),
                          unservedTlsOptions(),
                          securityOptions(),
                          directoryOptions(),
                          storageOptions(),
                          otherOptions()}) {
            rows.insert(rows.end(), part.begin(), part.end());
        }
        return rows;
    }();
    return all;
}

const Option* findFlag(std::string_view flag) {
    for (const Option& option : optionTable()) {
        if (!flag.empty() && option.flag == flag) {
            return &option;
        }
    }
    return nullptr;
}

const Option* findPath(std::string_view path) {
    const Option* covering = nullptr;
    for (const Option& option : optionTable()) {
        if (option.path.empty()) {
            continue;
        }
        if (option.path == path) {
            return &option;
        }
        const bool isBelow = path.starts_with(option.path) && path[option.path.size()] == '.';
        if (isBelow && (option.effect != Effect::kServed || option.kind == kPairs)) {
            covering = &option;
        }
    }
    return covering;
}

bool isSection(std::string_view path) {
    return std::any_of(optionTable().begin(), optionTable().end(), [&](const Option& option) {
        return option.path.size() > path.size() && option.path.starts_with(path) &&
               option.path[path.size()] == '.';
    });
}

}  // namespace freshet::server
