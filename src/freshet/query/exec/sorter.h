// SPDX-License-Identifier: Apache-2.0
/// Sorter: puts records (a key and a payload) into order, all of them or only the first few. What
/// does not fit into memory goes to disk as sorted runs, which are merged, in several passes if
/// there are many. Equal keys keep their order of arrival. Not thread-safe.
///
/// INV-1  Runs are in the order of their arrival, also merged ones: only neighbours are merged,
///        and of equal keys the earlier run's come first.
#pragma once

#include "freshet/query/spill/spill_file.h"
#include "freshet/query/spill/spill_task.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::query {

class Sorter {
public:
    /// Keeps only the first `keep` records of the order; 0: all. Holds at most `bytesMax`.
    /// `*counts` is updated with what is spilled; it must outlive the sorter.
    Sorter(uint64_t keep, const MemoryRules& rules, size_t bytesMax, SpillCounts* counts);
    ~Sorter();

    // Each may return WouldBlock: first wait for token(), then call settle().

    /// REQUIRES: settled. WouldBlock: the record was added nevertheless. kLimit
    /// (kMemoryLimitNoDiskUse) when there is no room and the disk may not be used; kNoSpace, kIo.
    Status add(std::string key, std::string_view payload);
    /// Ok when no job is running on another thread (any more).
    Status settle();
    /// No more records follow. Call until it does not return WouldBlock.
    Status finish();
    /// REQUIRES: finished. Sets *isEnd, or gives a record that is valid until the next call.
    /// kCorruption.
    Status next(SpillRecord* record, bool* isEnd);

    const sync::WaitToken& token() const { return task_.token(); }
    /// Of the records in memory.
    uint64_t heldBytes() const { return bytes_; }
    /// Of all records added.
    uint64_t bytesSorted() const { return bytesSorted_; }

private:
    struct Item {
        std::string key;
        uint64_t sequence = 0;
        std::string payload;

        bool operator<(const Item& other) const {
            const int order = key.compare(other.key);
            return order != 0 ? order < 0 : sequence < other.sequence;
        }
        size_t bytes() const { return sizeof(Item) + key.size() + payload.size(); }
    };
    using Items = std::vector<Item>;
    struct Pass;  // some runs being merged into one

    Status spill();
    Status sortItems();
    Status mergePass();
    size_t mergeable(size_t from) const;
    void count();

    const uint64_t keep_;
    const MemoryRules rules_;
    const size_t bytesMax_;
    SpillCounts* const counts_;
    Items items_;  // while only `keep_` are kept: a heap with the last one on top
    size_t bytes_ = 0;
    uint64_t sequence_ = 0;
    uint64_t bytesSorted_ = 0;
    bool isFinished_ = false;
    uint64_t given_ = 0;
    std::string cutoff_;      // records from here on are no longer wanted
    bool hasCutoff_ = false;  // a run holds `keep_` records that come before it

    SpillTask task_;
    std::shared_ptr<Items> sorting_;    // shared with a job
    std::shared_ptr<SpillRun> making_;  // shared with a job
    std::shared_ptr<Pass> pass_;        // shared with a job; between two of its steps unused
    std::shared_ptr<SpillFile> file_;   // of the runs that are being made
    std::vector<SpillRun> runs_;
    size_t passAt_ = 0;                // the run that the pass has reached
    std::shared_ptr<RunMerge> merge_;  // the final merge
};

}  // namespace freshet::query
