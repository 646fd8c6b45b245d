// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/expression/accumulator.h"

#include "freshet/bson/compare.h"
#include "freshet/query/expression/number.h"
#include "freshet/query/expression/operators.h"
#include "freshet/query/expression/value_set.h"

#include <cmath>

namespace freshet::query {
namespace {

using bson::Element;
using bson::Type;

Value arrayOf(const std::vector<Value>& values) {
    bson::Builder builder;
    for (const Value& value : values) {
        builder.pushElement(value.element());
    }
    return Value::ofArray(builder.finish());
}

/// A list of values, preceded by its length.
void saveAll(const std::vector<Value>& values, std::string* out) {
    appendValue(Value::of(static_cast<int64_t>(values.size())), out);
    for (const Value& value : values) {
        appendValue(value, out);
    }
}

template <typename Take>
void restoreAll(ValueReader* saved, Take&& take) {
    for (int64_t left = saved->nextInteger(); left > 0; --left) {
        take(saved->next());
    }
}

/// A sum that keeps integers exact and compensates doubles (Neumaier's summation), so that the
/// order of documents hardly matters.
class Total {
public:
    void add(const Element& number) {
        switch (number.type()) {
            case Type::kInt32:
            case Type::kInt64:
                integers_ += number.toInt64();
                break;
            case Type::kDouble:
                addDouble(number.doubleValue());
                break;
            default:
                decimal_ = decimal_.isMissing()
                               ? Value(number).own()
                               : calculate(Arithmetic::kAdd, decimal_.element(), number);
                break;
        }
        hasDouble_ |= number.type() == Type::kDouble;
        hasLong_ |= number.type() == Type::kInt64;
    }

    double asDouble() const {
        const double special = sum_ + compensation_;
        const double doubles = std::isfinite(special) ? special : sum_;
        return doubles + static_cast<double>(integers_);
    }

    Value value() const {
        if (!decimal_.isMissing()) {
            const Value rest = hasDouble_ ? Value::of(asDouble()) : integerValue();
            return calculate(Arithmetic::kAdd, decimal_.element(), rest.element());
        }
        return hasDouble_ ? Value::of(asDouble()) : integerValue();
    }

    bool hasDecimal() const { return !decimal_.isMissing(); }

    void save(std::string* out) const {
        appendValue(Value::of(static_cast<int64_t>(integers_ >> kHalfBits)), out);
        appendValue(Value::of(static_cast<int64_t>(integers_)), out);
        appendValue(Value::of(sum_), out);
        appendValue(Value::of(compensation_), out);
        appendValue(decimal_, out);
        appendValue(Value::of(hasDouble_), out);
        appendValue(Value::of(hasLong_), out);
    }
    void restore(ValueReader* saved) {
        const auto high = static_cast<__int128>(saved->nextInteger());
        const auto low = static_cast<uint64_t>(saved->nextInteger());
        integers_ = high * (static_cast<__int128>(1) << kHalfBits) + low;
        sum_ = saved->nextDouble();
        compensation_ = saved->nextDouble();
        decimal_ = saved->next().own();
        hasDouble_ = saved->next().element().boolValue();
        hasLong_ = saved->next().element().boolValue();
    }

private:
    static constexpr int kHalfBits = 64;

    void addDouble(double value) {
        const double next = sum_ + value;
        compensation_ +=
            std::fabs(sum_) >= std::fabs(value) ? (sum_ - next) + value : (value - next) + sum_;
        sum_ = next;
    }

    Value integerValue() const {
        if (integers_ > INT64_MAX || integers_ < INT64_MIN) {
            return Value::of(static_cast<double>(integers_));
        }
        const auto whole = static_cast<int64_t>(integers_);
        return hasLong_ ? Value::of(whole) : Value::ofInteger(whole);
    }

