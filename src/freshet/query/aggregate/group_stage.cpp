// SPDX-License-Identifier: Apache-2.0
/// $group and $sortByCount. Groups come out in the order in which they were first seen.
#include "freshet/platform/clock.h"
#include "freshet/query/expression/accumulator.h"
#include "freshet/query/aggregate/stages.h"
#include "freshet/query/expression/value_set.h"

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;

struct GroupField {
    std::string name;
    AccumulatorFactory factory;
    ExprPtr argument;
};

class GroupStage final : public Stage {
public:
    GroupStage(ExprPtr id, std::vector<GroupField> fields)
        : id_(std::move(id)), fields_(std::move(fields)) {
        context_.nowMillis = platform::wallMillis();
    }

    Status push(Document document, Documents*) override {
        context_.root = document;
        Value key = id_->evaluate(context_);
        if (key.isMissing()) {
            key = Value::null();
        }
        Group& group = groupOf(key);
        for (size_t i = 0; i < fields_.size(); ++i) {
            Accumulator& state = *group.states[i];
            const size_t before = state.heldBytes();
            state.add(context_, fields_[i].argument->evaluate(context_));
            bytesHeld_ += state.heldBytes() - before;
        }
        if (context_.failed()) {
            return context_.error;
        }
        return bytesHeld_ > kStageBytesMax ? exceededMemory("$group") : Status::ok();
    }

    Status finish(Documents* out) override {
        out->reserve(out->size() + groups_.size());
        for (const Group& group : groups_) {
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
            std::string bytes = builder.finish();
            if (bytes.size() > bson::kInternalDocumentBytesMax) {
                return invalid(Reason::kBsonObjectTooLarge,
                               "BSONObj size: " + std::to_string(bytes.size()) +
                                   " is invalid. Size must be between 0 and 16793600(16MB)");
            }
            out->emplace_back(std::move(bytes));
        }
        groups_.clear();
        index_.clear();
        return Status::ok();
    }

private:
    struct Group {
        Value key;
        std::vector<std::unique_ptr<Accumulator>> states;
    };

    Group& groupOf(const Value& key) {
        if (const auto at = index_.find(key); at != index_.end()) {
            return groups_[at->second];
        }
        Group group;
        group.key = key.own();
        for (const GroupField& field : fields_) {
            group.states.push_back(field.factory());
            bytesHeld_ += group.states.back()->heldBytes();
        }
        bytesHeld_ += sizeof(Group) + 2 * group.key.heldBytes();
        index_.emplace(group.key, groups_.size());
        groups_.push_back(std::move(group));
        return groups_.back();
    }

    ExprPtr id_;
    std::vector<GroupField> fields_;
    ExprContext context_;
    ValueMap<size_t> index_;
    std::vector<Group> groups_;
    size_t bytesHeld_ = 0;
};

StatusOr<GroupField> parseGroupField(const Element& field) {
    const std::string name(field.name());
    if (name.find('.') != name.npos) {
        return invalid(Reason::kGroupFieldNotAccumulator,
                       "The field name '" + name + "' cannot contain '.'");
    }
    if (name.starts_with('$')) {
        return invalid(Reason::kGroupFieldNotAccumulator,
                       "The field name '" + name + "' cannot be an operator name");
    }
    if (!field.isObject() || field.document().isEmpty() ||
        !field.document().begin()->name().starts_with('$')) {
        return invalid(Reason::kGroupFieldNotAccumulator,
                       "The field '" + name + "' must be an accumulator object");
    }
    if (field.document().fieldCount() != 1) {
        return invalid(Reason::kGroupFieldNotAccumulator,
                       "The field '" + name + "' must specify one accumulator");
    }
    const Element operand = *field.document().begin();
    GroupField result{name, accumulatorByName(operand.name()), nullptr};
    if (result.factory == nullptr) {
        return invalid(Reason::kGroupUnknownOperator,
                       "unknown group operator '" + std::string(operand.name()) + "'");
    }
    if (operand.isArray()) {
        return invalid(Reason::kGroupFieldNotAccumulator,
                       "The " + std::string(operand.name()) + " accumulator is a unary operator");
    }
    if (operand.name() == "$count" && !(operand.isObject() && operand.document().isEmpty())) {
        return invalid(Reason::kTypeMismatch, "$count takes no arguments, i.e. $count:{}");
    }
    FRESHET_ASSIGN_OR_RETURN(result.argument, parseExpression(operand));
    return result;
}

}  // namespace

Status parseGroup(const Element& spec, std::vector<StagePtr>* out) {
    if (!spec.isObject()) {
        return invalid(Reason::kSpecNotObject, "a group's fields must be specified in an object");
    }
    ExprPtr id;
    std::vector<GroupField> fields;
    for (const Element& field : spec.document()) {
        if (field.name() == "_id") {
            FRESHET_ASSIGN_OR_RETURN(id, parseExpression(field));
            continue;
        }
        FRESHET_ASSIGN_OR_RETURN(GroupField parsed, parseGroupField(field));
        fields.push_back(std::move(parsed));
    }
    if (id == nullptr) {
        return invalid(Reason::kGroupMissingId, "a group specification must include an _id");
    }
    out->push_back(std::make_unique<GroupStage>(std::move(id), std::move(fields)));
    return Status::ok();
}

Status parseSortByCount(const Element& spec, std::vector<StagePtr>* out) {
    const bool isPath = spec.isString() && spec.stringValue().starts_with('$');
    const bool isOperator = spec.isObject() && !spec.document().isEmpty() &&
                            spec.document().begin()->name().starts_with('$');
    if (!isPath && !isOperator) {
        return invalid(Reason::kSpecNotObject,
                       "the sortByCount field must be defined as a $-prefixed path or an "
                       "expression inside an object");
    }
    FRESHET_ASSIGN_OR_RETURN(ExprPtr id, parseExpression(spec));
    std::vector<GroupField> fields;
    fields.push_back({"count", accumulatorByName("$sum"), makeLiteral(Value::of(int32_t{1}))});
    out->push_back(std::make_unique<GroupStage>(std::move(id), std::move(fields)));
    bson::Builder order;
    order.add("count", int32_t{-1});
    const std::string bytes = order.finish();
    FRESHET_ASSIGN_OR_RETURN(SortPattern pattern, SortPattern::compile(Document(bytes)));
    out->push_back(makeSort(std::move(pattern), 0));
    return Status::ok();
}

bool readsNoFields(const Element& groupSpec) {
    if (!groupSpec.isObject()) {
        return false;
    }
    for (const Element& field : groupSpec.document()) {
        const Element operand = field.name() == "_id" ? field
                                : field.isObject()    ? *field.document().begin()
                                                      : Element();
        if (operand.isMissing()) {
            return false;
        }
        auto expression = parseExpression(operand);
        if (!expression.isOk() || !(*expression)->isConstant()) {
            return false;
        }
    }
    return true;
}

}  // namespace freshet::query
