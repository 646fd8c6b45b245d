// SPDX-License-Identifier: Apache-2.0
/// The command line of `freshet-bench engine`.
#pragma once

#include "freshet/base/status.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::bench {

enum class Workload : uint8_t {
    kRead,     // point reads of random keys, all in memory
    kMixed,    // some threads read while others insert
    kAppend,   // inserts with ascending record ids
    kJournal,  // inserts with random keys: what the log costs
    kSpill,    // reads and overwrites of more data than the cache holds
    kJitter,   // a fixed rate of reads and overwrites, with a checkpoint in every other window
    kBeside    // reads of resident records while writers cause page faults in every other window
};

inline constexpr std::array kAllWorkloads = {Workload::kRead,
                                             Workload::kMixed,
                                             Workload::kAppend,
                                             Workload::kJournal,
                                             Workload::kSpill,
                                             Workload::kJitter,
                                             Workload::kBeside};

/// When a write is acknowledged.
enum class LogLevel : uint8_t {
    kNone,    // there is no log
    kNoSync,  // its log record is in memory
    kWrite,   // its log record was handed to the operating system
    kSync     // its log record is on stable storage
};

std::string_view workloadName(Workload workload);
std::string_view logLevelName(LogLevel level);

struct EngineOptions {
    Workload workload = Workload::kRead;
    std::vector<std::string> engines{"freshet", "wiredtiger", "rocksdb", "lmdb"};
    unsigned threads = 64;
    uint64_t records = 1'000'000;  // loaded before the measured time; not for append and journal
    size_t valueBytes = 100;
    LogLevel durability = LogLevel::kNone;
    uint64_t cacheMb = 6'144;
    unsigned writePercent =
        50;  // of the threads in mixed and beside, of the operations in spill and jitter
    uint64_t windowMillis = 5'000;  // measured time, after a warm-up of a quarter of it
    unsigned reps = 1;
    uint64_t rate = 20'000;  // jitter: operations a second of all threads together
    bool json = false;
    uint64_t touchMb = 0;  // of memory, before each turn
    std::string dataDir;   // where the engines' files go; empty: the system's temporary folder
};

/// The arguments from which parseEngineOptions() makes the same options.
std::vector<std::string> argumentsOf(const EngineOptions& options);

/// Parses `arguments`, which follow the word "engine". Returns kInvalid with a text for the user.
StatusOr<EngineOptions> parseEngineOptions(const std::vector<std::string>& arguments);

std::string_view engineUsage();

}  // namespace freshet::bench
