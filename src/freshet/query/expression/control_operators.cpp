// SPDX-License-Identifier: Apache-2.0
/// Operators that choose which arguments they evaluate: conditions, and operators that bind
/// variables.
#include "freshet/query/expression/operators.h"

#include <algorithm>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;

/// The arguments of an operator, written as an array or as a single expression.
StatusOr<std::vector<ExprPtr>> parseArguments(const Element& operand, ExprScope* scope) {
    std::vector<ExprPtr> result;
    if (!operand.isArray()) {
        FRESHET_ASSIGN_OR_RETURN(ExprPtr only, parseExpression(operand, scope));
        result.push_back(std::move(only));
        return result;
    }
    for (const Element& member : operand.document()) {
        FRESHET_ASSIGN_OR_RETURN(ExprPtr argument, parseExpression(member, scope));
        result.push_back(std::move(argument));
    }
    return result;
}

class Junction final : public Expression {
public:
    Junction(std::vector<ExprPtr> members, bool isAnd)
        : members_(std::move(members)), isAnd_(isAnd) {}
    Value evaluate(ExprContext& context) const override {
        for (const ExprPtr& member : members_) {
            if (isTrue(member->evaluate(context)) != isAnd_) {
                return Value::of(!isAnd_);
            }
        }
        return Value::of(isAnd_);
    }
    bool isConstant() const override {
        return std::all_of(members_.begin(), members_.end(), [](const ExprPtr& member) {
            return member->isConstant();
        });
    }

private:
    std::vector<ExprPtr> members_;
    bool isAnd_;
};

class Conditional final : public Expression {
public:
    explicit Conditional(std::vector<ExprPtr> parts) : parts_(std::move(parts)) {}
    Value evaluate(ExprContext& context) const override {
        return parts_[isTrue(parts_[0]->evaluate(context)) ? 1 : 2]->evaluate(context);
    }

private:
    std::vector<ExprPtr> parts_;
};

class IfNull final : public Expression {
public:
    explicit IfNull(std::vector<ExprPtr> choices) : choices_(std::move(choices)) {}
    Value evaluate(ExprContext& context) const override {
        for (size_t i = 0; i + 1 < choices_.size(); ++i) {
            Value value = choices_[i]->evaluate(context);
            if (!value.isNullish()) {
                return value;
            }
        }
        return choices_.back()->evaluate(context);
    }

private:
    std::vector<ExprPtr> choices_;
};

class Switch final : public Expression {
public:
    std::vector<std::pair<ExprPtr, ExprPtr>> branches;
    ExprPtr otherwise;

    Value evaluate(ExprContext& context) const override {
        for (const auto& [condition, result] : branches) {
            if (isTrue(condition->evaluate(context))) {
                return result->evaluate(context);
            }
        }
        if (otherwise == nullptr) {
            return context.fail(Reason::kSwitchNoBranch,
                                "$switch could not find a matching branch for an input, and no "
                                "default was specified.");
        }
        return otherwise->evaluate(context);
    }
};

class Let final : public Expression {
public:
    std::vector<std::pair<size_t, ExprPtr>> bindings;
    ExprPtr body;

    Value evaluate(ExprContext& context) const override {
        std::vector<Value> values;
        for (const auto& binding : bindings) {
            values.push_back(binding.second->evaluate(context));
        }
        for (size_t i = 0; i < bindings.size(); ++i) {
            context.setVariable(bindings[i].first, std::move(values[i]));
        }
        return body->evaluate(context);
    }
};

/// $map and $filter: evaluates `body` for each element of `input`, bound to a variable.
class ForEach final : public Expression {
public:
    ExprPtr input;
    ExprPtr body;
    ExprPtr limit;  // $filter's; may be null
    size_t slot = 0;
    bool isFilter = false;

