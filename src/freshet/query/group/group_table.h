// SPDX-License-Identifier: Apache-2.0
/// Groups by key, each with the states of its accumulators: what $group fills. Groups that do not
/// fit into memory go to disk in parts. A group belongs to one of kParts parts, chosen by its key's
/// hash. When memory is full, the largest part leaves: the states of its groups are written to
/// disk, and from then on the arguments of its documents are written, too, instead of being added.
/// When all groups in memory have been given, each part that left is read back and grouped like the
/// input, into parts of its own by other bits of the hash. Not thread-safe.
///
/// INV-1  A part's run holds the records of a group in the order of arrival, saved states first. So
///        reading them back and adding them in that order gives the same result as in memory.
/// INV-2  A group is in memory, or its part has left, but never both.
#pragma once

#include "freshet/query/expression/value_set.h"
#include "freshet/query/group/group_fields.h"
#include "freshet/query/spill/spill_file.h"
#include "freshet/query/spill/spill_task.h"

#include <array>

namespace freshet::query {

class GroupTable {
public:
    /// `*counts` is updated with what is spilled; it must outlive the table.
    GroupTable(std::vector<GroupField> fields, const MemoryRules& rules, SpillCounts* counts);

    // Each may return WouldBlock: first wait for token(), then call settle().

    /// Adds the context's root document to the group of `key`. WouldBlock: it was added
    /// nevertheless. kLimit: kMemoryLimitNoDiskUse when there is no room and the disk may not be
    /// used, kExceededMemoryLimit when spilling does not help. REQUIRES: settled.
    Status add(ExprContext& context, const Value& key);
    /// Ok when no job is running on another thread (any more).
    Status settle();
    /// After the last add(): gives the document of the next group, or sets *isEnd.
    Status next(ExprContext& context, std::string* group, bool* isEnd);
    const sync::WaitToken& token() const { return task_.token(); }
    /// Of the groups in memory.
    uint64_t heldBytes() const { return bytesHeld_; }

private:
    struct Group {
        Value key;
        GroupStates states;
        size_t bytes = 0;
        uint8_t part = 0;
    };
    struct Part {
        bool hasLeft = false;
        size_t bytes = 0;   // of its groups
        std::string block;  // after it has left: what is to be written next
        SpillRun run;
    };
    /// Blocks on their way to disk, each with its part.
    struct Writing;
    /// A part that has left and is to be read back.
    struct Left {
        SpillRun run;
        int level = 0;
    };
    static constexpr size_t kParts = 16;
    static constexpr int kPartBits = 4;
    static constexpr int kLevelsMax = 16;  // of the hash's 64 bits
    enum class Phase : uint8_t { kTake, kGive, kFetch, kReadBack };

    uint8_t partOf(const Value& key) const;
    StatusOr<Group*> groupOf(ExprContext& context, const Value& key, uint8_t part);
    Status addArguments(ExprContext& context, const Value& key, std::span<const Value> arguments);
    Status afterGrowth(Group* group, size_t bytes);
    Status makeRoom();
    void leave(uint8_t part);
    Status write(size_t blockBytesMin);
    Status readBack(ExprContext& context);
    Status takeBack(ExprContext& context, const SpillRecord& record);
    void startOver();

    GroupFields fields_;
    const MemoryRules rules_;
    const size_t blockBytes_;
    SpillCounts* const counts_;
    Phase phase_ = Phase::kTake;
    int level_ = 0;  // how often the current input has been on disk
    ValueMap<size_t> index_;
    std::vector<Group> groups_;  // in the order of arrival
    size_t bytesHeld_ = 0;
    size_t given_ = 0;
    std::array<Part, kParts> parts_;
    std::shared_ptr<SpillFile> file_;  // of this level's parts
    std::vector<Left> left_;
    SpillTask task_;
    std::shared_ptr<Writing> writing_;   // shared with a job
    std::shared_ptr<RunReader> reader_;  // used by a job while it loads
};

}  // namespace freshet::query
