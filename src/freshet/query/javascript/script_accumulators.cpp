// SPDX-License-Identifier: Apache-2.0
/// $accumulator, and the reduce function of mapReduce as an accumulator.
#include "freshet/query/expression/accumulator.h"
#include "freshet/query/javascript/scripts.h"

#include <vector>

namespace freshet::query {
namespace {

using bson::Element;

/// The source texts of an $accumulator.
struct Scripts {
    std::string init;
    std::string accumulate;
    std::string finalize;  // empty: none
};

/// [first, member, member, ...]
bson::OwnedDocument argumentsOf(const Value& first, const Value& rest) {
    bson::Builder builder;
    builder.pushElement(first.isMissing() ? Value::null().element() : first.element());
    for (const Element& member : rest.element().document()) {
        builder.pushElement(member);
    }
    return bson::OwnedDocument(builder.finish());
}

/// A state goes to disk as it is and comes back unchanged, so states are never merged: the operator
/// requires a merge function, but it is not called.
class Scripted final : public Accumulator {
public:
    explicit Scripted(std::shared_ptr<const Scripts> scripts) : scripts_(std::move(scripts)) {}
    void start(ExprContext& context, const Value& arguments) {
        state_ = callScript(context, scripts_->init, arguments.element().document());
    }
    void add(ExprContext& context, const Value& value) override {
        if (!value.element().isArray()) {
            context.fail(
                location(4544712),
                "$accumulator accumulateArgs must evaluate to an array: " + typeText(value));
            return;
        }
        const bson::OwnedDocument arguments = argumentsOf(state_, value);
        state_ = callScript(context, scripts_->accumulate, arguments.view());
    }
    Status finish() override {
        if (scripts_->finalize.empty()) {
            return Status::ok();
        }
        const bson::OwnedDocument arguments =
            argumentsOf(state_, Value::ofArray(bson::Document().bytes()));
        FRESHET_ASSIGN_OR_RETURN(state_,
                                 callScript(scripts_->finalize, Element(), arguments.view()));
        return Status::ok();
    }
    Value result() const override { return state_; }
    size_t heldBytes() const override { return sizeof(*this) + state_.heldBytes(); }
    void save(std::string* out) const override { appendValue(state_, out); }
    void restore(ValueReader* saved) override { state_ = saved->next().own(); }

private:
    const std::shared_ptr<const Scripts> scripts_;
    Value state_;
};

/// The parsed object of the operator.
struct AccumulatorSpec {
    Scripts scripts;
    std::string merge;
    ExprPtr initArguments;
    ExprPtr arguments;
};

Status readScript(const Element& field, ExprScope* scope, std::string* out) {
    const std::string name = "$accumulator '" + std::string(field.name());
    FRESHET_ASSIGN_OR_RETURN(
        *out,
        parseScript(field,
                    scope,
                    invalid(location(4544701), name + "' must be a constant expression"),
                    invalid(location(4544702), name + "' must be a String or Code")));
    return Status::ok();
}

Status checkLanguage(const Element& field) {
    if (!field.isString()) {
        return invalid(location(4544704),
                       "$accumulator lang must be a string; found: " +
                           std::string(bson::typeName(field.type())));
    }
    return field.stringValue() == "js"
               ? Status::ok()
               : invalid(location(4544705), "$accumulator only supports lang: 'js'");
}

Status readField(const Element& field, ExprScope* scope, AccumulatorSpec* out) {
    const std::string_view name = field.name();
    if (name == "init") {
        return readScript(field, scope, &out->scripts.init);
    }
    if (name == "accumulate") {
        return readScript(field, scope, &out->scripts.accumulate);
    }
    if (name == "merge") {
        return readScript(field, scope, &out->merge);
    }
    if (name == "finalize") {
        return readScript(field, scope, &out->scripts.finalize);
    }
    if (name == "lang") {
        return checkLanguage(field);
    }
    if (name != "initArgs" && name != "accumulateArgs") {
        return invalid(location(4544706),
                       "$accumulator got an unexpected field: " + std::string(name));
    }
    FRESHET_ASSIGN_OR_RETURN(ExprPtr arguments, parseExpression(field, scope));
    (name == "initArgs" ? out->initArguments : out->arguments) = std::move(arguments);
    return Status::ok();
}

Status checkWhole(const AccumulatorSpec& spec) {
    const auto missing = [](uint32_t number, const char* name) {
        return invalid(location(number),
                       std::string("$accumulator missing required argument '") + name + "'");
    };
    if (spec.scripts.init.empty()) {
        return missing(4544707, "init");
    }
    if (spec.scripts.accumulate.empty()) {
        return missing(4544708, "accumulate");
    }
    if (spec.merge.empty()) {
        return missing(4544709, "merge");
    }
    return spec.arguments == nullptr ? missing(4544710, "accumulateArgs") : Status::ok();
}

StatusOr<AccumulatorPlan> parseAccumulatorOperator(const Element& operand, ExprScope* scope) {
    if (!operand.isObject()) {
        return invalid(location(4544703),
                       "$accumulator expects an object as an argument; found: " +
                           std::string(bson::typeName(operand.type())));
    }
    AccumulatorSpec spec;
    for (const Element& field : operand.document()) {
        FRESHET_RETURN_IF_ERROR(readField(field, scope, &spec));
    }
    FRESHET_RETURN_IF_ERROR(checkWhole(spec));
    if (spec.initArguments == nullptr) {
        spec.initArguments = makeLiteral(Value::ofArray(bson::Document().bytes()));
    }
    AccumulatorPlan plan;
    plan.argument = std::move(spec.arguments);
    plan.makeState = [scripts = std::make_shared<const Scripts>(std::move(spec.scripts)),
                      arguments = std::move(spec.initArguments)](ExprContext& context) {
        auto state = std::make_unique<Scripted>(scripts);
        const Value given = arguments->evaluate(context);
        if (given.element().isArray()) {
            state->start(context, given);
        } else {
            context.fail(location(4544711),
                         "$accumulator initArgs must evaluate to an array: " + typeText(given));
        }
        return state;
    };
    return plan;
}

/// Keeps the values emitted for a key and reduces them at the end.
class Reduce final : public Accumulator {
public:
    explicit Reduce(std::shared_ptr<const std::string> source) : source_(std::move(source)) {}
    void add(ExprContext&, const Value& value) override {
        if (value.element().isObject()) {
            key_ = value.part(value.element().document().find("k")).own();
            take(value.part(value.element().document().find("v")));
        }
    }
    /// Reduces as many values at a time as fit into a document; each result is the first value of
    /// the next call.
    Status finish() override {
        Value reduced;
        for (size_t at = 0; at < values_.size();) {
            bson::Builder values;
            if (at > 0) {
                values.pushElement(reduced.element());
            }
            const size_t from = at;
            while (at < values_.size() && hasRoom(values.size(), values_[at])) {
                values.pushElement(values_[at++].element());
            }
            if (at == from) {
                return invalid(location(31392), "Value too large to reduce");
            }
            FRESHET_ASSIGN_OR_RETURN(reduced, reduce(values.finish()));
        }
        values_.assign(1, std::move(reduced));
        return Status::ok();
    }
    Value result() const override { return values_.empty() ? Value() : values_.front(); }
    size_t heldBytes() const override { return sizeof(*this) + bytes_; }
    void save(std::string* out) const override {
        appendValue(key_, out);
        appendValue(Value::of(static_cast<int64_t>(values_.size())), out);
        for (const Value& value : values_) {
            appendValue(value, out);
        }
    }
    void restore(ValueReader* saved) override {
        key_ = saved->next().own();
        for (int64_t left = saved->nextInteger(); left > 0; --left) {
            take(saved->next());
        }
    }

private:
    void take(const Value& value) {
        values_.push_back(value.own());
        bytes_ += values_.back().heldBytes();
    }
    bool hasRoom(size_t taken, const Value& value) const {
        return taken + key_.valueBytes() + value.valueBytes() < bson::kDocumentBytesMax;
    }
    StatusOr<Value> reduce(const std::string& values) const {
        bson::Builder arguments;
        arguments.pushElement(key_.element());
        arguments.pushElement(Value::ofArray(values).element());
        const bson::OwnedDocument holder(arguments.finish());
        return callScript(*source_, Element(), holder.view());
    }