    Value evaluate(ExprContext& context) const override {
        const Value array = input->evaluate(context);
        if (array.isNullish() || context.failed()) {
            return Value::null();
        }
        if (!array.element().isArray()) {
            return context.fail(location(isFilter ? 28651 : 16883),
                                std::string("input to ") + (isFilter ? "$filter" : "$map") +
                                    " must be an array not " + typeText(array));
        }
        int64_t left = INT32_MAX;
        if (limit != nullptr && !readLimit(context, &left)) {
            return {};
        }
        bson::Builder builder;
        for (const Element& member : array.element().document()) {
            context.setVariable(slot, array.part(member));
            const Value value = body->evaluate(context);
            if (context.failed() || !context.allows(builder.size() + value.heldBytes())) {
                return {};
            }
            if (!isFilter) {
                pushValue(value, &builder);
            } else if (isTrue(value)) {
                builder.pushElement(member);
                if (--left == 0) {
                    break;
                }
            }
        }
        return Value::ofArray(builder.finish());
    }

private:
    bool readLimit(ExprContext& context, int64_t* left) const {
        const Value value = limit->evaluate(context);
        if (value.isNullish()) {
            return true;
        }
        if (!integerArgument(context,
                             327391,
                             value,
                             "$filter: limit must be represented as a 32-bit integral: ",
                             left)) {
            return false;
        }
        if (*left < 1) {
            context.fail(location(327392),
                         "$filter: limit must be greater than 0: " + std::to_string(*left));
            return false;
        }
        return true;
    }

    static void pushValue(const Value& value, bson::Builder* builder) {
        if (value.isMissing()) {
            builder->push(bson::Null{});
        } else {
            builder->pushElement(value.element());
        }
    }
};

class Reduce final : public Expression {
public:
    ExprPtr input;
    ExprPtr initial;
    ExprPtr body;
    size_t thisSlot = 0;
    size_t valueSlot = 0;

    Value evaluate(ExprContext& context) const override {
        const Value array = input->evaluate(context);
        if (array.isNullish() || context.failed()) {
            return Value::null();
        }
        if (!array.element().isArray()) {
            return context.fail(
                location(40080),
                "$reduce requires that 'input' be an array, found: " + typeText(array));
        }
        Value value = initial->evaluate(context);
        for (const Element& member : array.element().document()) {
            context.setVariable(thisSlot, array.part(member));
            context.setVariable(valueSlot, value);
            value = body->evaluate(context);
            if (!context.allows(value.heldBytes()) || context.failed() ||
                !context.allowsNesting(value.element(), 0)) {
                return {};
            }
        }
        return value;
    }
};

/// A field by its literal name, including dots and dollars.
class GetField final : public Expression {
public:
    ExprPtr field;
    ExprPtr input;  // null: the current document

    Value evaluate(ExprContext& context) const override {
        const Value name = field->evaluate(context);
        if (!name.element().isString()) {
            return context.fail(
                location(3041704),
                "$getField requires 'field' to evaluate to type String, but got " + typeText(name));
        }
        if (input == nullptr) {
            return Value(context.root.find(name.element().stringValue()));
        }
        const Value holder = input->evaluate(context);
        if (!holder.element().isObject()) {
            return !holder.isMissing() && holder.isNullish() ? Value::null() : Value();
        }
        return holder.part(holder.element().document().find(name.element().stringValue()));
    }
};

/// Whether $getField's operand is an object of arguments and no expression.
bool namesArguments(const Element& operand) {
    return operand.isObject() &&
           !(!operand.document().isEmpty() && operand.document().begin()->name().starts_with('$'));
}

Status checkGetField(Document arguments) {
    for (const Element& argument : arguments) {
        if (argument.name() != "field" && argument.name() != "input") {
            return invalid(location(3041701),
                           "$getField found an unknown argument: " + std::string(argument.name()));
        }
    }
    for (const auto& [name, number] :
         {std::pair("field", 3041702u), std::pair("input", 3041703u)}) {
        if (!arguments.has(name)) {
            return invalid(location(number),
                           std::string("$getField requires '") + name + "' to be specified");
        }
    }
    return Status::ok();
}

