// SPDX-License-Identifier: Apache-2.0
/// Groups by key, each with the states of its accumulators: what $group, $bucket and $bucketAuto
/// fill. Not thread-safe.
#pragma once

#include "freshet/query/expression/accumulator.h"
#include "freshet/query/expression/value_set.h"

namespace freshet::query {

struct GroupField {
    std::string name;
    AccumulatorPlan plan;
};

/// `{name: {$accumulator: operand}}` of $group and its kin.
StatusOr<GroupField> parseGroupField(const bson::Element& field, bson::Document variables);
/// {name: {$sum: 1}}
StatusOr<GroupField> makeCountField(std::string_view name);

class GroupTable {
public:
    explicit GroupTable(std::vector<GroupField> fields) : fields_(std::move(fields)) {}

    /// Adds the context's root document to the group of `key`.
    Status add(ExprContext& context, const Value& key);
    size_t size() const { return groups_.size(); }
    size_t bytesHeld() const { return bytesHeld_; }
    /// The document of a group, in the order of arrival; its states are given up.
    StatusOr<std::string> take(ExprContext& context, size_t group);

private:
    struct Group {
        Value key;
        std::vector<std::unique_ptr<Accumulator>> states;
    };
    Group* groupOf(ExprContext& context, const Value& key);

    std::vector<GroupField> fields_;
    ValueMap<size_t> index_;
    std::vector<Group> groups_;
    size_t bytesHeld_ = 0;
};

}  // namespace freshet::query
