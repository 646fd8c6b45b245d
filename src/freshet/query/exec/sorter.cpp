// SPDX-License-Identifier: Apache-2.0
/// Sorting in memory, with a heap when only the first documents are wanted, and on disk.
#include "freshet/query/exec/sorter.h"

#include <algorithm>

namespace freshet::query {
namespace {

constexpr size_t kSortedHereMax = 4096;  // more items are sorted on another thread
constexpr size_t kRunsMergedMax = 16;
constexpr uint64_t kMergeStepBytes = 8u << 20;  // then jobs of other operations get their turn

}  // namespace

struct Sorter::Pass {
    size_t from;
    size_t count;
    RunMerge merge;
    RunWriter out;
    bool isDone = false;

    /// One step. Blocks.
    Status run(const SpillTask::Watch& watch) {
        const uint64_t until = out.bytes() + kMergeStepBytes;
        while (out.bytes() < until && !watch.isAbandoned()) {
            SpillRecord record;
            switch (merge.next(&record)) {
                case RunMerge::Step::kMustFetch:
                    FRESHET_RETURN_IF_ERROR(merge.fetch());
                    break;
                case RunMerge::Step::kRecord:
                    FRESHET_RETURN_IF_ERROR(out.add(record));
                    break;
                case RunMerge::Step::kEnd:
                    isDone = true;
                    return out.finish();
            }
        }
        return Status::ok();
    }
};

Sorter::Sorter(uint64_t keep, const MemoryRules& rules, size_t bytesMax, SpillCounts* counts)
    : keep_(keep), rules_(rules), bytesMax_(bytesMax), counts_(counts) {}

Sorter::~Sorter() = default;

Status Sorter::add(std::string key, std::string_view payload) {
    bytesSorted_ += key.size() + payload.size();
    if (hasCutoff_ && key >= cutoff_) {
        return Status::ok();
    }
    Item item{std::move(key), sequence_++, {}};
    if (keep_ != 0 && items_.size() >= keep_) {
        if (!(item < items_.front())) {
            return Status::ok();
        }
        std::pop_heap(items_.begin(), items_.end());
        bytes_ -= items_.back().bytes();
        items_.pop_back();
    }
    item.payload = std::string(payload);
    bytes_ += item.bytes();
    items_.push_back(std::move(item));
    if (keep_ != 0) {
        std::push_heap(items_.begin(), items_.end());
    }
    return bytes_ > bytesMax_ ? spill() : Status::ok();
}

Status Sorter::spill() {
    if (!rules_.maySpill()) {
        return Status(Code::kLimit,
                      Reason::kMemoryLimitNoDiskUse,
                      "Sort exceeded memory limit of " + std::to_string(bytesMax_) +
                          " bytes, but did not opt in to external sorting.");
    }
    if (keep_ != 0 && items_.size() >= keep_) {
        cutoff_ = items_.front().key;  // later records with the same key come after it
        hasCutoff_ = true;
    }
    if (file_ == nullptr) {
        file_ = std::make_shared<SpillFile>(*rules_.space);
    }
    making_ = std::make_shared<SpillRun>();
    auto items = std::make_shared<Items>(std::move(items_));
    items_ = {};
    bytes_ = 0;
    rules_.space->count(SpillSpace::Total::kSortSpills);
    return task_.start(*rules_.space,
                       [items, run = making_, file = file_, block = blockBytesFor(bytesMax_)](
                           const SpillTask::Watch& watch) {
                           std::sort(items->begin(), items->end());
                           RunWriter out(file, block);
                           for (Item& item : *items) {
                               if (watch.isAbandoned()) {
                                   break;
                               }
                               FRESHET_RETURN_IF_ERROR(out.add({item.key, item.payload}));
                               std::string().swap(item.payload);
                           }
                           FRESHET_RETURN_IF_ERROR(out.finish());
                           *run = out.take();
                           return Status::ok();
                       });
}

Status Sorter::settle() {
    FRESHET_RETURN_IF_ERROR(task_.settle());
    if (sorting_ != nullptr) {
        items_ = std::move(*sorting_);
        sorting_ = nullptr;
        isFinished_ = true;
    }
    if (making_ != nullptr) {
        ++counts_->spills;
        counts_->bytes += static_cast<int64_t>(making_->bytes);
        runs_.push_back(std::move(*making_));
        making_ = nullptr;
    }
    if (pass_ != nullptr && pass_->isDone) {
        const auto first = runs_.begin() + static_cast<ptrdiff_t>(pass_->from);
        *first = pass_->out.take();
        counts_->bytes += static_cast<int64_t>(first->bytes);
        runs_.erase(first + 1, first + static_cast<ptrdiff_t>(pass_->count));
        passAt_ = pass_->from + 1;
        pass_ = nullptr;
    }
    return Status::ok();
}

Status Sorter::sortItems() {
    if (items_.size() <= kSortedHereMax || rules_.space == nullptr) {
        std::sort(items_.begin(), items_.end());
        isFinished_ = true;
        return Status::ok();
    }
    sorting_ = std::make_shared<Items>(std::move(items_));
    return task_.start(*rules_.space, [items = sorting_](const SpillTask::Watch&) {
        std::sort(items->begin(), items->end());
        return Status::ok();
    });
}

/// How many runs, from that one on, can be merged at once: a block of each is in memory then.
size_t Sorter::mergeable(size_t from) const {
    size_t count = 0;
    uint64_t bytes = 0;
    while (from + count < runs_.size() && count < kRunsMergedMax) {
        bytes += runs_[from + count].largestBlock;
        if (count >= 2 && bytes > bytesMax_) {
            break;
        }
        ++count;
    }
    return count;
}

/// REQUIRES: several runs.
Status Sorter::mergePass() {
    if (pass_ == nullptr) {
        if (passAt_ == 0 || passAt_ + 1 >= runs_.size()) {
            passAt_ = 0;  // a pass begins; the previous pass's file is freed with its last run
            file_ = std::make_shared<SpillFile>(*rules_.space);
        }
        const size_t count = mergeable(passAt_);
        const auto first = runs_.begin() + static_cast<ptrdiff_t>(passAt_);
        pass_ = std::make_shared<Pass>(
            Pass{passAt_,
                 count,
                 RunMerge(std::vector<SpillRun>(first, first + static_cast<ptrdiff_t>(count))),
                 RunWriter(file_, blockBytesFor(bytesMax_))});
    }
    return task_.start(*rules_.space,
                       [pass = pass_](const SpillTask::Watch& watch) { return pass->run(watch); });
}

Status Sorter::finish() {
    FRESHET_RETURN_IF_ERROR(settle());
    if (isFinished_) {
        return Status::ok();
    }
    if (runs_.empty()) {
        count();
        return sortItems();
    }
    if (!items_.empty()) {
        return spill();
    }
    if (pass_ != nullptr || mergeable(0) < runs_.size()) {
        return mergePass();
    }
    count();
    merge_ = std::make_shared<RunMerge>(std::move(runs_));
    isFinished_ = true;
    return Status::ok();
}

void Sorter::count() {
    if (rules_.space != nullptr) {
        rules_.space->count(SpillSpace::Total::kKeysSorted, sequence_);
        rules_.space->count(SpillSpace::Total::kBytesSorted, bytesSorted_);
    }
}

Status Sorter::next(SpillRecord* record, bool* isEnd) {
    FRESHET_RETURN_IF_ERROR(settle());
    *isEnd = false;
    if (merge_ == nullptr) {
        if (given_ > 0 && given_ <= items_.size()) {
            std::string().swap(items_[given_ - 1].payload);  // the reader is done with it
        }
        if (given_ >= items_.size()) {
            *isEnd = true;
            return Status::ok();
        }
        const Item& item = items_[given_++];
        *record = {item.key, item.payload};
        return Status::ok();
    }
    RunMerge::Step step = RunMerge::Step::kEnd;
    if (keep_ == 0 || given_ < keep_) {
        step = merge_->next(record);
    }
    if (step == RunMerge::Step::kMustFetch) {
        return task_.start(*rules_.space,
                           [merge = merge_](const SpillTask::Watch&) { return merge->fetch(); });
    }
    given_ += step == RunMerge::Step::kRecord ? 1 : 0;
    *isEnd = step == RunMerge::Step::kEnd;
    return Status::ok();
}

}  // namespace freshet::query
