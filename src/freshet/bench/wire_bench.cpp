// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/wire_bench.h"

#include "freshet/bench/load.h"
#include "freshet/bench/load/idle_crowd.h"
#include "freshet/bench/processes.h"
#include "freshet/bench/requests.h"
#include "freshet/client/client.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/transport/connector.h"

#include <cstdio>
#include <filesystem>
#include <optional>

namespace freshet::bench {
namespace {

struct Row {
    std::string op;
    std::string durability;
    LoadPlan plan;
    int64_t serverPid = 0;  // 0: not known
    /// Before the server's processor time is taken for the last time.
    std::function<void()> settle = [] {};
};

class WireBench {
public:
    explicit WireBench(const WireOptions& options) : options_(options) {}
    Status run();

private:
    Status startServer();
    Status connect();
    Status preload();
    Status measureAll();
    /// Brings the idle connections and tells what each of them makes the server hold.
    Status fillWithIdle();
    Status measureOp(const std::string& op, unsigned clients);
    Status measureEcho(unsigned clients, size_t replyBytes);
    /// A session over RDMA, or an error: figures of TCP must not go by its name.
    StatusOr<std::unique_ptr<transport::Session>> rdmaSession() const;
    StatusOr<LoadResult> measure(const Row& row);
    void print(const Row& row, const LoadResult& result, std::optional<uint64_t> serverMicros);
    LoadPlan planFor(unsigned clients) const;

