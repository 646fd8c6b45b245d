// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/group/group_fields.h"

namespace freshet::query {

using bson::Document;
using bson::Element;

GroupFields::GroupFields(std::vector<GroupField> fields, const MemoryLimits& limits)
    : fields_(std::move(fields)) {
    for (const GroupField& field : fields_) {
        bytesMax_.push_back(field.accumulator == "$addToSet" ? limits.addToSet : limits.push);
    }
}

StatusOr<GroupStates> GroupFields::makeStates(ExprContext& context,
                                              const Value& key,
                                              size_t* bytes) const {
    GroupStates states;
    const Document root = context.root;
    context.root = key.element().isObject() ? key.element().document() : Document();
    for (const GroupField& field : fields_) {
        states.push_back(field.plan.makeState(context));
        if (context.failed()) {
            return context.error;
        }
        *bytes += states.back()->heldBytes();
    }
    context.root = root;
    return states;
}

StatusOr<std::span<const Value>> GroupFields::evaluate(ExprContext& context) {
    arguments_.clear();
    for (const GroupField& field : fields_) {
        arguments_.push_back(field.plan.argument->evaluate(context));
    }
    if (context.failed()) {
        return context.error;
    }
    return std::span<const Value>(arguments_);
}

Status GroupFields::add(ExprContext& context,
                        std::span<const Value> arguments,
                        GroupStates* states,
                        size_t* bytes) const {
    for (size_t i = 0; i < fields_.size(); ++i) {
        Accumulator& state = *(*states)[i];
        const size_t before = state.heldBytes();
        state.add(context, arguments[i]);
        const size_t after = state.heldBytes();
        *bytes += after - before;
        if (after > bytesMax_[i]) {
            return Status(
                Code::kLimit,
                Reason::kExceededMemoryLimit,
                "PlanExecutor error during aggregation :: caused by :: " + fields_[i].accumulator +
                    " used too much memory and cannot spill to disk. Memory limit: " +
                    std::to_string(bytesMax_[i]) + " bytes");
        }
    }
    return context.failed() ? context.error : Status::ok();
}

StatusOr<std::string> GroupFields::result(const Value& key, GroupStates states) const {
    constexpr int kValueNestingMax = kComputedNestingMax - 1;
    if (!bson::nestsWithin(key.element(), kValueNestingMax)) {
        return nestsTooDeeply();
    }
    bson::Builder builder;
    builder.addAs("_id", key.element());
    for (size_t i = 0; i < fields_.size(); ++i) {
        FRESHET_RETURN_IF_ERROR(states[i]->finish());
        const Value value = states[i]->result();
        if (value.isMissing()) {
            builder.add(fields_[i].name, bson::Null{});
        } else if (!bson::nestsWithin(value.element(), kValueNestingMax)) {
            return nestsTooDeeply();
        } else {
            builder.addAs(fields_[i].name, value.element());
        }
    }
    if (builder.size() > bson::kInternalDocumentBytesMax) {
        return invalid(Reason::kBsonObjectTooLarge,
                       "BSONObj size: " + std::to_string(builder.size()) +
                           " is invalid. Size must be between 0 and 16793600(16MB)");
    }
    return builder.finish();
}

StatusOr<GroupField> parseGroupField(const Element& field, ExprScope* scope) {
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
    GroupField result;
    result.name = name;
    result.accumulator = std::string(field.document().begin()->name());
    FRESHET_ASSIGN_OR_RETURN(result.plan, parseAccumulator(*field.document().begin(), scope));
    return result;
}

StatusOr<GroupField> makeCountField(std::string_view name) {
    bson::Builder builder;
    {
        bson::Builder field = builder.object(name);
        field.add("$sum", int32_t{1});
    }
    const std::string bytes = builder.finish();
    ExprScope scope;
    return parseGroupField(*Document(bytes).begin(), &scope);
}

}  // namespace freshet::query
