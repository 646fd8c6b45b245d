// SPDX-License-Identifier: Apache-2.0
/// $median and $percentile. All numbers are kept, so results are exact: the smallest value such
/// that at least the wanted share of all values is not greater.
#include "freshet/bson/json.h"
#include "freshet/query/expression/accumulator.h"

#include <algorithm>
#include <cmath>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;

class Percentile final : public Accumulator {
public:
    Percentile(std::vector<double> shares, bool single)
        : shares_(std::move(shares)), single_(single) {}

    void add(ExprContext&, const Value& value) override {
        const Element& element = value.element();
        if (element.isNumber() && !std::isnan(element.toDouble())) {
            numbers_.push_back(element.toDouble());
            isSorted_ = false;
        }
    }

    Value result() const override {
        if (!isSorted_) {
            std::sort(numbers_.begin(), numbers_.end());
            isSorted_ = true;
        }
        if (single_) {
            return at(shares_[0]);
        }
        bson::Builder builder;
        for (const double share : shares_) {
            builder.pushElement(at(share).element());
        }
        return Value::ofArray(builder.finish());
    }

    size_t heldBytes() const override { return sizeof(*this) + numbers_.size() * sizeof(double); }
    void save(std::string* out) const override {
        appendValue(Value::of(static_cast<int64_t>(numbers_.size())), out);
        for (const double number : numbers_) {
            appendValue(Value::of(number), out);
        }
    }
    void restore(ValueReader* saved) override {
        for (int64_t left = saved->nextInteger(); left > 0; --left) {
            numbers_.push_back(saved->nextDouble());
        }
        isSorted_ = false;
    }

private:
    Value at(double share) const {
        if (numbers_.empty()) {
            return Value::null();
        }
        const double rank = std::ceil(share * static_cast<double>(numbers_.size()));
        return Value::of(numbers_[rank < 1 ? 0 : static_cast<size_t>(rank) - 1]);
    }

    std::vector<double> shares_;
    bool single_;
    mutable std::vector<double> numbers_;  // sorted when a result is wanted
    mutable bool isSorted_ = true;
};

struct PercentileSpec {
    ExprPtr input;
    std::vector<double> shares;
    bool single = false;
};

Status readShares(const Element& shares, std::vector<double>* out) {
    if (!shares.isArray() || shares.document().isEmpty()) {
        return invalid(location(7750300),
                       "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], but "
                       "found: " +
                           bson::toShellText(shares));
    }
    for (const Element& share : shares.document()) {
        if (!share.isNumber()) {
            return invalid(location(7750302),
                           "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], "
                           "but found: " +
                               bson::toShellText(share));
        }
        if (!(share.toDouble() >= 0 && share.toDouble() <= 1)) {
            return invalid(location(7750303),
                           "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], "
                           "but found: " +
                               bson::toShellText(share));
        }
        out->push_back(share.toDouble());
    }
    return Status::ok();
}

StatusOr<PercentileSpec> parseSpec(const Element& operand, ExprScope* scope) {
    const std::string name(operand.name());
    PercentileSpec spec;
    spec.single = name == "$median";
    if (!operand.isObject()) {
        return invalid(
            location(spec.single ? 7436100 : 7429703),
            "specification must be an object; found " + name + ": " + bson::toShellText(operand));
    }
    Element input;
    Element shares;
    Element method;
    for (const Element& field : operand.document()) {
        if (field.name() == "input") {
            input = field;
        } else if (field.name() == "method") {
            method = field;
        } else if (field.name() == "p" && !spec.single) {
            shares = field;
        } else {
            return invalid(
                location(40415),
                "BSON field '" + name + "." + std::string(field.name()) + "' is an unknown field.");
        }
    }
    for (const auto& [field, what] : {std::pair(input, "input"), std::pair(method, "method")}) {
        if (field.isMissing()) {
            return invalid(
                location(40414),
                "BSON field '" + name + "." + what + "' is missing but a required field");
        }
    }
    if (!method.isString() || method.stringValue() != "approximate") {
        return badValue("Currently only 'approximate' can be used as percentile 'method'.");
    }
    if (spec.single) {
        spec.shares = {0.5};
    } else {
        FRESHET_RETURN_IF_ERROR(readShares(shares, &spec.shares));
    }
    FRESHET_ASSIGN_OR_RETURN(spec.input, parseExpression(input, scope));
    return spec;
}

class PercentileOperator final : public Expression {
public:
    explicit PercentileOperator(PercentileSpec spec) : spec_(std::move(spec)) {}
    Value evaluate(ExprContext& context) const override {
        const Value input = spec_.input->evaluate(context);
        Percentile state(spec_.shares, spec_.single);
        if (!input.element().isArray()) {
            state.add(context, input);
        } else {
            for (const Element& member : input.element().document()) {
                state.add(context, Value(member));
            }
        }
        return state.result();
    }

private:
    PercentileSpec spec_;
};

}  // namespace

namespace {
constexpr std::string_view kPercentiles[] = {"$median", "$percentile"};
}  // namespace

bool isPercentileAccumulator(std::string_view name) {
    return name == kPercentiles[0] || name == kPercentiles[1];
}

void addPercentileAccumulators(Words* out) {
    for (const std::string_view name : kPercentiles) {
        out->push_back({.name = name});
    }
}

StatusOr<AccumulatorPlan> parsePercentileAccumulator(const Element& operand, ExprScope* scope) {
    FRESHET_ASSIGN_OR_RETURN(const PercentileSpec spec, parseSpec(operand, scope));
    AccumulatorPlan plan;
    plan.argument = spec.input;
    plan.makeState = [shares = spec.shares, single = spec.single](ExprContext&) {
        return std::make_unique<Percentile>(shares, single);
    };
    return plan;
}

StatusOr<ExprPtr> parsePercentileOperator(const Element& operand, ExprScope* scope) {
    FRESHET_ASSIGN_OR_RETURN(PercentileSpec spec, parseSpec(operand, scope));
    return ExprPtr(std::make_shared<PercentileOperator>(std::move(spec)));
}

}  // namespace freshet::query
