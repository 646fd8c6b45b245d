// SPDX-License-Identifier: Apache-2.0
/// The server's parameters: what getParameter shows and setParameter changes, with their types and
/// bounds. Values are read at each use, so a change takes effect at once. Any thread.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/sync/atomic.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::command {

/// The values that can change while the server runs. Written by: start, setParameter. Read by: the
/// code that they control.
///   ORDER    relaxed everywhere: each stands for itself
struct ParameterValues {
    sync::Atomic<int64_t> cursorTimeoutMillis{600'000};
    sync::Atomic<int64_t> ttlMonitorEnabled{1};
    sync::Atomic<int64_t> ttlMonitorSleepSecs{60};
    sync::Atomic<int64_t> sessionTimeoutMinutes{30};
    sync::Atomic<int64_t> transactionLifetimeLimitSeconds{60};
    sync::Atomic<int64_t> writePeriodicNoops{1};
    sync::Atomic<int64_t> periodicNoopIntervalSecs{10};
    sync::Atomic<int64_t> snapshotHistorySeconds{300};
    sync::Atomic<int64_t> enableLocalhostAuthBypass{1};
    sync::Atomic<int64_t> enableTestCommands{0};
    sync::Atomic<int64_t> holdCommitsUntilDurable{0};
    sync::Atomic<int64_t> requireApiVersion{0};
    sync::Atomic<int64_t> quiet{0};
    sync::Atomic<int64_t> logLevel{0};
    sync::Atomic<int64_t> journalCommitInterval{100};
    sync::Atomic<int64_t> slowOpThresholdMs{100};
    sync::Atomic<int64_t> slowOpSamplePpm{1'000'000};  // of a million slow operations, logged
    // What operations may hold in memory: query::MemoryLimits.
    sync::Atomic<int64_t> allowDiskUseByDefault{1};
    sync::Atomic<int64_t> sortBytesMax{100 << 20};
    sync::Atomic<int64_t> groupBytesMax{100 << 20};
    sync::Atomic<int64_t> bucketAutoBytesMax{100 << 20};
    sync::Atomic<int64_t> pushBytesMax{100 << 20};
    sync::Atomic<int64_t> addToSetBytesMax{100 << 20};
    // Of JavaScript: query::JavaScriptRules.
    sync::Atomic<int64_t> scriptHeapMegabytes{100};
    sync::Atomic<int64_t> scriptCallMillis{60'000};

    static int64_t get(const sync::Atomic<int64_t>& value) {
        // [parameter.get] ORDER relaxed: see the struct.
        return value.load(sync::kRelaxed);
    }
    static void set(sync::Atomic<int64_t>& value, int64_t to) {
        // [parameter.set] ORDER relaxed: see the struct.
        value.store(to, sync::kRelaxed);
    }
};

/// If it is set, snapshots of the past can be read also before the first one was asked for.
inline constexpr std::string_view kSnapshotHistoryParameter = "minSnapshotHistoryWindowInSeconds";

/// When a parameter may be set.
enum class Settable : uint8_t { kNowhere, kAtStartup, kAtRuntime, kBoth };

struct Parameter {
    enum class Kind : uint8_t { kBool, kInt, kLong };
    std::string_view name;
    Kind kind;
    Settable settable;
    sync::Atomic<int64_t> ParameterValues::*value;
    int64_t least;
    int64_t most;
};

/// Ordered by name. Parameters that are not numbers are in diag/parameters.cpp.
const std::vector<Parameter>& parameters();
const Parameter* findParameter(std::string_view name);
void addParameterValue(const Parameter& parameter,
                       const ParameterValues& values,
                       std::string_view name,
                       bson::Builder* out);
/// kInvalid when the value has a wrong type or is out of bounds; it may be text, as on the command
/// line.
Status setParameterValue(const Parameter& parameter,
                         const bson::Element& value,
                         ParameterValues* values);

}  // namespace freshet::command
