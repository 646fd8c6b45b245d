// SPDX-License-Identifier: Apache-2.0
/// The fields of $group and similar stages, each with an accumulator, and operations on the states
/// of one group. Not thread-safe: arguments are evaluated into a member.
#pragma once

#include "freshet/query/expression/accumulator.h"
#include "freshet/query/spill.h"

#include <span>

namespace freshet::query {

struct GroupField {
    std::string name;
    std::string accumulator;
    AccumulatorPlan plan;
};

/// `{name: {$accumulator: operand}}` of $group and similar stages.
StatusOr<GroupField> parseGroupField(const bson::Element& field, ExprScope* scope);
/// {name: {$sum: 1}}
StatusOr<GroupField> makeCountField(std::string_view name);

/// One for each field.
using GroupStates = std::vector<std::unique_ptr<Accumulator>>;

class GroupFields {
public:
    GroupFields(std::vector<GroupField> fields, const MemoryLimits& limits);

    /// New states for the group of `key`; *bytes grows by what they hold, here and in add().
    StatusOr<GroupStates> makeStates(ExprContext& context, const Value& key, size_t* bytes) const;
    /// The accumulators' arguments for the context's root document. Valid until the next call.
    StatusOr<std::span<const Value>> evaluate(ExprContext& context);
    /// kLimit (kExceededMemoryLimit) when one accumulator holds more than it may.
    Status add(ExprContext& context,
               std::span<const Value> arguments,
               GroupStates* states,
               size_t* bytes) const;
    /// The group's document; consumes the states.
    StatusOr<std::string> result(const Value& key, GroupStates states) const;
    size_t size() const { return fields_.size(); }

private:
    std::vector<GroupField> fields_;
    std::vector<size_t> bytesMax_;  // of one state, by field
    std::vector<Value> arguments_;
};

}  // namespace freshet::query
