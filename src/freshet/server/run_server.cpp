// SPDX-License-Identifier: Apache-2.0
/// The composition root: makes the parts in order, runs them, ends them in the reverse order.
#include "freshet/server/run_server.h"

#include "freshet/bson/count.h"
#include "freshet/catalog/catalog.h"
#include "freshet/catalog/repair.h"
#include "freshet/command/dispatcher.h"
#include "freshet/command/session_records.h"
#include "freshet/engine/store.h"
#include "freshet/platform/background.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/signals.h"
#include "freshet/platform/thread.h"
#include "freshet/query/predicate.h"
#include "freshet/security/tls.h"
#include "freshet/server/options/options.h"
#include "freshet/server/process/process_files.h"
#include "freshet/server/process/shortages.h"
#include "freshet/server/process/start_log.h"
#include "freshet/server/session_handler.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/epoch.h"
#include "freshet/telemetry/log.h"
#include "freshet/transport/server_transport.h"
#include "freshet/transport/verbs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

namespace freshet::server {
namespace {

using telemetry::Component;
using telemetry::LogAttributes;
using telemetry::LogId;
using telemetry::Severity;

void logControl(Severity severity,
                LogId id,
                std::string_view message,
                const LogAttributes& attributes = {}) {
    telemetry::log(severity, Component::kControl, id, message, attributes);
}

/// The slice of a reactor's current pass: code in the pass may touch tree nodes, and the reactor
/// sleeps outside of it.
thread_local std::optional<sync::Slice> passSlice;

/// A checkpoint interval that never ends.
constexpr uint64_t kNeverMs = uint64_t{1} << 40;

[[noreturn]] void dieOfJournalFailure(const Status& why) {
    logControl(Severity::kFatal,
               LogId::kWriteFailed,
               "Writing has failed, ending at once",
               {{"error", why}});
    std::_Exit(kExitJournalFailed);
}

class Server {
public:
    Server(Settings settings, std::vector<std::string> argv, const Surroundings& surroundings)
        : settings_(std::move(settings)), argv_(std::move(argv)), surroundings_(surroundings) {}

    int run() {
        int exitCode = openData();
        if (exitCode == kExitClean && settings_.storage.repair) {
            return end(repair());
        }
        if (exitCode == kExitClean) {
            exitCode = openListeners();
        }
        if (exitCode == kExitClean) {
            platform::reportReady();
            if (surroundings_.onOpen) {
                surroundings_.onOpen(transport_->port());
            }
            actOnSignals();
        }
        return end(exitCode);
    }

private:
    int openData();
    /// Logs a line if the previous server did not close its data.
    void announceData(uint64_t begunNanos);
    int repair();
    int openListeners();
    Status makeTls(transport::ServerTransportOptions* options);
    void useRdma(transport::ServerTransportOptions* options);
    void announceListeners();
    static void actOnSignals();
    [[noreturn]] void endDespite(uint64_t sessions);
    int end(int exitCode);
    command::ServerFacts facts();
    void addTransportStatus(bson::Builder* out);