    const std::shared_ptr<const std::string> source_;
    Value key_;
    std::vector<Value> values_;
    size_t bytes_ = 0;
};

/// {$_internalJsReduce: {eval: <reduce function>, data: <expression: {k: ..., v: ...}>}}
StatusOr<AccumulatorPlan> parseReduce(const Element& operand, ExprScope* scope) {
    if (!operand.isObject()) {
        return invalid(location(31326), "$_internalJsReduce requires a document argument");
    }
    const Status wrong = invalid(location(31244),
                                 "$_internalJsReduce requires the 'eval' argument to be of type "
                                 "string, or code");
    FRESHET_ASSIGN_OR_RETURN(std::string source,
                             parseScript(operand.document().find("eval"), scope, wrong, wrong));
    AccumulatorPlan plan;
    FRESHET_ASSIGN_OR_RETURN(plan.argument,
                             parseExpression(operand.document().find("data"), scope));
    plan.makeState = [kept = std::make_shared<const std::string>(std::move(source))](ExprContext&) {
        return std::make_unique<Reduce>(kept);
    };
    return plan;
}

}  // namespace

namespace {
constexpr std::string_view kScripted[] = {"$accumulator", "$_internalJsReduce"};
}  // namespace

bool isScriptedAccumulator(std::string_view name) {
    return name == kScripted[0] || name == kScripted[1];
}

void addScriptedAccumulators(Words* out) {
    for (const std::string_view name : kScripted) {
        out->push_back({.name = name});
    }
}

StatusOr<AccumulatorPlan> parseScriptedAccumulator(const Element& operand, ExprScope* scope) {
    FRESHET_RETURN_IF_ERROR(checkScriptsAllowed(ScriptUse::kAccumulator));
    return operand.name() == "$accumulator" ? parseAccumulatorOperator(operand, scope)
                                            : parseReduce(operand, scope);
}

}  // namespace freshet::query
