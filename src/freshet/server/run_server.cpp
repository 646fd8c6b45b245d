// SPDX-License-Identifier: Apache-2.0
/// The composition root: makes the parts in order, lets them run, ends them in the reverse order.
#include "freshet/server/run_server.h"

#include "freshet/catalog/catalog.h"
#include "freshet/command/dispatcher.h"
#include "freshet/engine/store.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/signals.h"
#include "freshet/platform/thread.h"
#include "freshet/server/options/options.h"
#include "freshet/server/session_handler.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/epoch.h"
#include "freshet/telemetry/log.h"
#include "freshet/transport/server_transport.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

namespace freshet::server {
namespace {

using telemetry::logError;
using telemetry::logInfo;

/// The slice of a reactor's current pass: what runs in it may touch nodes, and the reactor sleeps
/// outside it.
thread_local std::optional<sync::Slice> passSlice;

[[noreturn]] void dieOfJournalFailure(const Status& why) {
    telemetry::log(telemetry::Severity::kFatal,
                   "journal",
                   "writing has failed, ending at once: " + why.toString());
    std::_Exit(kExitJournalFailed);
}

class Server {
public:
    Server(Options options, std::vector<std::string> argv, platform::FileSystem& files)
        : options_(std::move(options)), argv_(std::move(argv)), files_(files) {}

    int run() {
        int exitCode = openData();
        if (exitCode == kExitClean) {
            exitCode = openDoors();
        }
        if (exitCode == kExitClean) {
            const int signal = platform::waitForEndSignal();
            logInfo("server", "Shutting down, signal " + std::to_string(signal));
        }
        return end(exitCode);
    }

private:
    int openData();
    int openDoors();
    int end(int exitCode);
    command::ServerFacts facts();
    void addTransportStatus(bson::Builder* out);

    const Options options_;
    const std::vector<std::string> argv_;
    platform::FileSystem& files_;
    // Made in this order, ended in the reverse one.
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
    return openFailure.code() == Code::kCorruption ? kExitDamagedData : kExitDbPath;
}

int Server::openData() {
    const std::string& path = options_.dbPath;
    if (!files_.list(path).isOk()) {
        logError("server",
                 "Data directory " + path +
                     " not found or not readable. Create it or name another one by --dbpath");
        return kExitDbPath;
    }
    engine::StoreOptions store;
    store.files = &files_;
    store.directory = path;
    store.journalCommitIntervalMs = options_.journalCommitIntervalMs;
    store.onFatal = dieOfJournalFailure;
    StatusOr<std::unique_ptr<engine::Store>> opened = engine::Store::open(store);
    if (!opened.isOk()) {
        const Status& why = opened.status();
        logError("server",
                 why.code() == Code::kUnavailable
                     ? "Data directory " + path + " is already in use: " + std::string(why.text())
                     : "Cannot open data directory " + path + ": " + why.toString());
        return exitCodeOf(why);
    }
    store_ = std::move(*opened);
    StatusOr<std::unique_ptr<catalog::Catalog>> catalog = catalog::Catalog::open(*store_);
    if (!catalog.isOk()) {
        logError("server", "Cannot read the catalog: " + catalog.status().toString());
        return exitCodeOf(catalog.status());
    }
    catalog_ = std::move(*catalog);
    return kExitClean;
}

command::ServerFacts Server::facts() {
    command::ServerFacts facts;
    facts.argv = argv_;
    facts.parsedOptions = options_.parsed;
    facts.host = platform::hostName() + ":" + std::to_string(options_.port);
    facts.startedWallMs = platform::wallMillis();
    facts.enableTestCommands = options_.enableTestCommands;
    facts.journalCommitIntervalMs = options_.journalCommitIntervalMs;
    facts.transportStatus = [this](bson::Builder* out) { addTransportStatus(out); };
    facts.requestShutdown = platform::requestEnd;
    facts.recentLog = telemetry::recentLog;
    return facts;
}

int Server::openDoors() {
    dispatcher_ = std::make_unique<command::Dispatcher>(*catalog_, facts());
    transport::ServerTransportOptions doors;
    doors.bindAddresses = options_.bindAddresses;
    doors.port = options_.port;
    doors.reactors = options_.reactors;
    doors.connectionsMax = options_.connectionsMax;
    sync::EpochDomain& epochs = store_->epochs();
    doors.passBegin = [&epochs] { passSlice.emplace(epochs); };
    doors.passEnd = [] { passSlice.reset(); };
    StatusOr<std::unique_ptr<transport::ServerTransport>> started =
        transport::ServerTransport::start(doors, makeHandlerFactory(*dispatcher_));
    if (!started.isOk()) {
        logError("server", "Failed to set up listener: " + started.status().toString());
        return kExitNetError;
    }
    transport_ = std::move(*started);
    // [running.set] ORDER release: pairs with [running.get], so that the object is whole for it.
    running_.store(transport_.get(), sync::kRelease);
    std::string addresses;
    for (const std::string& address : options_.bindAddresses) {
        addresses += (addresses.empty() ? "" : ",") + address;
    }
    if (options_.unsafeListenWithoutAuth) {
        telemetry::logWarning(
            "server",
            "Listening beyond loopback without authentication: whoever reaches it owns it");
    }
    logInfo(
        "server",
        "Waiting for connections on " + addresses + " port " + std::to_string(transport_->port()));
    return kExitClean;
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
        connections.add("current", static_cast<int64_t>(stats.current));
        connections.add("available", static_cast<int64_t>(stats.available));
        connections.add("totalCreated", static_cast<int64_t>(stats.totalCreated));
        connections.add("rejected", static_cast<int64_t>(stats.rejected));
    }
    auto network = out->object("network");
    network.add("bytesIn", static_cast<int64_t>(stats.bytesIn));
    network.add("bytesOut", static_cast<int64_t>(stats.bytesOut));
    network.add("numRequests", static_cast<int64_t>(stats.messagesIn));
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
            logError("server", "Closing the data directory failed: " + closed.toString());
            exitCode = exitCode == kExitClean ? int{kExitJournalFailed} : exitCode;
        }
        store_.reset();
    }
    logInfo("server", "Now exiting, code " + std::to_string(exitCode));
    return exitCode;
}

}  // namespace

int runServer(int argc, char** argv, platform::FileSystem& files) {
    const std::vector<std::string> words(argv, argv + argc);
    StatusOr<Options> options = parseOptions({words.begin() + 1, words.end()});
    if (!options.isOk()) {
        std::fprintf(stderr,
                     "Error parsing command line: %s\ntry 'freshetd --help' for more information\n",
                     std::string(options.status().text()).c_str());
        return kExitBadOptions;
    }
    const command::ServerFacts versions;
    if (options->showHelp || options->showVersion) {
        const std::string text = options->showHelp
                                     ? std::string(helpText())
                                     : "freshetd version v" + versions.freshetVersion +
                                           " (serves the MongoDB protocol of version " +
                                           versions.version + ")\n";
        std::fputs(text.c_str(), stdout);
        return kExitClean;
    }
    platform::holdEndSignals();
    logInfo("server",
            "freshetd " + versions.freshetVersion + " starting, process " +
                std::to_string(platform::processId()) + ", data directory " + options->dbPath);
    return Server(std::move(*options), words, files).run();
}

}  // namespace freshet::server
