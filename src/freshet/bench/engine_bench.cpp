// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/engine_bench.h"

#include "freshet/bench/processes.h"
#include "freshet/bench/workload/workload.h"

#include <cstdio>

namespace freshet::bench {
namespace {

StatusOr<std::vector<const EngineKind*>> chosenEngines(const EngineOptions& options) {
    std::vector<const EngineKind*> chosen;
    for (const std::string& name : options.engines) {
        FRESHET_ASSIGN_OR_RETURN(const EngineKind* kind, engineKind(name));
        if (std::string_view why = kind->refusal(options.workload); !why.empty()) {
            return Status(Code::kUnsupported,
                          name + " cannot run " + std::string(workloadName(options.workload)) +
                              ": " + std::string(why));
        }
        chosen.push_back(kind);
    }
    return chosen;
}

/// Runs in the child. The engine is not closed: ending the process is faster.
StatusOr<std::string> measure(const EngineOptions& options,
                              const EngineKind& kind,
                              const std::string& directory) {
    const LogLevel level = kind.levelFor(options.durability);
    EngineSetup setup;
    setup.directory = directory;
    setup.durability = level;
    setup.cacheMb = options.cacheMb;
    setup.threads = options.threads;
    setup.directIo = options.workload == Workload::kSpill ||
                     options.workload == Workload::kBeside || options.workload == Workload::kJitter;
    setup.checkpointsByHand = options.workload == Workload::kJitter;
    FRESHET_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, kind.open(setup));
    StatusOr<std::vector<EngineResult>> results = runWorkload(options, engine.release());
    FRESHET_RETURN_IF_ERROR(results.status());
    std::string lines;
    for (const EngineResult& result : *results) {
        lines += lineOf(options, kind.name, level, result) + "\n";
    }
    return lines;
}

/// Starts the program that contains the engine; it runs the engine in a child of its own. REQUIRES:
/// touchMemory() has run.
StatusOr<std::string> measureElsewhere(EngineOptions options, const EngineKind& kind) {
    options.engines = {std::string(kind.name)};
    options.reps = 1;
    options.touchMb = 0;
    std::vector<std::string> arguments = argumentsOf(options);
    arguments.insert(arguments.begin(),
                     {programFolder() + "/" + std::string(kind.otherProgram()), "engine"});
    return outputOf(arguments);
}

/// Runs in a child, whose end frees the memory.
Status touchMemory(uint64_t megabytes) {
    constexpr unsigned kSecondsMax = 600;
    if (megabytes == 0) {
        return Status::ok();
    }
    const auto touch = [&]() -> StatusOr<std::string> {
        const std::string memory(megabytes << 20, 'x');
        return memory.substr(memory.size() / 2, 1);
    };
    return runInChild(touch, kSecondsMax).status();
}

}  // namespace

Status runEngineBench(const EngineOptions& options) {
    FRESHET_ASSIGN_OR_RETURN(std::vector<const EngineKind*> engines, chosenEngines(options));
    // Loading and counting take time as well; only an engine that hangs takes this long.
    const unsigned secondsMax = 600 + static_cast<unsigned>(options.windowMillis / 1'000) * 3;
    for (unsigned rep = 0; rep < options.reps; ++rep) {
        for (const EngineKind* kind : engines) {
            FRESHET_RETURN_IF_ERROR(touchMemory(options.touchMb));
            FRESHET_ASSIGN_OR_RETURN(auto folder, TemporaryFolder::make(options.dataDir));
            StatusOr<std::string> lines =
                !kind->otherProgram().empty()
                    ? measureElsewhere(options, *kind)
                    : runInChild([&] { return measure(options, *kind, folder->path()); },
                                 secondsMax);
            if (!lines.isOk()) {
                return std::move(lines).status().withContext(std::string(kind->name));
            }
            std::fputs(lines->c_str(), stdout);
            std::fflush(stdout);
        }
    }
    return Status::ok();
}

}  // namespace freshet::bench
