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
#else
constexpr decltype(&openRocksDb) kRocksDb = nullptr;
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
/// Variants of the journal need one.
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

constexpr std::array<EngineKind, 7> kKinds = {{
    {"freshet", openFreshet, asAsked, takesAll},
    {"freshet-leader", openFreshetLeader, logAlways, refusalOfVariant},
    {"freshet-mutex", openFreshetMutex, logAlways, refusalOfVariant},
    {"wiredtiger", kWiredTiger, asAsked, takesAll},
    {"rocksdb", kRocksDb, asAsked, takesAll},
    {"lmdb", kLmdb, asAsked, refusalOfLmdb},
    {"map", openMap, noLog, refusalOfMap},
}};

}  // namespace

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
