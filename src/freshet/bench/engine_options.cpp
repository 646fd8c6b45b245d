// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/engine_options.h"

#include "freshet/bench/arguments.h"

#include <array>
#include <span>

namespace freshet::bench {
namespace {

constexpr std::array<std::string_view, 7> kWorkloads = {
    "read", "mixed", "append", "journal", "spill", "jitter", "beside"};
constexpr std::array<std::string_view, 4> kLevels = {"none", "nosync", "write", "sync"};

template <typename Enum>
Status oneOf(const std::string& text, std::span<const std::string_view> names, Enum* out) {
    std::string all;
    for (size_t i = 0; i < names.size(); ++i) {
        if (text == names[i]) {
            *out = static_cast<Enum>(i);
            return Status::ok();
        }
        all.append(i == 0 ? "" : ", ").append(names[i]);
    }
    return badValue("'" + text + "' is none of " + all);
}

/// An option whose value is a number between two bounds.
template <typename T>
auto bounded(T EngineOptions::*field, uint64_t least, uint64_t most) {
    return [=](EngineOptions* out, const std::string& value) {
        return number(value, least, most, &(out->*field));
    };
}

const Setters<EngineOptions>& engineSetters() {
    static const Setters<EngineOptions> all = {
        {"--workload",
         [](EngineOptions* out, const std::string& value) {
             return oneOf(value, kWorkloads, &out->workload);
         }},
        {"--engines",
         [](EngineOptions* out, const std::string& value) {
             out->engines = splitAtCommas(value);
             return Status::ok();
         }},
        {"--durability",
         [](EngineOptions* out, const std::string& value) {
             return oneOf(value, kLevels, &out->durability);
         }},
        {"--data-dir",
         [](EngineOptions* out, const std::string& value) {
             out->dataDir = value;
             return Status::ok();
         }},
        {"--threads", bounded(&EngineOptions::threads, 1, 512)},
        {"--records", bounded(&EngineOptions::records, 1, 1'000'000'000)},
        {"--value-bytes", bounded(&EngineOptions::valueBytes, 1, 16'000'000)},
        {"--cache-mb", bounded(&EngineOptions::cacheMb, 1, 1'000'000)},
        {"--write-percent", bounded(&EngineOptions::writePercent, 0, 100)},
        {"--seconds",
         [](EngineOptions* out, const std::string& value) {
             FRESHET_RETURN_IF_ERROR(number(value, 1, 3'600, &out->windowMillis));
             out->windowMillis *= 1'000;
             return Status::ok();
         }},
        {"--reps", bounded(&EngineOptions::reps, 1, 1'000)},
        {"--rate", bounded(&EngineOptions::rate, 1, 100'000'000)},
        {"--touch-mb", bounded(&EngineOptions::touchMb, 0, 1'000'000)},
    };
    return all;
}

}  // namespace

std::string_view workloadName(Workload workload) {
    return kWorkloads[static_cast<size_t>(workload)];
}

std::string_view logLevelName(LogLevel level) {
    return kLevels[static_cast<size_t>(level)];
}

std::vector<std::string> argumentsOf(const EngineOptions& options) {
    std::string engines;
    for (const std::string& engine : options.engines) {
        engines.append(engines.empty() ? "" : ",").append(engine);
    }
    std::vector<std::string> arguments = {
        "--workload",      std::string(workloadName(options.workload)),
        "--engines",       engines,
        "--threads",       std::to_string(options.threads),
        "--records",       std::to_string(options.records),
        "--value-bytes",   std::to_string(options.valueBytes),
        "--durability",    std::string(logLevelName(options.durability)),
        "--cache-mb",      std::to_string(options.cacheMb),
        "--write-percent", std::to_string(options.writePercent),
        "--seconds",       std::to_string(options.windowMillis / 1'000),
        "--reps",          std::to_string(options.reps),
        "--rate",          std::to_string(options.rate),
        "--touch-mb",      std::to_string(options.touchMb)};
    if (!options.dataDir.empty()) {
        arguments.insert(arguments.end(), {"--data-dir", options.dataDir});
    }
    if (options.json) {
        arguments.emplace_back("--json");
    }
    return arguments;
}

StatusOr<EngineOptions> parseEngineOptions(const std::vector<std::string>& arguments) {
    EngineOptions out;
    const Flags<EngineOptions> flags = {{"--json", &EngineOptions::json}};
    FRESHET_RETURN_IF_ERROR(parseArguments(arguments, engineSetters(), flags, &out));
    return out;
}

std::string_view engineUsage() {
    return R"(usage: freshet-bench engine [options]
Storage engines side by side, in this process's children; one line per engine and repetition.
  --workload W          read, mixed, append, journal, spill, jitter or beside (default read)
  --engines E[,E...]    default freshet,wiredtiger,rocksdb,lmdb; also map, a std::map with a lock,
                        rocksdb-asks, which looks whether a key is there before it writes to it,
                        and freshet-leader, freshet-mutex: other ways to fill the journal's slots;
                        freshet-rwlock, freshet-hazard: pages behind latches or hazard pointers,
                        each a program beside this one
  --threads N           plain threads, one transaction per operation (default 64)
  --records N           loaded before all but append and journal (default 1000000)
  --value-bytes N       default 100; keys have 8 bytes
  --durability D        of writes: none (no log; default), nosync, write or sync
  --cache-mb N          the engine's memory for data (default 6144)
  --write-percent N     mixed, beside: of the threads; spill, jitter: of the operations
                        (default 50)
  --seconds N           measured time, after a warm-up of a quarter (default 5)
  --reps N              the engines take turns N times (default 1)
  --rate N              jitter: operations a second (default 20000)
  --touch-mb N          touches and frees N MiB of memory before each turn: a virtual machine
                        may have returned unused memory to its host, and the first engine would
                        pay for getting it back (default 0)
  --data-dir DIR        where the engines' temporary files go
  --json                one JSON object a line
)";
}

}  // namespace freshet::bench
