// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/wire_bench.h"

#include "freshet/bench/load.h"
#include "freshet/bench/load/idle_crowd.h"
#include "freshet/bench/processes.h"
#include "freshet/bench/requests.h"
#include "freshet/bench/wire/meter.h"
#include "freshet/bench/wire/model.h"
#include "freshet/bench/wire/subject.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"

#include <cstdio>
#include <map>
#include <optional>

namespace freshet::bench {
namespace {

struct Row {
    std::string op;
    std::string durability = "none";
    uint64_t valueBytes = 0;
    LoadPlan plan;
    int64_t serverPid = 0;                    // 0: unknown
    client::Connection* forStages = nullptr;  // null: no stages wanted
    /// Called before the server's processor time is read for the last time.
    std::function<void()> settle = [] {};
};

class WireBench {
public:
    explicit WireBench(const WireOptions& options) : options_(options) {}
    Status run();

private:
    Status preload(uint64_t valueBytes);
    Status measureAll();
    Status measureSize(uint64_t valueBytes);
    /// Opens the idle connections and reports how much memory the server holds for each.
    Status fillWithIdle();
    Row rowFor(const std::string& op,
               const std::string& durability,
               uint64_t valueBytes,
               unsigned clients);
    Status measureOp(const std::string& op, const std::string& durability, uint64_t valueBytes);
    Status measureEcho(const Row& of, size_t replyBytes);
    StatusOr<LoadResult> measure(const Row& row);
    void print(const Row& row, const LoadResult& result, const ServerWork& work);
    /// The server's processor time of an operation less that of the last ping with as many
    /// clients; empty: there was none.
    std::optional<double> overPing(const Row& row, const ServerWork& work, double ops);
    LoadPlan planFor(unsigned clients) const;