StatusOr<ExprPtr> parseGetField(const Element& operand, ExprScope* scope) {
    auto result = std::make_shared<GetField>();
    const bool named = namesArguments(operand);
    if (named) {
        FRESHET_RETURN_IF_ERROR(checkGetField(operand.document()));
    }
    const Element field = named ? operand.document().find("field") : operand;
    FRESHET_ASSIGN_OR_RETURN(result->field, parseExpression(field, scope));
    if (named) {
        const Element input = operand.document().find("input");
        FRESHET_ASSIGN_OR_RETURN(result->input, parseExpression(input, scope));
    } else {
        scope->noteDocumentRead();
    }
    return ExprPtr(std::move(result));
}

StatusOr<ExprPtr> parseAnd(const Element& operand, ExprScope* scope) {
    FRESHET_ASSIGN_OR_RETURN(auto members, parseArguments(operand, scope));
    return ExprPtr(std::make_shared<Junction>(std::move(members), true));
}

StatusOr<ExprPtr> parseOr(const Element& operand, ExprScope* scope) {
    FRESHET_ASSIGN_OR_RETURN(auto members, parseArguments(operand, scope));
    return ExprPtr(std::make_shared<Junction>(std::move(members), false));
}

StatusOr<ExprPtr> parseCondObject(Document object, ExprScope* scope) {
    std::vector<ExprPtr> parts(3);
    for (const Element& field : object) {
        const size_t at = field.name() == "if" ? 0 : field.name() == "then" ? 1 : 2;
        if (at == 2 && field.name() != "else") {
            return invalid(location(17083),
                           "Unrecognized parameter to $cond: " + std::string(field.name()));
        }
        FRESHET_ASSIGN_OR_RETURN(parts[at], parseExpression(field, scope));
    }
    constexpr const char* kNames[] = {"if", "then", "else"};
    for (uint32_t i = 0; i < 3; ++i) {
        if (parts[i] == nullptr) {
            return invalid(location(17080 + i),
                           std::string("Missing '") + kNames[i] + "' parameter to $cond");
        }
    }
    return ExprPtr(std::make_shared<Conditional>(std::move(parts)));
}

StatusOr<ExprPtr> parseCond(const Element& operand, ExprScope* scope) {
    if (operand.isObject()) {
        return parseCondObject(operand.document(), scope);
    }
    FRESHET_ASSIGN_OR_RETURN(auto parts, parseArguments(operand, scope));
    if (parts.size() != 3) {
        return invalid(Reason::kExpressionArity,
                       "Expression $cond takes exactly 3 arguments. " +
                           std::to_string(parts.size()) + " were passed in.");
    }
    return ExprPtr(std::make_shared<Conditional>(std::move(parts)));
}

StatusOr<ExprPtr> parseIfNull(const Element& operand, ExprScope* scope) {
    FRESHET_ASSIGN_OR_RETURN(auto choices, parseArguments(operand, scope));
    if (choices.size() < 2) {
        return invalid(
            location(1257300),
            "$ifNull needs at least two arguments, had: " + std::to_string(choices.size()));
    }
    return ExprPtr(std::make_shared<IfNull>(std::move(choices)));
}

StatusOr<std::pair<ExprPtr, ExprPtr>> parseBranch(const Element& branch, ExprScope* scope) {
    if (!branch.isObject()) {
        return invalid(location(40062),
                       "$switch expected each branch to be an object, found: " +
                           std::string(bson::typeName(branch.type())));
    }
    std::pair<ExprPtr, ExprPtr> parsed;
    for (const Element& part : branch.document()) {
        if (part.name() == "case") {
            FRESHET_ASSIGN_OR_RETURN(parsed.first, parseExpression(part, scope));
        } else if (part.name() == "then") {
            FRESHET_ASSIGN_OR_RETURN(parsed.second, parseExpression(part, scope));
        } else {
            return invalid(
                location(40063),
                "$switch found an unknown argument to a branch: " + std::string(part.name()));
        }
    }
    if (parsed.first == nullptr || parsed.second == nullptr) {
        return invalid(location(parsed.first == nullptr ? 40064 : 40065),
                       std::string("$switch requires each branch have a '") +
                           (parsed.first == nullptr ? "case" : "then") + "' expression");
    }
    return parsed;
}

