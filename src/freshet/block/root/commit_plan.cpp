// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/root/commit_plan.h"

#include "freshet/block/root/impl.h"

#include <algorithm>

namespace freshet::block {
namespace {

/// Places looked up at a time. Blocks of the map where two batches meet are read twice.
constexpr size_t kBatchPages = 16384;

bool sameImage(const PagePlace& a, const PagePlace& b) {
    return a.extent.firstBlock == b.extent.firstBlock && a.extent.blocks == b.extent.blocks &&
           a.crc == b.crc && a.seqLow == b.seqLow;
}

std::vector<CommitPlan::Planned> inPageOrder(const std::vector<BlockFile::Change>& changes) {
    std::vector<CommitPlan::Planned> planned;
    planned.reserve(changes.size());
    for (const BlockFile::Change& change : changes) {
        planned.push_back({&change, {}});
    }
    auto page = [](const CommitPlan::Planned& one) { return one.change->page; };
    std::sort(planned.begin(), planned.end(), [&](const auto& a, const auto& b) {
        return page(a) < page(b);
    });
    invariant(std::adjacent_find(planned.begin(), planned.end(), [&](const auto& a, const auto& b) {
                  return page(a) == page(b);
              }) == planned.end());
    return planned;
}

}  // namespace

StatusOr<CommitPlan> BlockFile::Impl::plan(const std::vector<Change>& changes) {
    CommitPlan plan;
    plan.next = durable;
    plan.pagesAfter = map.pages();
    plan.changes = inPageOrder(changes);
    size_t kept = 0;
    std::vector<PageMap::Wanted> wanted;
    for (size_t begin = 0; begin < plan.changes.size(); begin += wanted.size()) {
        const size_t end = std::min(begin + kBatchPages, plan.changes.size());
        wanted.clear();
        for (size_t i = begin; i < end; ++i) {
            wanted.push_back({plan.changes[i].change->page, {}, false});
        }
        FRESHET_RETURN_IF_ERROR(map.find(*file, &wanted));
        for (size_t i = begin; i < end; ++i) {
            const Change* const change = plan.changes[i].change;
            if (const auto before = planChange(*change, wanted[i - begin].place, &plan)) {
                plan.changes[kept++] = {change, *before};
            }
        }
    }
    plan.changes.resize(kept);
    return plan;
}

std::optional<Extent> BlockFile::Impl::planChange(const Change& change,
                                                  const PagePlace& old,
                                                  CommitPlan* plan) {
    const bool gone = change.place.extent.blocks == 0;
    const bool isNew = old.extent.blocks == 0;
    const bool same = !isNew && sameImage(old, change.place);
    if (gone ? isNew : same && old.note == change.place.note) {
        return std::nullopt;
    }
    if (!gone && !same) {
        auto image = unnamed.find(change.place.extent.firstBlock);
        invariant(image != unnamed.end());
        invariant(image->second.blocks == change.place.extent.blocks);
        if (image->second.flushNo == nextFlushNo) {
            plan->late.push_back(&change);
        }
    }
    plan->pagesAfter += (gone ? 0 : 1) - (isNew ? 0 : 1);
    // Another note for the same image frees nothing.
    return same ? Extent{} : old.extent;
}

}  // namespace freshet::block