    __int128 integers_ = 0;
    double sum_ = 0;
    double compensation_ = 0;
    Value decimal_;
    bool hasDouble_ = false;
    bool hasLong_ = false;
};

class Sum final : public Accumulator {
public:
    void add(ExprContext&, const Value& value) override {
        if (value.element().isNumber()) {
            total_.add(value.element());
        }
    }
    Value result() const override { return total_.value(); }
    void save(std::string* out) const override { total_.save(out); }
    void restore(ValueReader* saved) override { total_.restore(saved); }

private:
    Total total_;
};

class Average final : public Accumulator {
public:
    void add(ExprContext&, const Value& value) override {
        if (value.element().isNumber()) {
            total_.add(value.element());
            ++count_;
        }
    }
    Value result() const override {
        if (count_ == 0) {
            return Value::null();
        }
        if (total_.hasDecimal()) {
            return calculate(
                Arithmetic::kDivide, total_.value().element(), Value::of(count_).element());
        }
        return Value::of(total_.asDouble() / static_cast<double>(count_));
    }
    void save(std::string* out) const override {
        total_.save(out);
        appendValue(Value::of(count_), out);
    }
    void restore(ValueReader* saved) override {
        total_.restore(saved);
        count_ = saved->nextInteger();
    }

private:
    Total total_;
    int64_t count_ = 0;
};

class Count final : public Accumulator {
public:
    void add(ExprContext&, const Value&) override { ++count_; }
    Value result() const override { return Value::ofInteger(count_); }
    void save(std::string* out) const override { appendValue(Value::of(count_), out); }
    void restore(ValueReader* saved) override { count_ = saved->nextInteger(); }

private:
    int64_t count_ = 0;
};

template <bool isMax>
class Extreme final : public Accumulator {
public:
    void add(ExprContext&, const Value& value) override {
        if (value.isNullish()) {
            return;
        }
        if (!best_.isMissing()) {
            const int order = bson::compareValues(value.element(), best_.element());
            if (isMax ? order <= 0 : order >= 0) {
                return;
            }
        }
        best_ = value.own();
    }
    Value result() const override { return best_.isMissing() ? Value::null() : best_; }
    size_t heldBytes() const override { return best_.heldBytes(); }
    void save(std::string* out) const override { appendValue(best_, out); }
    void restore(ValueReader* saved) override { best_ = saved->next().own(); }

private:
    Value best_;
};

template <bool isLast>
class End final : public Accumulator {
public:
    void add(ExprContext&, const Value& value) override {
        if (isLast || !seen_) {
            end_ = value.own();
            seen_ = true;
        }
    }
    Value result() const override { return end_; }
    size_t heldBytes() const override { return end_.heldBytes(); }
    void save(std::string* out) const override {
        appendValue(Value::of(seen_), out);
        appendValue(end_, out);
    }
    void restore(ValueReader* saved) override {
        seen_ = saved->next().element().boolValue();
        end_ = saved->next().own();
    }

private:
    Value end_;
    bool seen_ = false;
};

class Push final : public Accumulator {
public:
    void add(ExprContext&, const Value& value) override { take(value); }
    Value result() const override { return arrayOf(values_); }
    size_t heldBytes() const override { return sizeof(*this) + bytes_; }
    void save(std::string* out) const override { saveAll(values_, out); }
    void restore(ValueReader* saved) override {
        restoreAll(saved, [this](const Value& value) { take(value); });
    }

private:
    void take(const Value& value) {
        if (!value.isMissing()) {
            values_.push_back(value.own());
            bytes_ += values_.back().heldBytes();
        }
    }

    std::vector<Value> values_;
    size_t bytes_ = 0;
};

class AddToSet final : public Accumulator {
public:
    void add(ExprContext&, const Value& value) override { take(value); }
    Value result() const override { return arrayOf(order_); }
    size_t heldBytes() const override { return sizeof(*this) + 2 * bytes_; }
    void save(std::string* out) const override { saveAll(order_, out); }
    void restore(ValueReader* saved) override {
        restoreAll(saved, [this](const Value& value) { take(value); });
    }

private:
    void take(const Value& value) {
        if (!value.isMissing() && !seen_.contains(value)) {
            const Value kept = value.own();
            bytes_ += kept.heldBytes();
            seen_.insert(kept);
            order_.push_back(kept);
        }
    }