    const Settings settings_;
    const std::vector<std::string> argv_;
    const Surroundings& surroundings_;
    // Created in this order, destroyed in the reverse one.
    std::shared_ptr<sync::MemoryPool> memory_;
    platform::Slabs slabs_;  // for --rdma: large values lie there and are sent from there
    const std::shared_ptr<command::SessionRecords> sessionRecords_ = command::makeSessionRecords();
    std::unique_ptr<engine::Store> store_;
    std::unique_ptr<catalog::Catalog> catalog_;
    std::unique_ptr<command::Dispatcher> dispatcher_;
    std::unique_ptr<transport::ServerTransport> transport_;
    /// transport_, for commands. Sessions run before start() has returned to us, so they see null
    /// at first. Written by: the main thread, once. Read by: serverStatus, on reactors.
    ///   RECLAIM  shutdown() has joined the reactors before transport_ is freed
    sync::Atomic<const transport::ServerTransport*> running_{nullptr};
};

int exitCodeOf(const Status& openFailure) {
    switch (openFailure.code()) {
        case Code::kCorruption:
            return kExitDamagedData;
        case Code::kUnsupported:
            return kExitNewerFormat;
        default:
            return kExitDbPath;
    }
}

int refuseData(const Status& why, const std::string& text) {
    logControl(Severity::kError,
               LogId::kStartFailed,
               "Cannot start on the data directory",
               {{"error", text}});
    return exitCodeOf(why);
}

/// The memory for pages. Without an option, like mongod: half of the machine's memory beyond one
/// GiB.
uint64_t memoryCeiling(double limitGB) {
    constexpr uint64_t kLeast = uint64_t{256} << 20;
    constexpr uint64_t kGiB = uint64_t{1} << 30;
    if (limitGB > 0) {
        return static_cast<uint64_t>(limitGB * static_cast<double>(kGiB));
    }
    const uint64_t machine = platform::machineMemoryBytes();
    return machine > kGiB ? std::max(kLeast, (machine - kGiB) / 2) : kLeast;
}

/// What all requests may hold together: half of the ceiling, at least enough for a few of the
/// largest messages.
uint64_t requestMemory(uint64_t ceiling) {
    constexpr uint64_t kLeast = uint64_t{128} << 20;
    return std::max(kLeast, ceiling / 2);
}

/// How much journal is kept for streams that resume: a twentieth of the disk, as MongoDB's members
/// of replica sets do. Less where nobody said that this server is one; nothing on small disks.
uint64_t retainedByDefault(uint64_t diskBytes, bool isReplicaSet) {
    constexpr uint64_t kGiB = uint64_t{1} << 30;
    return diskBytes < 4 * kGiB ? 0 : std::min(diskBytes / 20, (isReplicaSet ? 50 : 1) * kGiB);
}

int Server::openData() {
    const std::string& path = settings_.storage.dbPath;
    if (auto listed = surroundings_.files.list(path); !listed.isOk()) {
        return refuseData(listed.status(),
                          "Data directory " + path +
                              " not found or not readable. Create it, or name another one by "
                              "--dbpath or storage.dbPath");
    }
    engine::StoreOptions store;
    store.files = &surroundings_.files;
    store.directory = path;
    store.journalCommitIntervalMs = settings_.storage.journalCommitIntervalMs;
    store.journalRetainBytes = settings_.storage.oplogBytes.value_or(retainedByDefault(
        surroundings_.files.spaceOf(path).totalBytes, !settings_.replicaSet.name.empty()));
    store.journalRetainHours =
        static_cast<uint32_t>(std::ceil(settings_.storage.oplogRetentionHours));
    store.checkpointIntervalMs =
        settings_.storage.checkpointMs == 0 ? kNeverMs : settings_.storage.checkpointMs;
    store.holdCommitsUntilDurable = settings_.parameterIsOn("holdCommitsUntilDurable");
    store.codec = settings_.storage.codec;
    store.memoryBytes = memoryCeiling(settings_.storage.memoryLimitGB);
    store.memoryIsProcess = true;
    memory_ = std::make_shared<sync::MemoryPool>(requestMemory(store.memoryBytes));
    store.slabs = settings_.net.rdma ? &slabs_ : nullptr;
    store.repair = settings_.storage.repair;
    store.refuseForeignFiles = !settings_.storage.allowForeignFiles;
    store.eventKeeper = &command::keeperOf(*sessionRecords_);
    store.onFatal = dieOfJournalFailure;
    const uint64_t begun = platform::monotonicNanos();
    StatusOr<std::unique_ptr<engine::Store>> opened = engine::Store::open(store);
    if (!opened.isOk()) {
        const Status& why = opened.status();
        return refuseData(
            why,
            why.code() == Code::kUnavailable
                ? "Data directory " + path + " is already in use: " + std::string(why.text())
                : "Cannot open data directory " + path + ": " + why.toString());
    }
    store_ = std::move(*opened);
    memory_->onGrowth([store = store_.get()] { store->expectMemoryUse(); });
    announceData(begun);
    if (settings_.storage.repair) {
        return kExitClean;  // repair() opens the catalog in its own way
    }
    StatusOr<std::unique_ptr<catalog::Catalog>> catalog =
        catalog::Catalog::open(*store_, query::compilePredicate);
    if (!catalog.isOk()) {
        return refuseData(catalog.status(),
                          "Cannot read the catalog: " + catalog.status().toString());
    }
    catalog_ = std::move(*catalog);
    return kExitClean;
}

void Server::announceData(uint64_t begunNanos) {
    constexpr uint64_t kNanosPerMilli = 1'000'000;
    if (!store_->journal().wasCutOff()) {
        return;
    }
    logControl(Severity::kInfo,
               LogId::kRecovered,
               "Unclean end detected, recovered from the journal",
               {{"recordsReplayed", store_->stats().recordsReplayed},
                {"durationMillis", (platform::monotonicNanos() - begunNanos) / kNanosPerMilli}});
}

int Server::repair() {
    const auto report = [](const std::vector<std::string>& losses) {
        for (const std::string& loss : losses) {
            logControl(Severity::kWarning,
                       LogId::kDamageGivenUp,
                       "Repair gave up damaged data",
                       {{"what", loss}});
        }
    };
    report(store_->losses());
    StatusOr<std::vector<std::string>> lost =
        catalog::repairCollections(*store_, query::compilePredicate);
    if (!lost.isOk()) {
        return refuseData(lost.status(), "Cannot repair: " + lost.status().toString());
    }
    report(*lost);
    if (const Status status = store_->finishRepair(); !status.isOk()) {
        return refuseData(status, "Cannot end the repair: " + status.toString());
    }
    const size_t losses = store_->losses().size() + lost->size();
    logControl(losses == 0 ? Severity::kInfo : Severity::kWarning,
               LogId::kRepairDone,
               losses == 0 ? "Finished repairing the data directory, nothing was lost"
                           : "Finished repairing the data directory. Something was lost: see the "
                             "lines before",
               {{"lines", losses}});
    return losses == 0 ? kExitClean : kExitRepairedWithLoss;
}

command::ServerFacts Server::facts() {
    command::ServerFacts facts;
    facts.argv = argv_;
    facts.parsedOptions = settings_.parsed;
    facts.host = platform::hostName() + ":" + std::to_string(settings_.net.port);
    facts.startedWallMs = platform::wallMillis();
    facts.enableTestCommands = settings_.parameterIsOn("enableTestCommands");
    facts.authEnabled = settings_.auth;
    facts.javaScriptEnabled = settings_.javaScript;
    facts.verifiesCertificates =
        settings_.net.tlsMode != transport::TlsMode::kDisabled && !settings_.net.tls.caFile.empty();
    facts.replicaSet = settings_.replicaSet.name;
    facts.replicaSetHost = settings_.replicaSet.host;
    facts.journalCommitIntervalMs = settings_.storage.journalCommitIntervalMs;
    facts.slowOpThresholdMs = settings_.profiling.slowMs;
    facts.slowOpSampleRate = settings_.profiling.sampleRate;
    facts.profileLevel = static_cast<int32_t>(settings_.profiling.mode);
    facts.startParameters = settings_.parameters;
    facts.compressors = settings_.net.compressors;
    facts.transportStatus = [this](bson::Builder* out) { addTransportStatus(out); };
    facts.memory = memory_;
    facts.sessionRecords = sessionRecords_;
    facts.requestShutdown = platform::requestEnd;
    facts.recentLog = telemetry::recentLog;
    facts.startupWarnings = telemetry::startupWarnings;
    facts.rotateLog = rotateLogNow;
    return facts;
}

Status Server::makeTls(transport::ServerTransportOptions* options) {
    options->tlsMode = settings_.net.tlsMode;
    if (options->tlsMode == transport::TlsMode::kDisabled) {
        return Status::ok();
    }
    FRESHET_ASSIGN_OR_RETURN(
        options->tls, security::TlsContext::make(security::TlsSide::kServer, settings_.net.tls));
    return Status::ok();
}

/// Without a device the server still serves TCP; a device may be added later.
void Server::useRdma(transport::ServerTransportOptions* options) {
    constexpr uint32_t kBytesPerKB = 1024;
    StatusOr<std::shared_ptr<transport::verbs::Verbs>> verbs =
        surroundings_.adapters != nullptr ? surroundings_.adapters
                                          : transport::verbs::systemVerbs();
    if (!verbs.isOk()) {
        telemetry::logWarning("transport", "No RDMA: " + verbs.status().toString());
        return;
    }
    options->rdma.verbs = std::move(*verbs);
    options->rdma.slabs = &slabs_;
    options->rdma.callPort = settings_.net.rdmaPort;
    options->rdma.ringBytes = settings_.net.rdmaRingKB * kBytesPerKB;
    options->rdma.sessionsMax = settings_.net.rdmaSessionsMax;
    options->rdma.readsInPlace = settings_.net.rdmaReadsInPlace;
    options->rdma.oneSlot = settings_.net.rdmaOneSlot;
    const std::vector<transport::verbs::PortInfo> ports = options->rdma.verbs->ports();
    for (const transport::verbs::PortInfo& port : ports) {
        telemetry::log(Severity::kInfo,
                       "transport",
                       "RDMA device " + port.device + " port " + std::to_string(port.port) + ": " +
                           port.state + ", " + port.linkLayer + ", MTU " +
                           std::to_string(port.mtuBytes));
    }
    if (ports.empty()) {
        telemetry::logWarning("transport", "RDMA was asked for, and there is no RDMA device");
    }
}

int Server::openListeners() {
    dispatcher_ = std::make_unique<command::Dispatcher>(*catalog_, facts());
    dispatcher_->recordStart();
    const NetSettings& net = settings_.net;
    transport::ServerTransportOptions options;
    options.bindAddresses = net.bindAddresses;
    options.bindAll = net.bindAll;
    options.ipv6 = net.ipv6;
    options.port = net.port;
    options.unixSocketPrefix = net.unixSocket ? net.unixSocketPrefix : "";
    options.unixSocketMode = net.unixSocketMode;
    options.reactors = net.reactors;
    options.connectionsMax = net.connectionsMax;
    options.memory = memory_;
    options.shutdownOverdue = [this](uint64_t sessions) { endDespite(sessions); };
    sync::EpochDomain& epochs = store_->epochs();
    options.passBegin = [&epochs] {
        passSlice.emplace(epochs);
        command::Dispatcher::passBegan();
    };
    options.passEnd = [] {
        command::Dispatcher::passEnded();
        passSlice.reset();
    };
    options.longPass = [](uint64_t nanos) { command::Dispatcher::longPass(nanos); };
    options.readAhead = [] { command::Dispatcher::readAhead(); };
    if (net.rdma) {
        useRdma(&options);
    }
    if (const Status tls = makeTls(&options); !tls.isOk()) {
        logControl(Severity::kError, LogId::kTlsFailed, "Cannot set up TLS", {{"error", tls}});
        return kExitFailure;
    }
    StatusOr<std::unique_ptr<transport::ServerTransport>> started =
        transport::ServerTransport::start(
            options, makeHandlerFactory(*dispatcher_, !settings_.log.quiet, memory_));
    if (!started.isOk()) {
        logControl(Severity::kError,
                   LogId::kListenerFailed,
                   "Error setting up listener",
                   {{"error", started.status()}});
        return kExitNetError;
    }
    transport_ = std::move(*started);
    // [running.set] ORDER release: pairs with [running.get], so that readers see the whole object.
    running_.store(transport_.get(), sync::kRelease);
    announceListeners();
    return kExitClean;
}

void Server::announceListeners() {
    const telemetry::LogContext context("listener");
    for (const std::string& address : transport_->addresses()) {
        telemetry::log(Severity::kInfo,
                       Component::kNetwork,
                       LogId::kListeningOn,
                       "Listening on",
                       {{"address", address}});
    }
    const bool isTls = settings_.net.tlsMode != transport::TlsMode::kDisabled;
    telemetry::log(Severity::kInfo,
                   Component::kNetwork,
                   LogId::kWaitingForConnections,
                   "Waiting for connections",
                   {{"port", transport_->port()}, {"ssl", isTls ? "on" : "off"}});
    if (!settings_.replicaSet.name.empty()) {
        // mongod's words: test harnesses wait for them before they connect.
        telemetry::log(Severity::kInfo,
                       Component::kReplication,
                       LogId::kPrimaryNow,
                       "Transition to primary complete; database writes are now permitted",
                       {{"term", 1}});
    }
}

/// Commands that do not end must not block the end of the process. What they have committed is made
/// durable; the next start recovers as after a crash.
void Server::endDespite(uint64_t sessions) {
    logControl(Severity::kWarning,
               LogId::kSessionsLeft,
               "Sessions are still busy at shutdown, ending without them",
               {{"sessions", static_cast<int64_t>(sessions)}});
    journal::Journal& journal = store_->journal();
    const journal::Lsn all = journal.tailLsn();
    sync::WaitToken token;
    Status status = journal.durable(all, &token);
    for (; status.isWouldBlock(); status = journal.durable(all, &token)) {
        sync::blockOn(token);
    }
    std::_Exit(status.isOk() ? kExitClean : kExitJournalFailed);
}

/// Returns when a signal says to end.
void Server::actOnSignals() {
    for (;;) {
        const platform::Signal signal = platform::waitForSignal();
        const telemetry::LogContext context("SignalHandler");
        logControl(Severity::kInfo,
                   LogId::kReceivedSignal,
                   "Received signal",
                   {{"signal", signal.number}, {"error", signal.name}});
        if (signal.kind == platform::Signal::Kind::kEnd) {
            return;
        }
        if (signal.kind == platform::Signal::Kind::kRotateLog) {
            // A failure was logged; the server continues with the current file.
            static_cast<void>(rotateLogNow().isOk());
        }
    }
}

/// The time that sessions have spent waiting for requests (source), handling them (process),
/// sending replies (sink) and otherwise; docs/design/transport.md, "Service state machine".
void addStages(const transport::ServerTransportStats& stats, bson::Builder* out) {
    using transport::State;
    const auto micros = [&stats](State state) {
        return static_cast<int64_t>(stats.nanosIn[static_cast<size_t>(state)] / 1'000);
    };
    out->object("stageMicros")
        .add("source", micros(State::kSourceWait))
        .add("process", micros(State::kProcess))
        .add("sink", micros(State::kSinkWait))
        .add("other",
             micros(State::kCreated) + micros(State::kSource) + micros(State::kEndSession));
}

void Server::addTransportStatus(bson::Builder* out) {
    // [running.get] ORDER acquire: pairs with [running.set].
    const transport::ServerTransport* running = running_.load(sync::kAcquire);
    if (running == nullptr) {
        return;
    }
    const transport::ServerTransportStats stats = running->stats();
    {
        auto connections = out->object("connections");
        bson::addCount(&connections, "current", static_cast<int64_t>(stats.current));
        bson::addCount(&connections, "available", static_cast<int64_t>(stats.available));
        bson::addCount(&connections, "totalCreated", static_cast<int64_t>(stats.totalCreated));
        bson::addCount(&connections, "rejected", static_cast<int64_t>(stats.rejected));
    }
    {
        auto network = out->object("network");
        network.add("bytesIn", static_cast<int64_t>(stats.bytesIn));
        network.add("bytesOut", static_cast<int64_t>(stats.bytesOut));
        network.add("numRequests", static_cast<int64_t>(stats.messagesIn));
        addStages(stats, &network);
    }
    out->object("reactors")
        .add("longPasses", static_cast<int64_t>(stats.longPasses))
        .add("longestPassMicros", static_cast<int64_t>(stats.longestPassMicros));
    if (settings_.net.rdma) {
        auto rdma = out->object("rdma");
        for (const auto& [name, count] : stats.rdma.named()) {
            rdma.add(name, static_cast<int64_t>(count));
        }
        auto reasons = rdma.object("fallbackReasons");
        for (const auto& [name, count] : stats.rdma.namedFallbacks()) {
            reasons.add(name, static_cast<int64_t>(count));
        }
    }
}

int Server::end(int exitCode) {
    if (dispatcher_ != nullptr) {
        dispatcher_->beginShutdown();
    }
    if (transport_ != nullptr) {
        transport_->shutdown();
    }
    transport_.reset();
    dispatcher_.reset();
    catalog_.reset();
    if (store_ != nullptr) {
        const Status closed = store_->close();
        if (!closed.isOk()) {
            logControl(Severity::kError,
                       LogId::kCloseFailed,
                       "Closing the data directory failed",
                       {{"error", closed}});
            exitCode = exitCode == kExitClean ? int{kExitJournalFailed} : exitCode;
        } else {
            logControl(Severity::kInfo,
                       LogId::kDataClosed,
                       "Closed the data directory, everything is durable");
        }
        store_.reset();
    }
    logControl(Severity::kInfo, LogId::kNowExiting, "Now exiting");
    logControl(Severity::kInfo, LogId::kShuttingDown, "Shutting down", {{"exitCode", exitCode}});
    return exitCode;
}

/// Goes to the background, if that is wanted: returns the exit code in the process that the user
/// started, and nothing in the one that serves.
std::optional<int> split(const Settings& settings) {
    if (!settings.fork) {
        return std::nullopt;
    }
    std::printf("about to fork child process, waiting until server is ready for connections.\n");
    std::fflush(stdout);
    auto result = platform::splitToBackground(
        [](int64_t child) { std::printf("forked process: %ld\n", static_cast<long>(child)); });
    if (!result.isOk()) {
        std::fprintf(stderr, "%s\n", result.status().toString().c_str());
        return kExitForkFailed;
    }
    if (result->isChild) {
        return std::nullopt;
    }
    if (result->exitCode == kExitClean) {
        std::printf("child process started successfully, parent exiting\n");
    } else {
        std::printf("ERROR: child process failed, exited with %d; its log says why\n",
                    result->exitCode);
    }
    return result->exitCode;
}

int fail(int exitCode, const Status& why) {
    std::fprintf(stderr, "%s\n", std::string(why.text()).c_str());
    return exitCode;
}

int serve(Settings settings,
          const std::vector<std::string>& words,
          const Versions& versions,
          const Surroundings& surroundings) {
    if (const Status opened = openLog(settings.log); !opened.isOk()) {
        return fail(kExitFailure, opened.withContext("Cannot open the log file"));
    }
    if (const std::optional<int> parentEnd = split(settings)) {
        return *parentEnd;
    }
    nameShortages(kExitFailure);
    platform::holdSignals();
    const telemetry::LogContext context("initandlisten");
    PidFile pidFile;
    if (const Status written = pidFile.write(settings.pidFile); !written.isOk()) {
        return fail(kExitFailure, written.withContext("Cannot write the process id file"));
    }
    logStart(settings, versions);
    logStartupWarnings(settings);
    const unsigned reactors =
        settings.net.reactors != 0 ? settings.net.reactors : platform::coreCount();
    if (const Status enough = checkOpenFiles(reactors, settings.net.connectionsMax);
        !enough.isOk()) {
        logControl(Severity::kError, LogId::kShortage, "Cannot start", {{"error", enough.text()}});
        return fail(kExitFailure, enough);
    }
    return Server(std::move(settings), words, surroundings).run();
}

/// The first line is as mongod's, because test harnesses parse it.
std::string versionText(const Versions& versions) {
    return "db version v" + versions.served + "\nfreshetd version v" + versions.own +
           " (serves the MongoDB protocol of version " + versions.served + ")\n";
}

}  // namespace

int runServer(int argc, char** argv, const Surroundings& surroundings) {
    const std::vector<std::string> words(argv, argv + argc);
    StatusOr<Settings> settings =
        parseOptions({words.begin() + 1, words.end()}, surroundings.files);
    if (!settings.isOk()) {
        return fail(kExitBadOptions,
                    Status(Code::kInvalid,
                           std::string(settings.status().text()) +
                               "\ntry 'freshetd --help' for more information"));
    }
    const command::ServerFacts facts;
    const Versions versions{facts.freshetVersion, facts.version};
    if (settings->showHelp || settings->showVersion) {
        const std::string text = settings->showHelp ? helpText() : versionText(versions);
        std::fputs(text.c_str(), stdout);
        return kExitClean;
    }
    return settings->shutdownOther ? shutdownOther(settings->storage.dbPath, surroundings.files)
                                   : serve(std::move(*settings), words, versions, surroundings);
}

}  // namespace freshet::server