    const WireOptions& options_;
    client::ConnectionString where_;
    std::shared_ptr<transport::verbs::Verbs> verbs_;  // null: TCP
    std::unique_ptr<TemporaryFolder> folder_;
    ChildProcess server_;  // after folder_: it must end first
    std::unique_ptr<client::Connection> connection_;
    int64_t serverPid_ = 0;
    uint64_t nextId_ = 0;
    size_t requestBytes_ = 0;  // of the last row
    IdleCrowd crowd_;
    bool preloaded_ = false;
};

Status WireBench::run() {
    FRESHET_ASSIGN_OR_RETURN(folder_, TemporaryFolder::make(options_.dataDir));
    if (options_.uri.empty()) {
        FRESHET_RETURN_IF_ERROR(startServer());
    } else {
        FRESHET_ASSIGN_OR_RETURN(where_, client::ConnectionString::parse(options_.uri));
        if (where_.tls || !where_.username.empty() || where_.host.starts_with('/')) {
            return Status(Code::kUnsupported,
                          "The load generator's connections are TCP, without TLS and login");
        }
        serverPid_ = options_.pid;
    }
    if (options_.rdma || std::exchange(where_.rdma, false)) {
        FRESHET_ASSIGN_OR_RETURN(verbs_, transport::verbs::systemVerbs());
    }
    FRESHET_RETURN_IF_ERROR(connect());
    // Inserts into a server that was measured before must not meet their own ids.
    nextId_ = static_cast<uint64_t>(platform::wallMillis()) << 20;
    FRESHET_RETURN_IF_ERROR(measureAll());
    if (options_.idle > 0) {
        FRESHET_RETURN_IF_ERROR(fillWithIdle());
        FRESHET_RETURN_IF_ERROR(measureAll());
        crowd_.leave();
        FRESHET_RETURN_IF_ERROR(measureAll());
    }
    return Status::ok();
}

Status WireBench::measureAll() {
    for (const std::string& op : options_.ops) {
        if (op == "get" && !std::exchange(preloaded_, true)) {
            FRESHET_RETURN_IF_ERROR(preload());
        }
        for (unsigned clients : options_.clients) {
            FRESHET_RETURN_IF_ERROR(measureOp(op, clients));
        }
    }
    return Status::ok();
}

Status WireBench::fillWithIdle() {
    const auto resident = [this] {
        StatusOr<uint64_t> bytes = residentBytesOf(serverPid_);
        return bytes.isOk() ? static_cast<double>(*bytes) : 0.0;
    };
    raiseFileLimit();
    const double before = resident();
    FRESHET_RETURN_IF_ERROR(
        crowd_.come(where_.host, where_.port, options_.idle, getRequest(options_.records)));
    const double after = resident();
    std::printf(options_.json ? R"({"op": "idle", "connections": %u, "resident_before": %.0f, )"
                                R"("resident_after": %.0f, "bytes_each": %.0f})"
                                "\n"
                              : "idle  %u connections  resident %.0f -> %.0f B  %.0f B each\n",
                options_.idle,
                before,
                after,
                (after - before) / options_.idle);
    std::fflush(stdout);
    return Status::ok();
}

Status WireBench::startServer() {
    FRESHET_ASSIGN_OR_RETURN(where_.port, freePort());
    where_.host = "127.0.0.1";
    const std::string data = folder_->path() + "/db";
    std::error_code error;
    std::filesystem::create_directories(data, error);
    FRESHET_ASSIGN_OR_RETURN(server_,
                             ChildProcess::start({programFolder() + "/freshetd",
                                                  "--dbpath",
                                                  data,
                                                  "--port",
                                                  std::to_string(where_.port)},
                                                 folder_->path() + "/server.log"));
    serverPid_ = server_.pid();
    return Status::ok();
}

/// A server of our own needs a moment until it listens.
Status WireBench::connect() {
    constexpr int kTries = 600;
    Status last;
    for (int i = 0; i < kTries; ++i) {
        auto opened = client::Connection::open(where_);
        if (opened.isOk()) {
            connection_ = std::move(opened).value();
            return Status::ok();
        }
        last = std::move(opened).status();
        if (!options_.uri.empty() || !server_.isRunning()) {
            break;
        }
        platform::sleepMillis(50);
    }
    return last.withContext(options_.uri.empty() ? "The server did not come up" : options_.uri);
}

Status WireBench::preload() {
    const std::string drop = bson::Builder().add("drop", kGetCollection).finish();
    // A collection that is not there yet is as good as an empty one.
    (void)connection_->run(kDatabase, bson::Document(drop));
    const uint64_t batch = std::max<uint64_t>(1, 4'000'000 / (options_.valueBytes + 64));
    for (uint64_t from = 0; from < options_.records; from += batch) {
        const std::string command =
            preloadCommand(from, std::min(from + batch, options_.records), options_.valueBytes);
        FRESHET_ASSIGN_OR_RETURN(bson::OwnedDocument reply,
                                 connection_->runChecked(kDatabase, bson::Document(command)));
        if (reply.view().has("writeErrors")) {
            return Status(Code::kIo, "The records could not be loaded");
        }
    }
    // Reads are of data at rest: a checkpoint in the middle of one row would be counted there.
    const std::string sync = bson::Builder().add("fsync", int32_t{1}).finish();
    return connection_->runChecked("admin", bson::Document(sync)).status();
}

StatusOr<std::unique_ptr<transport::Session>> WireBench::rdmaSession() const {
    std::string why;
    transport::ConnectOptions options;
    options.host = where_.host;
    options.port = where_.port;
    options.rdma.verbs = verbs_;
    options.onFallback = [&why](const std::string& text) { why = text; };
    FRESHET_ASSIGN_OR_RETURN(auto session, transport::connect(options));
    if (!why.empty()) {
        return Status(Code::kUnsupported, why);
    }
    return session;
}

LoadPlan WireBench::planFor(unsigned clients) const {
    LoadPlan plan;
    if (verbs_ != nullptr) {
        plan.connect = [this] { return rdmaSession(); };
    }
    plan.host = where_.host;
    plan.port = where_.port;
    plan.clients = clients;
    plan.threads = options_.threads;
    plan.millis = options_.seconds * 1'000u;
    plan.warmUpMillis = plan.millis / 4;
    return plan;
}

Status WireBench::measureOp(const std::string& op, unsigned clients) {
    Row row;
    row.op = op;
    row.plan = planFor(clients);
    row.serverPid = serverPid_;
    if (op == "get") {
        row.durability = "none";
        row.plan.request = getRequest(options_.records);
    } else {
        row.durability = options_.durable ? "durable" : "nosync";
        row.plan.request = putRequest(options_.valueBytes, options_.durable, nextId_);
        // What inserts leave to be written is part of their price, where the server has fsync.
        row.settle = [this] {
            const std::string command = bson::Builder().add("fsync", int32_t{1}).finish();
            (void)connection_->run("admin", bson::Document(command));
        };
    }
    requestBytes_ = row.plan.request.bytes.size();
    FRESHET_ASSIGN_OR_RETURN(LoadResult result, measure(row));
    nextId_ += result.idsUsed + clients;
    return options_.withEcho ? measureEcho(clients, result.replyBytes) : Status::ok();
}

Status WireBench::measureEcho(unsigned clients, size_t replyBytes) {
    FRESHET_ASSIGN_OR_RETURN(uint16_t port, freePort());
    FRESHET_ASSIGN_OR_RETURN(ChildProcess echo,
                             ChildProcess::start({programFolder() + "/freshet-bench",
                                                  "echo-server",
                                                  std::to_string(port),
                                                  std::to_string(replyBytes)},
                                                 folder_->path() + "/echo.log"));
    constexpr int kTries = 200;
    Row row;
    row.op = "echo";
    row.durability = "none";
    row.plan = planFor(clients);
    row.plan.port = port;
    row.plan.request = echoRequest(requestBytes_);
    row.serverPid = echo.pid();
    for (int i = 0; i < kTries; ++i) {
        StatusOr<LoadResult> result = measure(row);
        if (result.isOk() || result.status().code() != Code::kUnavailable) {
            return result.isOk() ? Status::ok() : std::move(result).status();
        }
        platform::sleepMillis(20);
    }
    return Status(Code::kUnavailable, "The echo server did not come up");
}

StatusOr<LoadResult> WireBench::measure(const Row& row) {
    std::optional<uint64_t> before, after;
    const auto cpu = [&row]() -> std::optional<uint64_t> {
        StatusOr<uint64_t> micros =
            row.serverPid == 0 ? Status(Code::kNotFound, "") : cpuMicrosOf(row.serverPid);
        return micros.isOk() ? std::optional<uint64_t>(*micros) : std::nullopt;
    };
    LoadPlan plan = row.plan;
    plan.measuringBegins = [&] { before = cpu(); };
    FRESHET_ASSIGN_OR_RETURN(LoadResult result, runLoad(plan));
    row.settle();
    after = cpu();
    print(row, result, before && after ? std::optional(*after - *before) : std::nullopt);
    return result;
}

void WireBench::print(const Row& row,
                      const LoadResult& result,
                      std::optional<uint64_t> serverMicros) {
    const double ops = static_cast<double>(result.latencies.total());
    const double perOp = ops > 0 ? 1 / ops : 0;
    char serverText[32] = "null";
    if (serverMicros) {
        std::snprintf(
            serverText, sizeof(serverText), "%.3f", static_cast<double>(*serverMicros) * perOp);
    }
    const char* format =
        options_.json
            ? R"({"op": "%s", "transport": "%s", "clients": %u, "value_bytes": %zu, "durability": "%s", )"
              R"("seconds": %.3f, "ops": %.0f, "ops_per_s": %.0f, "server_cpu_us_per_op": %s, )"
              R"("client_cpu_us_per_op": %.3f, "p50_us": %.1f, "p99_us": %.1f, )"
              R"("request_bytes": %zu, "reply_bytes": %zu})"
              "\n"
            : "%-5s %-4s %5u clients  value %zu B  %-7s  %.1f s  %.0f ops  %9.0f ops/s  "
              "server %s us/op  client %.3f us/op  p50 %.1f us  p99 %.1f us  "
              "(request %zu B, reply %zu B)\n";
    std::printf(format,
                row.op.c_str(),
                row.plan.connect ? "rdma" : "tcp",
                row.plan.clients,
                options_.valueBytes,
                row.durability.c_str(),
                result.seconds,
                ops,
                ops / result.seconds,
                serverText,
                static_cast<double>(result.clientCpuMicros) * perOp,
                static_cast<double>(result.latencies.quantileNanos(0.5)) / 1e3,
                static_cast<double>(result.latencies.quantileNanos(0.99)) / 1e3,
                row.plan.request.bytes.size(),
                result.replyBytes);
    std::fflush(stdout);
}

}  // namespace

Status runWireBench(const WireOptions& options) {
    return WireBench(options).run();
}

}  // namespace freshet::bench
