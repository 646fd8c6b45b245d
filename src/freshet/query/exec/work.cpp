// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/work.h"

#include "freshet/bson/json.h"

namespace freshet::query {
namespace {

void addTo(int64_t* sum, int64_t number) {
    if (number >= 0) {
        *sum = (*sum < 0 ? 0 : *sum) + number;
    }
}

}  // namespace

std::string PlanName::text() const {
    if (!branches.empty()) {
        return branches;
    }
    std::string result(kind);
    if (index != nullptr) {
        result += ' ';
        result += bson::toShellText(index->spec.view().find("key"));
    }
    return result;
}

void WorkDone::add(const WorkDone& other) {
    keysExamined += other.keysExamined;
    docsExamined += other.docsExamined;
    addTo(&inserted, other.inserted);
    addTo(&matched, other.matched);
    addTo(&modified, other.modified);
    addTo(&upserted, other.upserted);
    addTo(&deleted, other.deleted);
    sortsInMemory |= other.sortsInMemory;
    spills += other.spills;
    spilledBytes += other.spilledBytes;
    if (plan.kind.empty()) {
        plan = other.plan;
    }
}

void WorkDone::subtract(const WorkDone& before) {
    keysExamined -= before.keysExamined;
    docsExamined -= before.docsExamined;
    spills -= before.spills;
    spilledBytes -= before.spilledBytes;
}

void WorkDone::addSpilled(const SpillCounts& counts) {
    spills += counts.spills;
    spilledBytes += counts.bytes;
}

}  // namespace freshet::query
