// SPDX-License-Identifier: Apache-2.0
/// $firstN, $lastN, $minN, $maxN, $top, $topN, $bottom and $bottomN: the first few of many values.
#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/query/expression/accumulator.h"
#include "freshet/query/transform.h"

#include <algorithm>
#include <deque>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;

struct Ranking {
    std::string_view name;
    enum Kind : uint8_t { kFirst, kLast, kMin, kMax, kTop, kBottom } kind;
    bool single;  // $top and $bottom: one value, not an array
};

constexpr Ranking kRankings[] = {
    {"$firstN", Ranking::kFirst, false},
    {"$lastN", Ranking::kLast, false},
    {"$minN", Ranking::kMin, false},
    {"$maxN", Ranking::kMax, false},
    {"$top", Ranking::kTop, true},
    {"$topN", Ranking::kTop, false},
    {"$bottom", Ranking::kBottom, true},
    {"$bottomN", Ranking::kBottom, false},
};

const Ranking* findRanking(std::string_view name) {
    for (const Ranking& known : kRankings) {
        if (known.name == name) {
            return &known;
        }
    }
    return nullptr;
}

bool isSorted(const Ranking& ranking) {
    return ranking.kind == Ranking::kTop || ranking.kind == Ranking::kBottom;
}

/// The document's sort key and the wanted output, as {k: <bytes>, v: <output>}.
class KeyedOutput final : public Expression {
public:
    KeyedOutput(SortPattern pattern, ExprPtr output)
        : pattern_(std::move(pattern)), output_(std::move(output)) {}
    Value evaluate(ExprContext& context) const override {
        const Value output = output_->evaluate(context);
        bson::Builder builder;
        const std::string key = pattern_.keyOf(context.root);
        builder.add("k", bson::Binary{0, key});
        if (!output.isMissing()) {
            builder.addAs("v", output.element());
        }
        return Value::ofDocument(builder.finish());
    }

private:
    SortPattern pattern_;
    ExprPtr output_;
};

/// Keeps at most n values: in order of arrival for $firstN and $lastN, sorted for the others.
class Ranked final : public Accumulator {
public:
    Ranked(const Ranking& ranking, size_t n) : ranking_(ranking), n_(n) {}

    void add(ExprContext&, const Value& value) override {
        switch (ranking_.kind) {
            case Ranking::kFirst:
                if (kept_.size() < n_) {
                    hold({std::string(), value.own()});
                }
                return;
            case Ranking::kLast:
                hold({std::string(), value.own()});
                if (kept_.size() > n_) {
                    drop(kept_.begin());
                }
                return;
            case Ranking::kMin:
            case Ranking::kMax:
                if (!value.isNullish()) {
                    insert({std::string(), value.own()});
                }
                return;
            case Ranking::kTop:
            case Ranking::kBottom:
                break;
        }
        const Document keyed = value.element().document();
        insert(
            {std::string(keyed.find("k").binaryValue().bytes), value.part(keyed.find("v")).own()});
    }

    Value result() const override {
        if (ranking_.single) {
            return kept_.empty() ? Value::null() : kept_.front().value;
        }
        bson::Builder builder;
        for (const Item& item : kept_) {
            if (item.value.isMissing()) {
                builder.push(bson::Null{});
            } else {
                builder.pushElement(item.value.element());
            }
        }
        return Value::ofArray(builder.finish());
    }

    size_t heldBytes() const override { return sizeof(*this) + bytes_; }
    void save(std::string* out) const override {
        appendValue(Value::of(static_cast<int64_t>(kept_.size())), out);
        for (const Item& item : kept_) {
            appendValue(Value::of(std::string_view(item.key)), out);
            appendValue(item.value, out);
        }
    }
    void restore(ValueReader* saved) override {
        for (int64_t left = saved->nextInteger(); left > 0; --left) {
            std::string key(saved->next().element().stringValue());
            hold({std::move(key), saved->next().own()});
        }
    }

private:
    struct Item {
        std::string key;  // of $top and similar; memcmp order
        Value value;
        size_t bytes() const { return sizeof(Item) + key.size() + value.valueBytes(); }
    };

    int order(const Item& a, const Item& b) const {
        switch (ranking_.kind) {
            case Ranking::kMin:
                return bson::compareValues(a.value.element(), b.value.element());
            case Ranking::kMax:
                return bson::compareValues(b.value.element(), a.value.element());
            default:
                return a.key.compare(b.key);
        }
    }

    /// After equal ones. $bottom keeps the last ones, the others the first ones.
    void insert(Item item) {
        const bool keepsLast = ranking_.kind == Ranking::kBottom;
        const auto at = std::upper_bound(
            kept_.begin(), kept_.end(), item, [this](const Item& a, const Item& b) {
                return order(a, b) < 0;
            });
        if (kept_.size() == n_ && at == (keepsLast ? kept_.begin() : kept_.end())) {
            return;
        }
        bytes_ += item.bytes();
        kept_.insert(at, std::move(item));
        if (kept_.size() > n_) {
            drop(keepsLast ? kept_.begin() : kept_.end() - 1);
        }
    }

    void hold(Item item) {
        bytes_ += item.bytes();
        kept_.push_back(std::move(item));
    }
    void drop(std::deque<Item>::iterator at) {
        bytes_ -= at->bytes();
        kept_.erase(at);
    }

