// SPDX-License-Identifier: Apache-2.0
/// The order of a commit's steps around its append (docs/design/engine.md, "Commit"), shared by the
/// store and the model checks.
#pragma once

#include "freshet/engine/commits/commit_floors.h"
#include "freshet/engine/commits/commit_times.h"
#include "freshet/engine/commits/txn_table.h"

namespace freshet::engine {

class CommitSteps {
public:
    CommitSteps(TxnTable& table, CommitFloors& floors, CommitTimes& times, uint16_t participant)
        : table_(table), floors_(floors), times_(times), participant_(participant) {}

    /// Before the first call of append. `tail`: the journal's, read just now.
    void begin(uint64_t stamp, uint64_t tail) {
        table_.setCommitting(stamp);
        floors_.begin(participant_, &open_, tail);
    }
    /// After the append; returns the commit's timestamp. `time`: of the last record.
    uint64_t complete(uint64_t stamp, uint64_t time) {
        if (mutated(Mutant::kFloorEndsEarly)) {
            CommitFloors::end(&open_);
            return table_.claim(stamp);
        }
        const uint64_t ts = table_.claim(stamp);
        if (mutated(Mutant::kNotedLate)) {
            CommitFloors::end(&open_);
            times_.note(ts, time);
            return ts;
        }
        times_.note(ts, time);
        CommitFloors::end(&open_);
        return ts;
    }
    /// The append failed, or will not be begun.
    void giveUp() { CommitFloors::end(&open_); }
    uint16_t participant() const { return participant_; }

private:
    TxnTable& table_;
    CommitFloors& floors_;
    CommitTimes& times_;
    const uint16_t participant_;
    OpenCommit open_;
};

}  // namespace freshet::engine
