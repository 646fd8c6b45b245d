// SPDX-License-Identifier: Apache-2.0
/// WorkDone: what an operation has looked at and done so far, for slow query logs, profiles and
/// counters. Operations count anyway; this is made when somebody asks, and no text is made of it
/// before text(). Values; one thread at a time.
#pragma once

#include "freshet/catalog/catalog.h"
#include "freshet/query/spill.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace freshet::query {

/// How documents were found.
struct PlanName {
    std::string_view kind;  // "IXSCAN" and the like, a constant; empty: nothing was looked for
    std::shared_ptr<const catalog::Index> index;  // that kind's
    std::string branches;                         // of several scans, instead
    engine::TreeId usedTree = 0;                  // of the index that was used; 0: none or several

    /// "COLLSCAN", "IDHACK", "IXSCAN { a: 1 }", "IXSCAN { a: 1 }, IXSCAN { b: 1 }".
    std::string text() const;
};

struct WorkDone {
    int64_t keysExamined = 0;
    int64_t docsExamined = 0;
    // Documents of a write; -1: it is no such write.
    int64_t inserted = -1;
    int64_t matched = -1;
    int64_t modified = -1;
    int64_t upserted = -1;
    int64_t deleted = -1;
    bool sortsInMemory = false;
    int64_t spills = 0;  // how often memory was not enough, and what has gone to disk then
    int64_t spilledBytes = 0;
    PlanName plan;

    /// Sums; the plan stays the first one's.
    void add(const WorkDone& other);
    void addSpilled(const SpillCounts& counts);
    /// Without what had been examined `before`, which is an earlier state of the same operation.
    void subtract(const WorkDone& before);
};

}  // namespace freshet::query
