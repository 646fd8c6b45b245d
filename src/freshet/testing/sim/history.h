// SPDX-License-Identifier: Apache-2.0
/// Checks what concurrent transactions saw. The workload is list-append: a key's value is a list,
/// and every write appends a unique element, so a list itself shows which transactions wrote in
/// which order. The lists give the dependencies (which transaction overwrote, read or missed which
/// one's write), and snapshot isolation forbids certain cycles of them (Adya's G0 and G1; Cerone
/// and Gotsman: under snapshot isolation every cycle has two anti-dependencies in a row). Any
/// thread, once the history is complete.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace freshet::testing {

struct HistoryOp {
    enum class Kind : uint8_t { kAppend, kRead };
    Kind kind;
    uint32_t key = 0;
    uint32_t element = 0;        // appended
    std::vector<uint32_t> seen;  // by a read; empty: no value

    static HistoryOp append(uint32_t key, uint32_t element) {
        return {Kind::kAppend, key, element, {}};
    }
    static HistoryOp read(uint32_t key, std::vector<uint32_t> seen) {
        return {Kind::kRead, key, 0, std::move(seen)};
    }
};

/// Times are of one clock for all threads; `begin` was read before the snapshot was taken, `end`
/// after the commit returned.
struct HistoryTxn {
    uint64_t begin = 0;
    uint64_t end = 0;
    bool committed = true;  // false: it was rolled back; its reads count all the same
    std::vector<HistoryOp> ops;
};

enum class AnomalyKind : uint8_t {
    kInternal,      // a transaction does not see its own writes, or sees one key in two states
    kGarbage,       // an element that was never written, or appears twice
    kAbortedRead,   // G1a
    kIntermediate,  // G1b: some but not all of a transaction's appends to a key
    kLostUpdate,    // a committed append is missing, or two were made on the same list
    kOrder,         // two lists of a key, neither of which continues the other
    kDirtyWrite,    // G0: a cycle of overwriting
    kCircular,      // G1c: a cycle of overwriting and reading
    kReadSkew,      // G-single: a cycle with one anti-dependency
    kLongFork,      // a cycle with several, no two of them in a row
    kStale,         // one of the last two, if a finished commit must precede a later begin
};

std::string_view anomalyName(AnomalyKind kind);

struct Anomaly {
    AnomalyKind kind;
    std::string text;
};

struct HistoryReport {
    std::vector<Anomaly> anomalies;  // at most some of each kind
    /// Snapshot isolation allows it. A workload that never produces it is not concurrent.
    bool hasWriteSkew = false;

    bool has(AnomalyKind kind) const;
    /// For people; empty when there are no anomalies.
    std::string text() const;
};

HistoryReport checkHistory(const std::vector<HistoryTxn>& history);

}  // namespace freshet::testing
