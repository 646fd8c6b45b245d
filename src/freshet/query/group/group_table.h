// SPDX-License-Identifier: Apache-2.0
/// Groups by key, each with the states of its accumulators: what $group fills. What does not fit
/// into memory goes to disk by parts: a group belongs to one of kParts parts, by its key's hash.
/// When there is no more room, the largest part leaves: the states of its groups are written, and
/// from then on its documents' arguments instead of being added. When all other groups have been
/// given, each part that left is read back and grouped like the input, in parts of its own by other
/// bits of the hash. Not thread-safe.
///
/// INV-1  A part's run has what belongs to a group in the order of arrival, its saved states first:
///        so what is read back and added in that order makes what it would have made in memory.
/// INV-2  A group is in memory, or its part has left, never both.
#pragma once

#include "freshet/query/expression/value_set.h"
#include "freshet/query/group/group_fields.h"
#include "freshet/query/spill/spill_file.h"
#include "freshet/query/spill/spill_task.h"

#include <array>

namespace freshet::query {

class GroupTable {
public:
    /// `*counts` gets what is spilled; it must outlive the table.
    GroupTable(std::vector<GroupField> fields, const MemoryRules& rules, SpillCounts* counts);

    // Each may return WouldBlock: wait for token() first of all, then settle().

    /// REQUIRES: settled. Adds the context's root document to the group of `key`. WouldBlock: it
    /// was taken all the same. kLimit: kMemoryLimitNoDiskUse when there is no room and the disk may
    /// not be used, kExceededMemoryLimit when it does not help.
    Status add(ExprContext& context, const Value& key);
    /// ok when nothing is being done on another thread (any more).
    Status settle();
    /// After the last add(): the document of the next group, or *isEnd.
    Status next(ExprContext& context, std::string* group, bool* isEnd);
    const sync::WaitToken& token() const { return task_.token(); }
    /// Of what is in memory.
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
        std::string block;  // what is to be written next, when it has left
        SpillRun run;
    };
    /// Blocks on their way to disk, each with its part.
    struct Writing;
    /// A part that has left, to be read back.
    struct Left {
        SpillRun run;
        int level = 0;
    };
    static constexpr size_t kParts = 16;
    static constexpr int kPartBits = 4;
    static constexpr int kLevelsMax = 16;  // of 64 bits
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
    int level_ = 0;  // how often what is taken now has been on disk
    ValueMap<size_t> index_;
    std::vector<Group> groups_;  // in the order of arrival
    size_t bytesHeld_ = 0;
    size_t given_ = 0;
    std::array<Part, kParts> parts_;
    std::shared_ptr<SpillFile> file_;  // of this level's parts
    std::vector<Left> left_;
    SpillTask task_;
    std::shared_ptr<Writing> writing_;   // a job's
    std::shared_ptr<RunReader> reader_;  // a job's while it loads
};

}  // namespace freshet::query
