// SPDX-License-Identifier: Apache-2.0
/// $group and $sortByCount. Groups come out in the order in which they were first seen, unless they
/// have been on disk.
#include "freshet/query/aggregate/stages.h"
#include "freshet/query/group/group_table.h"

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;

class GroupStage final : public BlockingStage {
public:
    GroupStage(PipelineRun& run, StagePtr input, ExprPtr id, std::vector<GroupField> fields)
        : BlockingStage(run, std::move(input)),
          id_(std::move(id)),
          table_(std::move(fields), run.memory(), run.spilled()) {}

private:
    Status consume(Document document) override {
        context_.root = document;
        Value key = id_->evaluate(context_);
        if (key.isMissing()) {
            key = Value::null();
        }
        return waiting(table_.add(context_, key), table_.token());
    }
    Status settle() override { return waiting(table_.settle(), table_.token()); }
    uint64_t ownBytes() const override { return table_.heldBytes(); }

    Status give(Output* out) override {
        bool isEnd = false;
        FRESHET_RETURN_IF_ERROR(waiting(table_.next(context_, &bytes_, &isEnd), table_.token()));
        return isEnd ? out->end() : out->give(Document(bytes_));
    }

    ExprPtr id_;
    GroupTable table_;
    std::string bytes_;
};

/// An _id with one field. If the field's value is missing, it is null; with several fields, those
/// whose values are missing are left out.
class OneFieldId final : public Expression {
public:
    OneFieldId(std::string_view name, ExprPtr id) : id_(std::move(id)) {
        bson::Builder builder;
        builder.add(name, bson::Null{});
        null_ = Value::ofDocument(builder.finish());
    }
    Value evaluate(ExprContext& context) const override {
        Value id = id_->evaluate(context);
        return id.element().isObject() && id.element().document().isEmpty() ? null_ : id;
    }
    bool isConstant() const override { return id_->isConstant(); }

private:
    const ExprPtr id_;
    Value null_;  // {name: null}
};

StatusOr<ExprPtr> parseId(const Element& id, ExprScope* scope) {
    FRESHET_ASSIGN_OR_RETURN(ExprPtr parsed, parseExpression(id, scope));
    if (!id.isObject() || id.document().fieldCount() != 1 ||
        id.document().begin()->name().starts_with('$')) {
        return parsed;
    }
    return ExprPtr(std::make_shared<OneFieldId>(id.document().begin()->name(), std::move(parsed)));
}

}  // namespace

StageOr makeGroup(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    if (!spec.isObject()) {
        return invalid(Reason::kSpecNotObject, "a group's fields must be specified in an object");
    }
    return makeGroupBy(maker, nullptr, spec.document(), std::move(input));
}

StageOr makeGroupBy(const PipelineMaker& maker, ExprPtr id, Document spec, StagePtr input) {
    std::vector<GroupField> fields;
    ExprScope scope(maker.variables);
    for (const Element& field : spec) {
        if (field.name() == "_id") {
            if (id != nullptr) {
                return invalid(location(15948), "a group's _id may only be specified once");
            }
            FRESHET_ASSIGN_OR_RETURN(id, parseId(field, &scope));
            continue;
        }
        if (field.name() == "$doingMerge") {
            return invalid(location(17030), "$doingMerge should be true if present");
        }
        FRESHET_ASSIGN_OR_RETURN(GroupField parsed, parseGroupField(field, &scope));
        fields.push_back(std::move(parsed));
    }
    if (id == nullptr) {
        return invalid(Reason::kGroupMissingId, "a group specification must include an _id");
    }
    return StagePtr(std::make_unique<GroupStage>(
        maker.run, std::move(input), std::move(id), std::move(fields)));
}

StageOr makeSortByCount(const PipelineMaker& maker, const Element& spec, StagePtr input) {
    const bool isOperator = spec.isObject() && !spec.document().isEmpty() &&
                            spec.document().begin()->name().starts_with('$');
    if (spec.isObject() && !isOperator) {
        return invalid(location(40147),
                       "the sortByCount field must be defined as a $-prefixed path or an "
                       "expression inside an object");
    }
    if (spec.isString() && !spec.stringValue().starts_with('$')) {
        return invalid(location(40148),
                       "the sortByCount field must be defined as a $-prefixed path or an "
                       "expression inside an object");
    }
    if (!spec.isObject() && !spec.isString()) {
        return invalid(location(40149),
                       "the sortByCount field must be specified as a string or as an object");
    }
    FRESHET_ASSIGN_OR_RETURN(ExprPtr id, maker.expression(spec));
    FRESHET_ASSIGN_OR_RETURN(GroupField count, makeCountField("count"));
    std::vector<GroupField> fields;
    fields.push_back(std::move(count));
    StagePtr group =
        std::make_unique<GroupStage>(maker.run, std::move(input), std::move(id), std::move(fields));
    bson::Builder order;
    order.add("count", int32_t{-1});
    const std::string bytes = order.finish();
    FRESHET_ASSIGN_OR_RETURN(SortPattern pattern, SortPattern::compile(Document(bytes)));
    return makeSort(maker.run, std::move(group), std::move(pattern), 0);
}

}  // namespace freshet::query
