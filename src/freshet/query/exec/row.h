// SPDX-License-Identifier: Apache-2.0
/// What flows between the steps of a running query, and how much may flow before other operations
/// get their turn.
#pragma once

#include "freshet/catalog/documents.h"
#include "freshet/platform/clock.h"

namespace freshet::query {

/// A document on its way. Its bytes are valid until the next call on its source.
struct Row {
    catalog::RecordId id = 0;  // 0: the end
    bson::Document document;
};

inline constexpr uint32_t kDocumentsPerTurn = 128;
inline constexpr uint64_t kTurnNanos = 500'000;

/// How much the query has done since it last let others run.
class Turn {
public:
    void start() {
        examined_ = 0;
        startedNanos_ = platform::monotonicNanos();
    }
    /// Counts one document or index entry examined; true if it was the last of this turn.
    bool isOver() {
        // Checks the clock every time: a single document may be 16 MiB of work.
        return ++examined_ >= kDocumentsPerTurn ||
               platform::monotonicNanos() - startedNanos_ > kTurnNanos;
    }

private:
    uint32_t examined_ = 0;
    uint64_t startedNanos_ = 0;
};

}  // namespace freshet::query
