// SPDX-License-Identifier: Apache-2.0
/// Accumulators: what $group and $setWindowFields compute from many values. One state per group and
/// field; not thread-safe.
#pragma once

#include "freshet/query/expression/operators.h"
#include "freshet/query/expression/value_bytes.h"
#include "freshet/query/language.h"

#include <functional>
#include <memory>
#include <string_view>

namespace freshet::query {

class Accumulator {
public:
    virtual ~Accumulator() = default;
    /// `value` may be missing. Fails the context when the value is not acceptable.
    virtual void add(ExprContext& context, const Value& value) = 0;
    /// After the last add() and before result(), once: the part that may fail.
    virtual Status finish() { return Status::ok(); }
    /// Missing if nothing was added.
    virtual Value result() const = 0;
    virtual size_t heldBytes() const { return sizeof(void*) * 8; }
    /// Appends values from which restore() makes the same state in a new accumulator.
    virtual void save(std::string* out) const = 0;
    virtual void restore(ValueReader* saved) = 0;
};

/// A parsed `{$accumulator: operand}`. Any thread.
struct AccumulatorPlan {
    ExprPtr argument;  // computes the value to add from each document
    /// Makes a new state. The context's root is the group's key if that is an object; fails the
    /// context when the accumulator's `n` is invalid.
    std::function<std::unique_ptr<Accumulator>(ExprContext& context)> makeState;
};

bool isAccumulator(std::string_view name);
/// kInvalid: location 15952 for unknown names, location 40237 for several arguments, ...
StatusOr<AccumulatorPlan> parseAccumulator(const bson::Element& operand, ExprScope* scope);

// Parts of parseAccumulator for accumulators that take an object with options.

/// $firstN, $lastN, $minN, $maxN, $top, $topN, $bottom, $bottomN.
bool isRankedAccumulator(std::string_view name);
void addRankedAccumulators(Words* out);
StatusOr<AccumulatorPlan> parseRankedAccumulator(const bson::Element& operand, ExprScope* scope);
/// $median and $percentile.
bool isPercentileAccumulator(std::string_view name);
void addPercentileAccumulators(Words* out);
StatusOr<AccumulatorPlan> parsePercentileAccumulator(const bson::Element& operand,
                                                     ExprScope* scope);
/// $accumulator, and the reduce function of mapReduce.
bool isScriptedAccumulator(std::string_view name);
void addScriptedAccumulators(Words* out);
StatusOr<AccumulatorPlan> parseScriptedAccumulator(const bson::Element& operand, ExprScope* scope);
/// The same names as operators over an array: $firstN ... $maxN, $median, $percentile.
StatusOr<ExprPtr> parseRankedOperator(const bson::Element& operand, ExprScope* scope);
StatusOr<ExprPtr> parsePercentileOperator(const bson::Element& operand, ExprScope* scope);

}  // namespace freshet::query
