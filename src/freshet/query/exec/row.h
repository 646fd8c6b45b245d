// SPDX-License-Identifier: Apache-2.0
/// What flows between the steps of a running query, and how much of it may flow before others get
/// their turn.
#pragma once

#include "freshet/catalog/documents.h"
#include "freshet/platform/clock.h"

namespace freshet::query {

/// A document on its way. Its bytes are valid until the next call on where it came from.
struct Row {
    catalog::RecordId id = 0;  // 0: there are no more
    bson::Document document;
};

inline constexpr uint32_t kDocumentsPerTurn = 128;
inline constexpr uint64_t kTurnNanos = 500'000;

/// How long the query has been at it since it last let others run.
class Turn {
public:
    void start() {
        examined_ = 0;
        startedNanos_ = platform::monotonicNanos();
    }
    /// Counts one document or index entry looked at; true when it was the last of this turn.
    bool isOver() {
        // The clock at every one: a single document may be 16 MiB of work.
        return ++examined_ >= kDocumentsPerTurn ||
               platform::monotonicNanos() - startedNanos_ > kTurnNanos;
    }

private:
    uint32_t examined_ = 0;
    uint64_t startedNanos_ = 0;
};

}  // namespace freshet::query