    ValueSet seen_;
    std::vector<Value> order_;
    size_t bytes_ = 0;
};

class MergeObjects final : public Accumulator {
public:
    void add(ExprContext& context, const Value& value) override {
        const Value both[] = {merged_, value};
        merged_ = mergeObjects(context, both);
    }
    Value result() const override {
        return merged_.isMissing() ? Value::ofDocument(bson::Document().bytes()) : merged_;
    }
    size_t heldBytes() const override { return merged_.heldBytes(); }
    void save(std::string* out) const override { appendValue(merged_, out); }
    void restore(ValueReader* saved) override { merged_ = saved->next().own(); }

private:
    Value merged_;
};

/// Welford's algorithm: one pass, no cancellation.
template <bool sample>
class Deviation final : public Accumulator {
public:
    void add(ExprContext&, const Value& value) override {
        if (!value.element().isNumber()) {
            return;
        }
        const double number = value.element().toDouble();
        ++count_;
        const double delta = number - mean_;
        mean_ += delta / static_cast<double>(count_);
        squares_ += delta * (number - mean_);
    }
    Value result() const override {
        const int64_t degrees = sample ? count_ - 1 : count_;
        return degrees <= 0 ? Value::null()
                            : Value::of(std::sqrt(squares_ / static_cast<double>(degrees)));
    }
    void save(std::string* out) const override {
        appendValue(Value::of(count_), out);
        appendValue(Value::of(mean_), out);
        appendValue(Value::of(squares_), out);
    }
    void restore(ValueReader* saved) override {
        count_ = saved->nextInteger();
        mean_ = saved->nextDouble();
        squares_ = saved->nextDouble();
    }

private:
    int64_t count_ = 0;
    double mean_ = 0;
    double squares_ = 0;
};

using AccumulatorFactory = std::unique_ptr<Accumulator> (*)();

template <typename T>
std::unique_ptr<Accumulator> make() {
    return std::make_unique<T>();
}

struct Named {
    std::string_view name;
    AccumulatorFactory factory;
};

constexpr Named kAccumulators[] = {
    {"$sum", make<Sum>},
    {"$avg", make<Average>},
    {"$count", make<Count>},
    {"$min", make<Extreme<false>>},
    {"$max", make<Extreme<true>>},
    {"$first", make<End<false>>},
    {"$last", make<End<true>>},
    {"$push", make<Push>},
    {"$addToSet", make<AddToSet>},
    {"$mergeObjects", make<MergeObjects>},
    {"$stdDevPop", make<Deviation<false>>},
    {"$stdDevSamp", make<Deviation<true>>},
};

AccumulatorFactory accumulatorByName(std::string_view name) {
    for (const Named& known : kAccumulators) {
        if (known.name == name) {
            return known.factory;
        }
    }
    return nullptr;
}

/// As an expression, an accumulator works on its arguments, or on the members of its only argument
/// if that is an array.
template <typename T>
Value accumulate(ExprContext& context, Arguments arguments) {
    T state;
    if (arguments.size() == 1 && arguments[0].element().isArray()) {
        for (const Element& member : arguments[0].element().document()) {
            state.add(context, arguments[0].part(member));
        }
    } else {
        for (const Value& argument : arguments) {
            state.add(context, argument);
        }
    }
    return state.result();
}

constexpr FunctionSpec kFunctions[] = {
    {"$sum", 0, kAnyNumber, accumulate<Sum>},
    {"$avg", 0, kAnyNumber, accumulate<Average>},
    {"$min", 0, kAnyNumber, accumulate<Extreme<false>>},
    {"$max", 0, kAnyNumber, accumulate<Extreme<true>>},
    {"$stdDevPop", 0, kAnyNumber, accumulate<Deviation<false>>},
    {"$stdDevSamp", 0, kAnyNumber, accumulate<Deviation<true>>},
};

}  // namespace

bool isAccumulator(std::string_view name) {
    return accumulatorByName(name) != nullptr || isRankedAccumulator(name) ||
           isPercentileAccumulator(name) || isScriptedAccumulator(name);
}

Words accumulatorWords() {
    Words words;
    addWords(kAccumulators, &words);
    addRankedAccumulators(&words);
    addPercentileAccumulators(&words);
    addScriptedAccumulators(&words);
    return words;
}

StatusOr<AccumulatorPlan> parseAccumulator(const Element& operand, ExprScope* scope) {
    const std::string name(operand.name());
    if (isRankedAccumulator(name)) {
        return parseRankedAccumulator(operand, scope);
    }
    if (isPercentileAccumulator(name)) {
        return parsePercentileAccumulator(operand, scope);
    }
    if (isScriptedAccumulator(name)) {
        return parseScriptedAccumulator(operand, scope);
    }
    const AccumulatorFactory factory = accumulatorByName(name);
    if (factory == nullptr) {
        return invalid(Reason::kGroupUnknownOperator, "unknown group operator '" + name + "'");
    }
    AccumulatorPlan plan;
    plan.makeState = [factory](ExprContext&) { return factory(); };
    if (name == "$count") {
        if (!operand.isObject() || !operand.document().isEmpty()) {
            return invalid(Reason::kTypeMismatch, "$count takes no arguments, i.e. $count:{}");
        }
        plan.argument = makeLiteral(Value());
        return plan;
    }
    if (operand.isArray() && operand.document().fieldCount() != 1) {
        return invalid(location(40237), "The " + name + " accumulator is a unary operator");
    }
    const Element argument = operand.isArray() ? *operand.document().begin() : operand;
    FRESHET_ASSIGN_OR_RETURN(plan.argument, parseExpression(argument, scope));
    return plan;
}

std::span<const FunctionSpec> accumulatorFunctions() {
    return kFunctions;
}

}  // namespace freshet::query
