// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/engines/engine.h"

#include <array>

namespace freshet::bench {
namespace {

// The build defines these for the engines whose headers it found.
#ifdef FRESHET_HAS_WIREDTIGER
constexpr auto kWiredTiger = openWiredTiger;
#else
constexpr decltype(&openWiredTiger) kWiredTiger = nullptr;
#endif
#ifdef FRESHET_HAS_ROCKSDB
constexpr auto kRocksDb = openRocksDb;
constexpr auto kRocksDbAsking = openRocksDbAsking;
#else
constexpr decltype(&openRocksDb) kRocksDb = nullptr;
constexpr decltype(&openRocksDb) kRocksDbAsking = nullptr;
#endif
#ifdef FRESHET_HAS_LMDB
constexpr auto kLmdb = openLmdb;
#else
constexpr decltype(&openLmdb) kLmdb = nullptr;
#endif

LogLevel asAsked(LogLevel wanted) {
    return wanted;
}
LogLevel noLog(LogLevel) {
    return LogLevel::kNone;
}
/// Variants of the journal need a log.
LogLevel logAlways(LogLevel wanted) {
    return wanted == LogLevel::kNone ? LogLevel::kNoSync : wanted;
}

std::string_view takesAll(Workload) {
    return {};
}
std::string_view refusalOfVariant(Workload workload) {
    const bool logged = workload == Workload::kJournal || workload == Workload::kAppend ||
                        workload == Workload::kMixed;
    return logged ? std::string_view() : "this variant differs in the journal only";
}
/// What is not a descent, such as the eviction, has no latches and holds all (tree/page_node.h).
std::string_view refusalOfAccess(Workload workload) {
    const bool evicts = workload == Workload::kSpill || workload == Workload::kJitter ||
                        workload == Workload::kBeside;
    return evicts ? "this variant differs in point reads and writes only" : std::string_view();
}
std::string_view refusalOfLmdb(Workload workload) {
    return workload == Workload::kSpill
               ? "this engine reads through the page cache and has no other way"
               : std::string_view();
}
std::string_view refusalOfMap(Workload workload) {
    return workload == Workload::kSpill    ? "this engine keeps all in memory"
           : workload == Workload::kJitter ? "this engine has no checkpoint"
                                           : std::string_view();
}

constexpr auto kEpochs = engine::PageAccess::kEpochs;
constexpr auto kLatches = engine::PageAccess::kLatches;
constexpr auto kHazards = engine::PageAccess::kHazards;

constexpr std::array<EngineKind, 10> kKinds = {{
    {"freshet", openFreshet, asAsked, takesAll, kEpochs},
    {"freshet-rwlock", openFreshet, asAsked, refusalOfAccess, kLatches},
    {"freshet-hazard", openFreshet, asAsked, refusalOfAccess, kHazards},
    {"freshet-leader", openFreshetLeader, logAlways, refusalOfVariant, kEpochs},
    {"freshet-mutex", openFreshetMutex, logAlways, refusalOfVariant, kEpochs},
    {"wiredtiger", kWiredTiger, asAsked, takesAll},
    {"rocksdb", kRocksDb, asAsked, takesAll},
    {"rocksdb-asks", kRocksDbAsking, asAsked, takesAll},
    {"lmdb", kLmdb, asAsked, refusalOfLmdb},
    {"map", openMap, noLog, refusalOfMap},
}};

}  // namespace

std::string_view EngineKind::otherProgram() const {
    if (!access || *access == engine::pageAccess()) {
        return {};
    }
    return *access == kLatches   ? "freshet-bench-rwlock"
           : *access == kHazards ? "freshet-bench-hazard"
                                 : "freshet-bench";
}

std::span<const EngineKind> engineKinds() {
    return kKinds;
}

StatusOr<const EngineKind*> engineKind(const std::string& name) {
    std::string choice;
    for (const EngineKind& kind : kKinds) {
        if (kind.open != nullptr && kind.name == name) {
            return &kind;
        }
        if (kind.open != nullptr) {
            choice.append(choice.empty() ? "" : ", ").append(kind.name);
        }
    }
    return badValue("'" + name + "' is none of the engines of this build: " + choice);
}

}  // namespace freshet::bench
