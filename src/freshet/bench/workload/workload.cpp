// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/workload/workload.h"

#include "freshet/bench/workload/worker.h"

#include <cstdio>

namespace freshet::bench {
namespace {

bool startsEmpty(Workload workload) {
    return workload == Workload::kAppend || workload == Workload::kJournal;
}

std::string perOp(std::optional<uint64_t> nanos, uint64_t count) {
    if (!nanos || count == 0) {
        return "null";
    }
    char text[32];
    std::snprintf(
        text, sizeof(text), "%.3f", static_cast<double>(*nanos) / 1e3 / static_cast<double>(count));
    return text;
}

}  // namespace

void addTo(std::optional<uint64_t>* sum, std::optional<uint64_t> more) {
    if (more) {
        *sum = sum->value_or(0) + *more;
    }
}

void Tally::merge(const Tally& other) {
    reads += other.reads;
    writes += other.writes;
    addTo(&readCpuNanos, other.readCpuNanos);
    addTo(&writeCpuNanos, other.writeCpuNanos);
    latencies.merge(other.latencies);
    addTo(&stalls, other.stalls);
    addTo(&diskStalls, other.diskStalls);
    addTo(&hostStalls, other.hostStalls);
}

unsigned writePercentOf(const EngineOptions& options) {
    return options.workload == Workload::kRead ? 0
           : startsEmpty(options.workload)     ? 100
                                               : options.writePercent;
}

unsigned writersOf(const EngineOptions& options) {
    return options.threads * options.writePercent / 100;
}

bool keysAscend(const EngineOptions& options) {
    return options.workload == Workload::kBeside;
}

void waitUntilReady(const Shared& shared, size_t threads) {
    // [ready.read] relaxed: see [ready.add].
    while (shared.ready.load(sync::kRelaxed) < threads) {
        platform::sleepMillis(1);
    }
}

Status stopAll(Shared* shared, const Workers& workers) {
    // [phase.write] relaxed: see [phase.read].
    shared->phase.store(Phase::kStop, sync::kRelaxed);
    Status first;
    for (const std::unique_ptr<Worker>& worker : workers) {
        Status status = worker->join();
        first = first.isOk() ? status : first;
    }
    return first;
}

Status checkCount(const EngineOptions& options, Engine* engine, const Workers& workers) {
    uint64_t expected = startsEmpty(options.workload) ? 0 : options.records;
    for (const std::unique_ptr<Worker>& worker : workers) {
        expected += worker->inserted;
    }
    FRESHET_ASSIGN_OR_RETURN(std::unique_ptr<EngineSession> session, engine->session());
    uint64_t found = 0;
    FRESHET_RETURN_IF_ERROR(session->scan([&found](ByteView, ByteView) { ++found; }));
    return found == expected ? Status::ok()
                             : Status(Code::kCorruption,
                                      "holds " + std::to_string(found) + " records instead of " +
                                          std::to_string(expected));
}

StatusOr<std::vector<EngineResult>> runWorkload(const EngineOptions& options, Engine* engine) {
    if (!startsEmpty(options.workload)) {
        KeyMaker keys(keysAscend(options));
        ValueMaker values(options.valueBytes, 0);
        FRESHET_RETURN_IF_ERROR(
            engine->fill(options.records, [&](uint64_t i, ByteView* key, ByteView* value) {
                *key = keys.key(i);
                *value = values.next();
            }));
    }
    if (options.workload == Workload::kJitter) {
        return runJitter(options, engine);
    }
    if (options.workload == Workload::kBeside) {
        return runBeside(options, engine);
    }
    FRESHET_ASSIGN_OR_RETURN(EngineResult result, runClosedLoop(options, engine));
    return std::vector<EngineResult>{std::move(result)};
}

std::string lineOf(const EngineOptions& options,
                   std::string_view engine,
                   LogLevel level,
                   const EngineResult& result) {
    const uint64_t ops = result.reads + result.writes;
    const auto rate = [&](uint64_t count) { return static_cast<double>(count) / result.seconds; };
    const auto micros = [&](double quantile) {
        return static_cast<double>(result.latencies.quantileNanos(quantile)) / 1e3;
    };
    char text[768];
    std::snprintf(
        text,
        sizeof(text),
        options.json
            ? R"({"engine": "%s", "workload": "%s", "threads": %u, "value_bytes": %zu, )"
              R"("durability": "%s", "write_percent": %u, "ops_per_s": %.0f, )"
              R"("reads_per_s": %.0f, "writes_per_s": %.0f, "cpu_us_per_op": %s, )"
              R"("cpu_us_per_read": %s, "cpu_us_per_write": %s, "p50_us": %.2f, )"
              R"("p99_us": %.2f, "p999_us": %.2f, "max_us": %.2f, "flushes": %llu, )"
              R"("rss_mb": %.0f)"
            : "%-12s %-8s %3u threads  %zu B  %-6s  %u%% writes  %9.0f ops/s (%.0f reads, %.0f "
              "writes)  CPU us/op %s (read %s, write %s)  us p50 %.2f p99 %.2f p99.9 %.2f max "
              "%.2f  %llu flushes  %.0f MB",
        std::string(engine).c_str(),
        result.workload.c_str(),
        options.threads,
        options.valueBytes,
        std::string(logLevelName(level)).c_str(),
        writePercentOf(options),
        rate(ops),
        rate(result.reads),
        rate(result.writes),
        perOp(result.cpuMicros * 1'000, ops).c_str(),
        perOp(result.readCpuNanos, result.reads).c_str(),
        perOp(result.writeCpuNanos, result.writes).c_str(),
        micros(0.5),
        micros(0.99),
        micros(0.999),
        micros(1),
        static_cast<unsigned long long>(result.flushes),
        static_cast<double>(result.residentBytes) / (1 << 20));
    std::string line = text;
    if (result.stalls) {
        const std::string stalls = std::to_string(*result.stalls);
        const std::string disk = std::to_string(result.diskStalls.value_or(0));
        const std::string host = std::to_string(result.hostStalls.value_or(0));
        line += options.json
                    ? R"(, "stalls": )" + stalls + R"(, "disk_stalls": )" + disk +
                          R"(, "host_stalls": )" + host
                    : "  " + stalls + " stalls, " + disk + " by the disk, " + host + " by the host";
    }
    return options.json ? line + "}" : line;
}

}  // namespace freshet::bench
