// SPDX-License-Identifier: Apache-2.0
/// Accumulators: what $group makes of many values. One state per group and field; not thread-safe.
#pragma once

#include "freshet/query/expression/expression.h"

#include <memory>
#include <string_view>

namespace freshet::query {

class Accumulator {
public:
    virtual ~Accumulator() = default;
    /// `value` may be missing. Fails the context when the value cannot be taken.
    virtual void add(ExprContext& context, const Value& value) = 0;
    /// Missing where nothing came.
    virtual Value result() const = 0;
    virtual size_t heldBytes() const { return sizeof(void*) * 8; }
};

using AccumulatorFactory = std::unique_ptr<Accumulator> (*)();

/// Null when there is no accumulator of that name.
AccumulatorFactory accumulatorByName(std::string_view name);

}  // namespace freshet::query
