// SPDX-License-Identifier: Apache-2.0
/// WorkDone: what an operation has examined and changed so far, for slow query logs, profiles and
/// counters. Operations keep the counts anyway; a WorkDone is made only on request, and its plan
/// becomes text only in text(). Values; one thread at a time.
#pragma once

#include "freshet/catalog/catalog.h"
#include "freshet/query/spill.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace freshet::query {

/// How the documents were found.
struct PlanName {
    std::string_view kind;  // "IXSCAN" or similar, a constant; empty: no documents were looked for
    std::shared_ptr<const catalog::Index> index;  // the index used, if it is one
    std::string branches;         // the text for several scans; replaces kind and index
    engine::TreeId usedTree = 0;  // of the index that was used; 0: none or several

    /// "COLLSCAN", "IDHACK", "IXSCAN { a: 1 }", "IXSCAN { a: 1 }, IXSCAN { b: 1 }".
    std::string text() const;
};

struct WorkDone {
    int64_t keysExamined = 0;
    int64_t docsExamined = 0;
    // Documents of a write; -1: not a write of this kind.
    int64_t inserted = -1;
    int64_t matched = -1;
    int64_t modified = -1;
    int64_t upserted = -1;
    int64_t deleted = -1;
    bool sortsInMemory = false;
    int64_t spills = 0;  // how often memory was not enough, and how much went to disk
    int64_t spilledBytes = 0;
    PlanName plan;

    /// Adds the counts; the plan stays that of the first.
    void add(const WorkDone& other);
    void addSpilled(const SpillCounts& counts);
    /// Subtracts what had been examined `before`, an earlier state of the same operation.
    void subtract(const WorkDone& before);
};

}  // namespace freshet::query