    const Ranking& ranking_;
    size_t n_;
    std::deque<Item> kept_;
    size_t bytes_ = 0;
};

bool evaluateCount(ExprContext& context, const Value& n, int64_t* out) {
    const bool isWhole = n.element().isNumber() && n.element().toExactInt64(out);
    if (!isWhole) {
        context.fail(
            location(n.element().isNumber() ? 5787903 : 5787902),
            "Value for 'n' must be of integral type, but found " + bson::toShellText(n.element()));
        return false;
    }
    if (*out <= 0) {
        context.fail(location(5787908),
                     "'n' must be greater than 0, found " + std::to_string(*out));
        return false;
    }
    return true;
}

/// The fields of {n: ..., input: ...} or {n: ..., output: ..., sortBy: ...}.
struct RankedFields {
    Element n;
    Element value;
    Element sortBy;
};

StatusOr<RankedFields> readFields(const Ranking& ranking, const Element& operand) {
    const std::string name(ranking.name);
    const bool sorted = isSorted(ranking);
    const std::string_view valueName = sorted ? "output" : "input";
    if (!operand.isObject()) {
        return invalid(
            location(sorted ? 5788001 : 5787801),
            "specification must be an object; found " + name + ": " + bson::toShellText(operand));
    }
    RankedFields fields;
    for (const Element& field : operand.document()) {
        if (field.name() == "n" && !ranking.single) {
            fields.n = field;
        } else if (field.name() == valueName) {
            fields.value = field;
        } else if (sorted && field.name() == "sortBy") {
            fields.sortBy = field;
        } else {
            return invalid(
                location(sorted ? 5788002 : 5787901),
                "Unknown argument for '" + name + "' operator: " + std::string(field.name()));
        }
    }
    if (fields.n.isMissing() && !ranking.single) {
        return invalid(location(sorted ? 5788003 : 5787906), "Missing value for 'n'");
    }
    if (fields.value.isMissing()) {
        return invalid(location(sorted ? 5788004 : 5787907),
                       "Missing value for '" + std::string(valueName) + "'");
    }
    if (sorted && !fields.sortBy.isObject()) {
        return invalid(location(sorted && fields.sortBy.isMissing() ? 5788005 : 10065),
                       fields.sortBy.isMissing()
                           ? "Missing value for 'sortBy'"
                           : "invalid parameter: expected an object (sortBy)");
    }
    return fields;
}

class RankedOperator final : public Expression {
public:
    RankedOperator(const Ranking& ranking, ExprPtr n, ExprPtr input)
        : ranking_(ranking), n_(std::move(n)), input_(std::move(input)) {}
    Value evaluate(ExprContext& context) const override {
        int64_t n = 0;
        if (!evaluateCount(context, n_->evaluate(context), &n)) {
            return {};
        }
        const Value input = input_->evaluate(context);
        if (context.failed()) {
            return {};
        }
        if (!input.element().isArray()) {
            return context.fail(location(5788200), "Input must be an array");
        }
        Ranked state(ranking_, static_cast<size_t>(n));
        for (const Element& member : input.element().document()) {
            state.add(context, input.part(member));
        }
        return state.result();
    }

private:
    const Ranking& ranking_;
    ExprPtr n_;
    ExprPtr input_;
};

}  // namespace

bool isRankedAccumulator(std::string_view name) {
    return findRanking(name) != nullptr;
}

void addRankedAccumulators(Words* out) {
    addWords(kRankings, out);
}

StatusOr<AccumulatorPlan> parseRankedAccumulator(const Element& operand, ExprScope* scope) {
    const Ranking& ranking = *findRanking(operand.name());
    FRESHET_ASSIGN_OR_RETURN(const RankedFields fields, readFields(ranking, operand));
    AccumulatorPlan plan;
    FRESHET_ASSIGN_OR_RETURN(plan.argument, parseExpression(fields.value, scope));
    if (isSorted(ranking)) {
        FRESHET_ASSIGN_OR_RETURN(SortPattern pattern,
                                 SortPattern::compile(fields.sortBy.document()));
        plan.argument = std::make_shared<KeyedOutput>(std::move(pattern), plan.argument);
    }
    ExprPtr n = makeLiteral(Value::of(int32_t{1}));
    if (!ranking.single) {
        FRESHET_ASSIGN_OR_RETURN(n, parseExpression(fields.n, scope));
    }
    plan.makeState = [&ranking, n](ExprContext& context) {
        int64_t count = 0;
        evaluateCount(context, n->evaluate(context), &count);
        return std::make_unique<Ranked>(ranking, static_cast<size_t>(count));
    };
    return plan;
}

StatusOr<ExprPtr> parseRankedOperator(const Element& operand, ExprScope* scope) {
    const Ranking& ranking = *findRanking(operand.name());
    FRESHET_ASSIGN_OR_RETURN(const RankedFields fields, readFields(ranking, operand));
    FRESHET_ASSIGN_OR_RETURN(ExprPtr n, parseExpression(fields.n, scope));
    FRESHET_ASSIGN_OR_RETURN(ExprPtr input, parseExpression(fields.value, scope));
    return ExprPtr(std::make_shared<RankedOperator>(ranking, std::move(n), std::move(input)));
}

}  // namespace freshet::query
