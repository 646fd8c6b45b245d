// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/aggregate/group_table.h"

namespace freshet::query {

using bson::Document;
using bson::Element;

GroupTable::Group* GroupTable::groupOf(ExprContext& context, const Value& key) {
    if (const auto at = index_.find(key); at != index_.end()) {
        return &groups_[at->second];
    }
    Group group;
    group.key = key.own();
    const Document root = context.root;
    const bool isObject = group.key.element().isObject();
    context.root = isObject ? group.key.element().document() : Document();
    for (const GroupField& field : fields_) {
        group.states.push_back(field.plan.makeState(context));
        if (context.failed()) {
            return nullptr;
        }
        bytesHeld_ += group.states.back()->heldBytes();
    }
    context.root = root;
    bytesHeld_ += sizeof(Group) + 2 * group.key.heldBytes();
    index_.emplace(group.key, groups_.size());
    groups_.push_back(std::move(group));
    return &groups_.back();
}

Status GroupTable::add(ExprContext& context, const Value& key) {
    Group* group = groupOf(context, key);
    for (size_t i = 0; group != nullptr && i < fields_.size(); ++i) {
        Accumulator& state = *group->states[i];
        const size_t before = state.heldBytes();
        state.add(context, fields_[i].plan.argument->evaluate(context));
        bytesHeld_ += state.heldBytes() - before;
    }
    return context.failed() ? context.error : Status::ok();
}

StatusOr<std::string> GroupTable::take(ExprContext& context, size_t at) {
    Group& group = groups_[at];
    bson::Builder builder;
    builder.addAs("_id", group.key.element());
    for (size_t i = 0; i < fields_.size(); ++i) {
        const Value value = group.states[i]->result();
        if (value.isMissing()) {
            builder.add(fields_[i].name, bson::Null{});
        } else {
            builder.addAs(fields_[i].name, value.element());
        }
    }
    group.states.clear();
    if (context.failed()) {
        return context.error;
    }
    if (builder.size() > bson::kInternalDocumentBytesMax) {
        return invalid(Reason::kBsonObjectTooLarge,
                       "BSONObj size: " + std::to_string(builder.size()) +
                           " is invalid. Size must be between 0 and 16793600(16MB)");
    }
    return builder.finish();
}

StatusOr<GroupField> parseGroupField(const Element& field, Document variables) {
    const std::string name(field.name());
    if (name.find('.') != name.npos) {
        return invalid(location(40235), "The field name '" + name + "' cannot contain '.'");
    }
    if (name.starts_with('$')) {
        return invalid(location(40236), "The field name '" + name + "' cannot be an operator name");
    }
    if (!field.isObject() || field.document().isEmpty() ||
        !field.document().begin()->name().starts_with('$')) {
        return invalid(Reason::kGroupFieldNotAccumulator,
                       "The field '" + name + "' must be an accumulator object");
    }
    if (field.document().fieldCount() != 1) {
        return invalid(location(40238), "The field '" + name + "' must specify one accumulator");
    }
    ExprScope scope(variables);
    GroupField result;
    result.name = name;
    FRESHET_ASSIGN_OR_RETURN(result.plan, parseAccumulator(*field.document().begin(), &scope));
    return result;
}

StatusOr<GroupField> makeCountField(std::string_view name) {
    bson::Builder builder;
    {
        bson::Builder field = builder.object(name);
        field.add("$sum", int32_t{1});
    }
    const std::string bytes = builder.finish();
    return parseGroupField(*Document(bytes).begin(), Document());
}

}  // namespace freshet::query