StatusOr<ExprPtr> parseSwitch(const Element& operand, ExprScope* scope) {
    if (!operand.isObject()) {
        return invalid(location(40060),
                       "$switch requires an object as an argument, found: " +
                           std::string(bson::typeName(operand.type())));
    }
    auto result = std::make_shared<Switch>();
    for (const Element& field : operand.document()) {
        if (field.name() == "default") {
            FRESHET_ASSIGN_OR_RETURN(result->otherwise, parseExpression(field, scope));
        } else if (field.name() != "branches") {
            return invalid(location(40067),
                           "$switch found an unknown argument: " + std::string(field.name()));
        } else if (!field.isArray()) {
            return invalid(location(40061),
                           "$switch expected an array for 'branches', found: " +
                               std::string(bson::typeName(field.type())));
        } else {
            for (const Element& branch : field.document()) {
                FRESHET_ASSIGN_OR_RETURN(auto parsed, parseBranch(branch, scope));
                result->branches.push_back(std::move(parsed));
            }
        }
    }
    if (result->branches.empty()) {
        return invalid(location(40068), "$switch requires at least one branch.");
    }
    return ExprPtr(std::move(result));
}

StatusOr<ExprPtr> parseLet(const Element& operand, ExprScope* scope) {
    if (!operand.isObject()) {
        return invalid(location(16874), "$let only supports an object as its argument");
    }
    const Document object = operand.document();
    for (const Element& field : object) {
        if (field.name() != "vars" && field.name() != "in") {
            return invalid(location(16875),
                           "Unrecognized parameter to $let: " + std::string(field.name()));
        }
    }
    const Element variables = object.find("vars");
    if (variables.isMissing() || !object.has("in")) {
        return invalid(location(variables.isMissing() ? 16876 : 16877),
                       std::string("Missing '") + (variables.isMissing() ? "vars" : "in") +
                           "' parameter to $let");
    }
    if (!variables.isObject()) {
        return invalid(Reason::kTypeMismatch, "invalid parameter: expected an object (vars)");
    }
    auto result = std::make_shared<Let>();
    std::vector<std::pair<ExprPtr, int>> values;  // with their levels
    for (const Element& variable : variables.document()) {
        FRESHET_RETURN_IF_ERROR(checkVariableName(variable.name()));
        int levels = 0;
        FRESHET_ASSIGN_OR_RETURN(ExprPtr value, parseBinding(variable, scope, &levels));
        values.emplace_back(std::move(value), levels);
    }
    size_t next = 0;
    for (const Element& variable : variables.document()) {
        auto& [value, levels] = values[next++];
        const size_t slot = scope->push(std::string(variable.name()), levels);
        result->bindings.emplace_back(slot, std::move(value));
    }
    auto body = parseExpression(object.find("in"), scope);
    scope->pop(values.size());
    FRESHET_ASSIGN_OR_RETURN(result->body, std::move(body));
    return ExprPtr(std::move(result));
}