    const WireOptions& options_;
    std::unique_ptr<Subject> subject_;
    uint64_t nextId_ = 0;
    IdleCrowd crowd_;
    std::optional<uint64_t> preloadedBytes_;
    std::map<unsigned, double> pingMicros_;  // of the last ping, by clients
};

Status WireBench::run() {
    FRESHET_ASSIGN_OR_RETURN(subject_, Subject::make(options_));
    // Inserts into a server that was measured before must not collide with their own ids.
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
    for (uint64_t valueBytes : options_.valueBytes) {
        FRESHET_RETURN_IF_ERROR(measureSize(valueBytes));
    }
    return Status::ok();
}

Status WireBench::measureSize(uint64_t valueBytes) {
    for (const std::string& op : options_.ops) {
        if ((op == "get" || op == "mixed") && preloadedBytes_ != valueBytes) {
            FRESHET_RETURN_IF_ERROR(preload(valueBytes));
            preloadedBytes_ = valueBytes;
        }
        const bool writes = op != "get" && op != "ping";
        for (const std::string& durability :
             writes ? options_.durabilities : std::vector<std::string>{"none"}) {
            FRESHET_RETURN_IF_ERROR(op == "model"
                                        ? measureModel(options_, *subject_, valueBytes, durability)
                                        : measureOp(op, durability, valueBytes));
        }
    }
    return Status::ok();
}

Status WireBench::fillWithIdle() {
    const auto resident = [this] {
        StatusOr<uint64_t> bytes = residentBytesOf(subject_->pid());
        return bytes.isOk() ? static_cast<double>(*bytes) : 0.0;
    };
    raiseFileLimit();
    const double before = resident();
    FRESHET_RETURN_IF_ERROR(
        crowd_.come(subject_->where().host,
                    subject_->where().port,
                    options_.idle,
                    getRequest(recordsFor(options_, options_.valueBytes.front()))));
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

Status WireBench::preload(uint64_t valueBytes) {
    const std::string drop = bson::Builder().add("drop", kGetCollection).finish();
    // A collection that does not exist yet is fine too.
    (void)subject_->connection().run(kDatabase, bson::Document(drop));
    const uint64_t records = recordsFor(options_, valueBytes);
    const uint64_t batch = std::max<uint64_t>(1, 4'000'000 / (valueBytes + 64));
    for (uint64_t from = 0; from < records; from += batch) {
        const std::string command =
            preloadCommand(from, std::min(from + batch, records), valueBytes);
        FRESHET_ASSIGN_OR_RETURN(
            bson::OwnedDocument reply,
            subject_->connection().runChecked(kDatabase, bson::Document(command)));
        if (reply.view().has("writeErrors")) {
            return Status(Code::kIo, "The records could not be loaded");
        }
    }
    // Gets read data at rest: a checkpoint during one row would be charged to it.
    const std::string sync = bson::Builder().add("fsync", int32_t{1}).finish();
    return subject_->connection().runChecked("admin", bson::Document(sync)).status();
}

LoadPlan WireBench::planFor(unsigned clients) const {
    LoadPlan plan;
    if (subject_->isRdma()) {
        plan.connect = [this] { return subject_->rdmaSession(); };
    }
    plan.host = subject_->where().host;
    plan.port = subject_->where().port;
    plan.clients = clients;
    plan.threads = options_.threads;
    plan.isBlocking = options_.driver;
    plan.millis = options_.seconds * 1'000u;
    plan.warmUpMillis = plan.millis / 4;
    return plan;
}

Row WireBench::rowFor(const std::string& op,
                      const std::string& durability,
                      uint64_t valueBytes,
                      unsigned clients) {
    Row row;
    row.op = op;
    row.durability = durability;
    row.valueBytes = valueBytes;
    row.plan = planFor(clients);
    row.serverPid = subject_->pid();
    row.forStages = options_.stages ? &subject_->connection() : nullptr;
    const RequestTemplate get = getRequest(recordsFor(options_, valueBytes));
    if (op == "get" || op == "ping") {
        row.plan.request = op == "get" ? get : pingRequest();
        return row;
    }
    const auto request = op == "retryable" ? retryableRequest : putRequest;
    row.plan.request = request(valueBytes, durability == "durable", nextId_);
    if (op == "mixed") {
        row.plan.request.other = std::make_shared<const RequestTemplate>(get);
        row.plan.request.otherPercent = 100 - options_.putPercent;
    }
    // What inserts leave to be written counts as their cost, if the server supports fsync.
    row.settle = [this] {
        const std::string command = bson::Builder().add("fsync", int32_t{1}).finish();
        (void)subject_->connection().run("admin", bson::Document(command));
    };
    return row;
}

Status WireBench::measureOp(const std::string& op,
                            const std::string& durability,
                            uint64_t valueBytes) {
    for (unsigned clients : options_.clients) {
        const Row row = rowFor(op, durability, valueBytes, clients);
        FRESHET_ASSIGN_OR_RETURN(LoadResult result, measure(row));
        nextId_ += result.idsUsed + clients;
        if (options_.withEcho) {
            FRESHET_RETURN_IF_ERROR(measureEcho(row, result.replyBytes));
        }
    }
    return Status::ok();
}

std::optional<double> WireBench::overPing(const Row& row, const ServerWork& work, double ops) {
    if (!work.cpuMicros || ops == 0) {
        return std::nullopt;
    }
    const double micros = *work.cpuMicros / ops;
    if (row.op == "ping") {
        pingMicros_[row.plan.clients] = micros;
        return std::nullopt;
    }
    const auto ping = pingMicros_.find(row.plan.clients);
    return ping == pingMicros_.end() ? std::nullopt : std::optional(micros - ping->second);
}

Status WireBench::measureEcho(const Row& of, size_t replyBytes) {
    FRESHET_ASSIGN_OR_RETURN(uint16_t port, freePort());
    FRESHET_ASSIGN_OR_RETURN(ChildProcess echo,
                             ChildProcess::start({programFolder() + "/freshet-bench",
                                                  "echo-server",
                                                  std::to_string(port),
                                                  std::to_string(replyBytes)},
                                                 subject_->folder() + "/echo.log"));
    constexpr int kTries = 200;
    Row row;
    row.op = "echo";
    row.valueBytes = of.valueBytes;
    row.plan = planFor(of.plan.clients);
    row.plan.port = port;
    row.plan.request = echoRequest(of.plan.request.bytes.size());
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
    Meter meter(row.serverPid, row.forStages, subject_->isRdma());
    LoadPlan plan = row.plan;
    plan.measuringBegins = [&] { meter.begin(); };
    FRESHET_ASSIGN_OR_RETURN(LoadResult result, runLoad(plan));
    const ServerWork work = meter.end(row.settle);
    print(row, result, work);
    return result;
}

void WireBench::print(const Row& row, const LoadResult& result, const ServerWork& work) {
    const double ops = static_cast<double>(result.latencies.total());
    const double perOp = ops > 0 ? 1 / ops : 0;
    std::string server = options_.json ? work.json(ops, options_.stages) : work.cpuText(ops);
    if (const std::optional<double> over = overPing(row, work, ops)) {
        char text[64];
        std::snprintf(text,
                      sizeof(text),
                      options_.json ? R"(, "over_ping_us_per_op": %.3f)" : " (ping %+.3f)",
                      *over);
        server += text;
    }
    const char* format =
        options_.json
            ? R"({"op": "%s", "transport": "%s", "clients": %u, "value_bytes": %llu, "durability": "%s", )"
              R"("seconds": %.3f, "ops": %.0f, "ops_per_s": %.0f%s, )"
              R"("client_cpu_us_per_op": %.3f, "mean_us": %.1f, "p50_us": %.1f, "p99_us": %.1f, )"
              R"("request_bytes": %zu, "reply_bytes": %zu})"
              "\n"
            : "%-5s %-4s %5u clients  value %llu B  %-7s  %.1f s  %.0f ops  %9.0f ops/s  "
              "server %s us/op  client %.3f us/op  mean %.1f us  p50 %.1f us  p99 %.1f us  "
              "(request %zu B, reply %zu B)\n";
    std::printf(format,
                row.op.c_str(),
                subject_->transport().data(),
                row.plan.clients,
                static_cast<unsigned long long>(row.valueBytes),
                row.durability.c_str(),
                result.seconds,
                ops,
                ops / result.seconds,
                server.c_str(),
                static_cast<double>(result.clientCpuMicros) * perOp,
                result.latencies.meanNanos() / 1e3,
                static_cast<double>(result.latencies.quantileNanos(0.5)) / 1e3,
                static_cast<double>(result.latencies.quantileNanos(0.99)) / 1e3,
                row.plan.request.bytes.size(),
                result.replyBytes);
    if (row.forStages != nullptr && !options_.json) {
        std::printf("      %s\n", work.stagesText(ops).c_str());
    }
    std::fflush(stdout);
}

}  // namespace

Status runWireBench(const WireOptions& options) {
    return WireBench(options).run();
}

}  // namespace freshet::bench
