// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/group/group_table.h"

#include <algorithm>

namespace freshet::query {
namespace {

// Keys of records.
constexpr std::string_view kArguments = "a";
constexpr std::string_view kStates = "s";

}  // namespace

struct GroupTable::Writing {
    struct Block {
        uint8_t part;
        std::string bytes;
        SpillRun run;  // of this block alone
    };
    std::shared_ptr<SpillFile> file;
    std::vector<Block> blocks;

    Status run(const SpillTask::Watch& watch) {
        for (Block& block : blocks) {
            if (watch.isAbandoned()) {
                break;
            }
            block.run.file = file;
            FRESHET_RETURN_IF_ERROR(block.run.append(block.bytes));
            std::string().swap(block.bytes);
        }
        return Status::ok();
    }
};

GroupTable::GroupTable(std::vector<GroupField> fields,
                       const MemoryRules& rules,
                       SpillCounts* counts)
    : fields_(std::move(fields), rules.limits),
      rules_(rules),
      blockBytes_(blockBytesFor(rules.limits.group)),
      counts_(counts) {}

/// Each level uses other bits of the hash. They are mixed first, because the index uses the hash
/// too.
uint8_t GroupTable::partOf(const Value& key) const {
    constexpr uint64_t kMix = 0x9e3779b97f4a7c15;
    const uint64_t mixed = ValueHash{}(key)*kMix;
    return static_cast<uint8_t>((mixed >> (64 - kPartBits * (level_ + 1))) % kParts);
}

StatusOr<GroupTable::Group*> GroupTable::groupOf(ExprContext& context,
                                                 const Value& key,
                                                 uint8_t part) {
    if (const auto at = index_.find(key); at != index_.end()) {
        return &groups_[at->second];
    }
    Group group;
    group.key = key.own();
    group.part = part;
    size_t bytes = sizeof(Group) + 2 * group.key.heldBytes();
    FRESHET_ASSIGN_OR_RETURN(group.states, fields_.makeStates(context, group.key, &bytes));
    group.bytes = bytes;
    parts_[part].bytes += bytes;
    bytesHeld_ += bytes;
    index_.emplace(group.key, groups_.size());
    groups_.push_back(std::move(group));
    return &groups_.back();
}

Status GroupTable::add(ExprContext& context, const Value& key) {
    FRESHET_ASSIGN_OR_RETURN(const auto arguments, fields_.evaluate(context));
    return addArguments(context, key, arguments);
}

Status GroupTable::addArguments(ExprContext& context,
                                const Value& key,
                                std::span<const Value> arguments) {
    const uint8_t part = partOf(key);
    if (parts_[part].hasLeft) {
        std::string payload;
        appendValue(key, &payload);
        for (const Value& argument : arguments) {
            appendValue(argument, &payload);
        }
        appendRecord({kArguments, payload}, &parts_[part].block);
        return write(blockBytes_);
    }
    FRESHET_ASSIGN_OR_RETURN(Group* const group, groupOf(context, key, part));
    size_t bytes = 0;
    FRESHET_RETURN_IF_ERROR(fields_.add(context, arguments, &group->states, &bytes));
    return afterGrowth(group, bytes);
}

Status GroupTable::afterGrowth(Group* group, size_t bytes) {
    group->bytes += bytes;
    parts_[group->part].bytes += bytes;
    bytesHeld_ += bytes;
    return bytesHeld_ > rules_.limits.group ? makeRoom() : Status::ok();
}

/// A single group may exceed the limit: writing it would not make it smaller. Its accumulators have
/// their own limits.
Status GroupTable::makeRoom() {
    if (!rules_.maySpill()) {
        return Status(Code::kLimit,
                      Reason::kMemoryLimitNoDiskUse,
                      "PlanExecutor error during aggregation :: caused by :: Exceeded memory limit "
                      "for $group, but didn't allow external sort. Pass allowDiskUse:true to opt "
                      "in.");
    }
    while (bytesHeld_ > rules_.limits.group && groups_.size() > 1) {
        if (level_ + 1 == kLevelsMax) {
            return Status(Code::kLimit,
                          Reason::kExceededMemoryLimit,
                          "PlanExecutor error during aggregation :: caused by :: $group: too many "
                          "keys have the same hash");
        }
        const auto largest =
            std::max_element(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
                return a.bytes < b.bytes;
            });
        leave(static_cast<uint8_t>(largest - parts_.begin()));
    }
    return write(1);
}

