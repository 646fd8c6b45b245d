// SPDX-License-Identifier: Apache-2.0
/// Statistics of commands: how many, how long, on which collections. Kept in stripes, one for each
/// of the first threads, so that reactors share neither a cache line nor a lock. Any thread.
#pragma once

#include "freshet/command/registry.h"
#include "freshet/command/run/stripes.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/mutex.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace freshet::command {

/// How opLatencies and top classify operations.
enum class LatencyClass : uint8_t { kReads, kWrites, kCommands };
LatencyClass latencyClassOf(const Command& command);

/// A number of operations and the time that they took.
struct Effort {
    uint64_t count = 0;
    uint64_t micros = 0;
    void add(uint64_t byMicros) {
        ++count;
        micros += byMicros;
    }
    void add(const Effort& other) {
        count += other.count;
        micros += other.micros;
    }
};

/// What top shows of a collection.
struct Top {
    Effort total;
    std::array<Effort, 3> classes;  // by LatencyClass
    std::array<Effort, 6> kinds;    // by OpKind
    const Effort& of(LatencyClass kind) const { return classes[static_cast<size_t>(kind)]; }
    struct IndexUse {
        uint32_t tree = 0;  // the index's; no other index ever has the same
        uint64_t count = 0;
    };
    std::vector<IndexUse> indexes;
    void add(const Top& other);
    void addIndexUse(uint32_t tree, uint64_t count);
    uint64_t usesOf(uint32_t tree) const;
};

/// Counters of serverStatus besides those by command.
enum class Counter : uint8_t {
    kDocumentsInserted,
    kDocumentsReturned,
    kDocumentsUpdated,
    kDocumentsDeleted,
    kKeysExamined,
    kDocsExamined,
    kCursorsTimedOut,
    kCursorsOpened,
    kTtlPasses,
    kTtlDeleted,
    kUserErrors,
    kKilledByTimeLimit,
    kCount_
};

class Statistics {
public:
    explicit Statistics(size_t commandCount);

    /// An operation has ended. `command`: its index in the registry.
    void ended(size_t command, LatencyClass kind, uint64_t micros, bool hasFailed);
    /// It was on that collection. `usedTree`: of the index by which it found its documents; 0:
    /// none.
    void touched(std::string_view db,
                 std::string_view collection,
                 OpKind kind,
                 LatencyClass latency,
                 uint64_t micros,
                 uint32_t usedTree);
    void add(Counter counter, uint64_t by = 1);

    struct CommandTotals {
        uint64_t total = 0;
        uint64_t failed = 0;
    };
    CommandTotals ofCommand(size_t command) const;
    Effort latency(LatencyClass kind) const;
    uint64_t total(Counter counter) const;
    std::map<std::string, Top> top() const;
    /// That collection's numbers; empty when it was not used.
    Top topOf(const std::string& ns) const;

private:
    /// For one stripe. Beyond it, the half that was used least is forgotten.
    static constexpr size_t kCollectionsMax = 10'000;
    static constexpr size_t kNamespaceBytesMax = 512;  // longer names are not of collections

    /// Cells are written by StripePlace::bump().
    struct alignas(sync::kLineBytes) Stripe {
        std::vector<sync::Atomic<uint64_t>> commands;  // total and failed of each
        std::array<sync::Atomic<uint64_t>, 6> latencies{};
        std::array<sync::Atomic<uint64_t>, static_cast<size_t>(Counter::kCount_)> counters{};
        mutable sync::Mutex mutex;
        // All three guarded by mutex:
        std::unordered_map<std::string, Top> top;
        std::string ns;       // the namespace looked up last
        Top* last = nullptr;  // its entry
        /// Null: it is not a collection's name.
        Top* lookUp(std::string_view db, std::string_view collection);
        void forgetHalf();
    };
    template <typename Cell>
    uint64_t sum(Cell cell) const;

    std::array<Stripe, StripePlace::kCount> stripes_;
};

}  // namespace freshet::command
