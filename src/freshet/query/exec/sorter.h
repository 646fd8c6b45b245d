// SPDX-License-Identifier: Apache-2.0
/// Sorter: keys with what belongs to them, put into order, all of them or the first few. What does
/// not fit into memory goes to disk as sorted runs, which are merged, in several passes when there
/// are many. Equal keys stay in the order of arrival. Not thread-safe.
///
/// INV-1  The runs lie in the order of their arrival, also those that a pass has merged: neighbours
///        are merged, and of equal keys the earlier run's goes first.
#pragma once

#include "freshet/query/spill/spill_file.h"
#include "freshet/query/spill/spill_task.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::query {

class Sorter {
public:
    /// Keeps only the first `keep` of the order; 0: all. Holds `bytesMax`. `*counts` gets what is
    /// spilled; it must outlive the sorter.
    Sorter(uint64_t keep, const MemoryRules& rules, size_t bytesMax, SpillCounts* counts);
    ~Sorter();

    // Each may return WouldBlock: wait for token() first of all, then settle().

    /// REQUIRES: settled. WouldBlock: it was taken all the same. kLimit (kMemoryLimitNoDiskUse)
    /// when there is no room and the disk may not be used; kNoSpace, kIo.
    Status add(std::string key, std::string_view payload);
    /// ok when nothing is being done on another thread (any more).
    Status settle();
    /// No more will be added. Call it until it does not return WouldBlock.
    Status finish();
    /// REQUIRES: finished. *isEnd, or a record that is good until the next call. kCorruption.
    Status next(SpillRecord* record, bool* isEnd);

    const sync::WaitToken& token() const { return task_.token(); }
    /// Of what is in memory.
    uint64_t heldBytes() const { return bytes_; }
    /// Of all that was added.
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
    Items items_;  // a heap with the last one on top while only `keep_` are kept
    size_t bytes_ = 0;
    uint64_t sequence_ = 0;
    uint64_t bytesSorted_ = 0;
    bool isFinished_ = false;
    uint64_t given_ = 0;
    std::string cutoff_;      // nothing from here on is wanted any more
    bool hasCutoff_ = false;  // `keep_` that come before it are in a run

    SpillTask task_;
    std::shared_ptr<Items> sorting_;    // a job's
    std::shared_ptr<SpillRun> making_;  // a job's
    std::shared_ptr<Pass> pass_;        // a job's, between two of its steps nobody's
    std::shared_ptr<SpillFile> file_;   // of the runs that are being made
    std::vector<SpillRun> runs_;
    size_t passAt_ = 0;                // the run at which the pass has arrived
    std::shared_ptr<RunMerge> merge_;  // the last one
};

}  // namespace freshet::query