void GroupTable::leave(uint8_t at) {
    Part& part = parts_[at];
    std::vector<Group> staying;
    index_.clear();
    for (Group& group : groups_) {
        if (group.part != at) {
            index_.emplace(group.key, staying.size());
            staying.push_back(std::move(group));
            continue;
        }
        std::string payload;
        appendValue(group.key, &payload);
        for (const auto& state : group.states) {
            state->save(&payload);
        }
        appendRecord({kStates, payload}, &part.block);
    }
    groups_ = std::move(staying);
    bytesHeld_ -= part.bytes;
    part.bytes = 0;
    part.hasLeft = true;
    ++counts_->spills;
    rules_.space->count(SpillSpace::Total::kGroupSpills);
}

/// Starts to write the blocks that have reached `blockBytesMin`.
Status GroupTable::write(size_t blockBytesMin) {
    auto writing = std::make_shared<Writing>();
    for (uint8_t part = 0; part < kParts; ++part) {
        if (parts_[part].block.size() >= blockBytesMin) {
            writing->blocks.push_back({part, std::exchange(parts_[part].block, {}), {}});
        }
    }
    if (writing->blocks.empty()) {
        return Status::ok();
    }
    if (file_ == nullptr) {
        file_ = std::make_shared<SpillFile>(*rules_.space);
    }
    writing->file = file_;
    writing_ = writing;
    return task_.start(*rules_.space,
                       [writing](const SpillTask::Watch& watch) { return writing->run(watch); });
}

Status GroupTable::settle() {
    FRESHET_RETURN_IF_ERROR(task_.settle());
    if (writing_ == nullptr) {
        return Status::ok();
    }
    for (Writing::Block& block : writing_->blocks) {
        SpillRun& run = parts_[block.part].run;
        run.file = block.run.file;
        run.blocks.push_back(block.run.blocks.front());
        counts_->bytes += static_cast<int64_t>(block.run.bytes);
    }
    writing_ = nullptr;
    return Status::ok();
}

/// Queues the parts that left for reading back; the next one starts with an empty table.
void GroupTable::startOver() {
    for (Part& part : parts_) {
        if (part.hasLeft) {
            left_.push_back({std::move(part.run), level_ + 1});
        }
        part = {};
    }
    file_ = nullptr;
    groups_ = std::vector<Group>();
    index_ = ValueMap<size_t>();
    bytesHeld_ = 0;
    given_ = 0;
}

Status GroupTable::takeBack(ExprContext& context, const SpillRecord& record) {
    ValueReader values(record.payload);
    const Value key = values.next();
    if (record.key == kArguments) {
        std::vector<Value> arguments;
        while (!values.isAtEnd()) {
            arguments.push_back(values.next());
        }
        return addArguments(context, key, arguments);
    }
    const uint8_t part = partOf(key);
    if (parts_[part].hasLeft) {
        appendRecord(record, &parts_[part].block);
        return write(blockBytes_);
    }
    FRESHET_ASSIGN_OR_RETURN(Group* const group, groupOf(context, key, part));
    size_t bytes = 0;
    for (const auto& state : group->states) {
        bytes -= state->heldBytes();
        state->restore(&values);
        bytes += state->heldBytes();
    }
    return afterGrowth(group, bytes);
}

Status GroupTable::readBack(ExprContext& context) {
    for (;;) {
        if (reader_->hasRecord()) {
            const Status status = takeBack(context, reader_->record());
            reader_->advance();
            FRESHET_RETURN_IF_ERROR(status);
        } else if (reader_->mustFetch()) {
            return task_.start(*rules_.space, [reader = reader_](const SpillTask::Watch&) {
                return reader->fetch();
            });
        } else {
            return Status::ok();
        }
    }
}

Status GroupTable::next(ExprContext& context, std::string* group, bool* isEnd) {
    FRESHET_RETURN_IF_ERROR(settle());
    *isEnd = false;
    for (;;) {
        switch (phase_) {
            case Phase::kReadBack:
                FRESHET_RETURN_IF_ERROR(readBack(context));
                reader_ = nullptr;
                phase_ = Phase::kTake;
                break;
            case Phase::kTake:
                phase_ = Phase::kGive;
                FRESHET_RETURN_IF_ERROR(write(1));
                break;
            case Phase::kGive:
                if (given_ < groups_.size()) {
                    Group& next = groups_[given_++];
                    FRESHET_ASSIGN_OR_RETURN(*group,
                                             fields_.result(next.key, std::move(next.states)));
                    return Status::ok();
                }
                startOver();
                phase_ = Phase::kFetch;
                break;
            case Phase::kFetch:
                if (left_.empty()) {
                    *isEnd = true;
                    return Status::ok();
                }
                level_ = left_.back().level;
                reader_ = std::make_shared<RunReader>(std::move(left_.back().run));
                left_.pop_back();
                phase_ = Phase::kReadBack;
                break;
        }
    }
}

}  // namespace freshet::query