StatusOr<ExprPtr> parseForEach(const Element& operand, ExprScope* scope) {
    auto result = std::make_shared<ForEach>();
    result->isFilter = operand.name() == "$filter";
    const bool isFilter = result->isFilter;
    const std::string name(operand.name());
    const std::string_view bodyName = isFilter ? "cond" : "in";
    if (!operand.isObject()) {
        return invalid(location(isFilter ? 28646 : 16878),
                       name + " only supports an object as its argument");
    }
    const Document object = operand.document();
    for (const Element& field : object) {
        const bool known = field.name() == "input" || field.name() == "as" ||
                           field.name() == bodyName || (isFilter && field.name() == "limit");
        if (!known) {
            return invalid(location(isFilter ? 28647 : 16879),
                           "Unrecognized parameter to " + name + ": " + std::string(field.name()));
        }
    }
    if (!object.has("input")) {
        return invalid(location(isFilter ? 28648 : 16880), "Missing 'input' parameter to " + name);
    }
    if (!object.has(bodyName)) {
        return invalid(location(isFilter ? 28650 : 16882),
                       "Missing '" + std::string(bodyName) + "' parameter to " + name);
    }
    const Element as = object.find("as");
    if (!as.isMissing()) {
        FRESHET_RETURN_IF_ERROR(checkVariableName(as.isString() ? as.stringValue() : ""));
    }
    int levels = 0;
    FRESHET_ASSIGN_OR_RETURN(result->input, parseBinding(object.find("input"), scope, &levels));
    if (object.has("limit")) {
        FRESHET_ASSIGN_OR_RETURN(result->limit, parseExpression(object.find("limit"), scope));
    }
    result->slot = scope->push(as.isString() ? std::string(as.stringValue()) : "this", levels);
    auto body = parseExpression(object.find(bodyName), scope);
    scope->pop(1);
    FRESHET_ASSIGN_OR_RETURN(result->body, std::move(body));
    return ExprPtr(std::move(result));
}

StatusOr<ExprPtr> parseReduce(const Element& operand, ExprScope* scope) {
    if (!operand.isObject()) {
        return invalid(location(40075),
                       "$reduce requires an object as an argument, found: " +
                           std::string(bson::typeName(operand.type())));
    }
    const Document object = operand.document();
    for (const Element& field : object) {
        if (field.name() != "input" && field.name() != "initialValue" && field.name() != "in") {
            return invalid(location(40076),
                           "$reduce found an unknown argument: " + std::string(field.name()));
        }
    }
    auto result = std::make_shared<Reduce>();
    for (const char* name : {"input", "initialValue", "in"}) {
        if (!object.has(name)) {
            const uint32_t number = name[1] == 'n' && name[2] == 'p' ? 40077
                                    : name[2] == 'i'                 ? 40078
                                                                     : 40079;
            return invalid(location(number),
                           std::string("$reduce requires '") + name + "' to be specified");
        }
    }
    int levels = 0;
    int initialLevels = 0;  // later values are tested when they are made
    FRESHET_ASSIGN_OR_RETURN(result->input, parseBinding(object.find("input"), scope, &levels));
    FRESHET_ASSIGN_OR_RETURN(result->initial,
                             parseBinding(object.find("initialValue"), scope, &initialLevels));
    result->thisSlot = scope->push("this", levels);
    result->valueSlot = scope->push("value", initialLevels);
    auto body = parseExpression(object.find("in"), scope);
    scope->pop(2);
    FRESHET_ASSIGN_OR_RETURN(result->body, std::move(body));
    return ExprPtr(std::move(result));
}

StatusOr<ExprPtr> parseLiteral(const Element& operand, ExprScope*) {
    return makeLiteral(Value(operand));
}

constexpr ParsedSpec kControlOperators[] = {
    {"$and", parseAnd},
    {"$or", parseOr},
    {"$cond", parseCond},
    {"$ifNull", parseIfNull},
    {"$switch", parseSwitch},
    {"$let", parseLet},
    {"$map", parseForEach},
    {"$filter", parseForEach},
    {"$reduce", parseReduce},
    {"$literal", parseLiteral},
    {"$const", parseLiteral},
    {"$getField", parseGetField},
};

}  // namespace

std::span<const ParsedSpec> controlOperators() {
    return kControlOperators;
}

}  // namespace freshet::query
