// SPDX-License-Identifier: Apache-2.0
/// Finds what a snapshot of the log consists of: which commits have records with a time up to a
/// certain one. In terms of timestamps these are all up to some timestamp, and a few above it.
#pragma once

#include "freshet/engine/commits/commit_floors.h"
#include "freshet/engine/commits/commit_times.h"
#include "freshet/engine/commits/txn_table.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace freshet::engine {

class SnapshotSearch {
public:
    SnapshotSearch() = default;
    /// Looks for the commits up to `time`. REQUIRES: every commit with a timestamp up to `base` has
    /// a time up to `time`; every record with a time up to `time` lies below `end` in the log, and
    /// every other one at `end` or behind it, or has its floor there; notes of commits above
    /// `base` were not missed.
    SnapshotSearch(uint64_t time, uint64_t base, uint64_t end)
        : time_(time), base_(base), end_(end) {}

    enum class Result : uint8_t {
        kFound,
        kWait,  // a commit that belongs to it is under way: try again
        kLost   // the notes have been overwritten
    };
    /// REQUIRES: inside a slice of which `times` is. `tail`: as for CommitFloors::commitLow().
    template <typename Tail>
    Result run(const TxnTable& table,
               const CommitFloors& floors,
               const CommitTimes::Reader& times,
               Tail tail) {
        // Every commit below end_ is complete and noted once no floor is below it (INV-engine-12).
        // What is not noted then is therefore not below end_, and does not belong to the snapshot.
        if (!mutated(Mutant::kSearchesAtOnce) && floors.commitLow(tail) < end_) {
            return Result::kWait;
        }
        const uint64_t last = table.snapshot();
        if (!times.isOn() || last - base_ >= times.size()) {
            return Result::kLost;
        }
        readTs_ = base_;
        late_.clear();
        bool hasGap = false;
        for (uint64_t ts = base_ + 1; ts <= last; ++ts) {
            const uint64_t time = times.timeOf(ts);
            if (time == CommitTimes::Reader::kGone) {
                return Result::kLost;
            }
            const bool belongs = time != CommitTimes::Reader::kNotNoted && time <= time_;
            hasGap |= !belongs;
            if (!hasGap) {
                readTs_ = ts;
            } else if (belongs && !mutated(Mutant::kLateForgotten)) {
                late_.push_back(ts);
            }
        }
        return Result::kFound;
    }

    // REQUIRES: kFound.
    uint64_t readTs() const { return readTs_; }
    std::vector<uint64_t> takeLate() { return std::move(late_); }
    uint64_t time() const { return time_; }
    uint64_t end() const { return end_; }

private:
    uint64_t time_ = 0;
    uint64_t base_ = 0;
    uint64_t end_ = 0;
    uint64_t readTs_ = 0;
    std::vector<uint64_t> late_;
};

}  // namespace freshet::engine
