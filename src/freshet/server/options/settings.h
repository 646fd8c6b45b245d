// SPDX-License-Identifier: Apache-2.0
/// The operator's settings, checked and in one place: from the configuration file and the command
/// line, else defaults. Filled by parseOptions(); constant afterwards.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/engine/store.h"
#include "freshet/security/tls.h"
#include "freshet/transport/server_transport.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace freshet::server {

enum class LogRotate : uint8_t { kRename, kReopen };
enum class TimeStampFormat : uint8_t { kIso8601Local, kIso8601Utc };
enum class ProfilingMode : uint8_t { kOff, kSlowOp, kAll };  // by the profile command's levels

struct LogSettings {
    std::string path;     // empty: standard output
    bool toFile = false;  // systemLog.destination; a path is then required
    bool append = false;
    LogRotate rotate = LogRotate::kRename;
    TimeStampFormat timeStampFormat = TimeStampFormat::kIso8601Local;
    int verbosity = 0;  // 0 to 5
    bool quiet = false;
    /// Component as in a configuration file ("storage.journal"), 0 to 5, or -1: as its parent.
    std::vector<std::pair<std::string, int>> componentVerbosity;
};

struct NetSettings {
    uint16_t port = 27017;  // 0: any free one
    std::vector<std::string> bindAddresses{"127.0.0.1"};
    bool bindAll = false;  // all addresses of this machine, instead of bindAddresses
    bool ipv6 = false;
    uint32_t connectionsMax = 65'536;
    bool unixSocket = true;
    std::string unixSocketPrefix = "/tmp";
    uint32_t unixSocketMode = 0700;
    /// For OP_COMPRESSED, the preferred one first; empty: none.
    std::vector<std::string> compressors{"snappy", "zstd", "zlib"};
    transport::TlsMode tlsMode = transport::TlsMode::kDisabled;
    security::TlsOptions tls;
    bool unsafeListenWithoutAuth = false;
    unsigned reactors = 0;  // 0: one per core
    bool rdma = false;      // connections may move to RDMA
    uint16_t rdmaPort = 0;  // for clients that connect without TCP; 0: none
    uint32_t rdmaRingKB = 256;
    uint32_t rdmaSessionsMax = 1'024;
    bool rdmaReadsInPlace = false;
    bool rdmaOneSlot = false;
};

struct StorageSettings {
    std::string dbPath = "/data/db";
    uint32_t journalCommitIntervalMs = 100;
    uint32_t checkpointMs = 60'000;  // 0: only by the amount of journal
    bool allowForeignFiles = false;  // start in a directory that has other programs' files
    bool repair = false;             // repair what can be repaired, then end
    engine::Codec codec = engine::Codec::kZstd;
    double memoryLimitGB = 0;            // 0: the server's own choice
    std::optional<uint64_t> oplogBytes;  // journal kept for readers of events; absent: a default
    double oplogRetentionHours = 0;
};

struct ReplicaSetSettings {
    std::string name;  // empty: a standalone
    std::string host;  // "name:port" of its member; empty: the address that each client used
};

struct ProfilingSettings {
    ProfilingMode mode = ProfilingMode::kOff;
    uint32_t slowMs = 100;
    double sampleRate = 1.0;
};

struct Settings {
    std::string configFile;  // empty: none was given
    LogSettings log;
    NetSettings net;
    StorageSettings storage;
    ReplicaSetSettings replicaSet;
    ProfilingSettings profiling;
    bool auth = false;
    bool javaScript = true;
    bool fork = false;
    std::string pidFile;  // empty: none
    /// --setParameter, in the order given; each has passed command's checkStartParameter().
    std::vector<std::pair<std::string, std::string>> parameters;
    bool showHelp = false;
    bool showVersion = false;
    bool shutdownOther = false;  // end the server that runs on dbPath instead of starting one
    /// To be logged at the start: options that were accepted and have no effect.
    std::vector<std::string> notes;
    /// The given options, in the form of a configuration file, for getCmdLineOpts.
    bson::OwnedDocument parsed;

    bool parameterIsOn(std::string_view name) const;
};

}  // namespace freshet::server
