// SPDX-License-Identifier: Apache-2.0
/// Operators on arrays.
#include "freshet/bson/compare.h"
#include "freshet/query/expression/operators.h"

#include <algorithm>

namespace freshet::query {
namespace {

using bson::Element;

bool isArray(const Value& value) {
    return value.element().isArray();
}

Value mustBeArray(ExprContext& context,
                  uint32_t number,
                  const std::string& text,
                  const Value& wrong) {
    return context.fail(location(number), text + typeText(wrong));
}

/// The element at an index that may count from the end; missing if out of range.
Value elementAt(const Value& array, int64_t index) {
    const bson::Document document = array.element().document();
    if (index < 0) {
        index += document.fieldCount();
        if (index < 0) {
            return {};
        }
    }
    for (const Element& member : document) {
        if (index-- == 0) {
            return array.part(member);
        }
    }
    return {};
}

Value size(ExprContext& context, Arguments arguments) {
    if (!isArray(arguments[0])) {
        return mustBeArray(context,
                           17124,
                           "The argument to $size must be an array, but was of type: ",
                           arguments[0]);
    }
    return Value::of(static_cast<int32_t>(arguments[0].element().document().fieldCount()));
}

Value arrayElemAt(ExprContext& context, Arguments arguments) {
    if (arguments[0].isNullish() || arguments[1].isNullish()) {
        return Value::null();
    }
    if (!isArray(arguments[0])) {
        return mustBeArray(context,
                           28689,
                           "$arrayElemAt's first argument must be an array, but is ",
                           arguments[0]);
    }
    if (!arguments[1].element().isNumber()) {
        return context.fail(location(28690),
                            "$arrayElemAt's second argument must be a numeric value, but is " +
                                typeText(arguments[1]));
    }
    int64_t index = 0;
    if (!integerArgument(context,
                         28691,
                         arguments[1],
                         "$arrayElemAt's second argument must be representable as a 32-bit "
                         "integer: ",
                         &index)) {
        return {};
    }
    return elementAt(arguments[0], index);
}

template <bool last>
Value endOf(ExprContext& context, Arguments arguments) {
    if (arguments[0].isNullish()) {
        return Value::null();
    }
    if (!isArray(arguments[0])) {
        return mustBeArray(
            context,
            28689,
            std::string(last ? "$last" : "$first") + "'s argument must be an array, but is ",
            arguments[0]);
    }
    return elementAt(arguments[0], last ? -1 : 0);
}

Value in(ExprContext& context, Arguments arguments) {
    if (!isArray(arguments[1])) {
        return mustBeArray(
            context, 40081, "$in requires an array as a second argument, found: ", arguments[1]);
    }
    for (const Element& member : arguments[1].element().document()) {
        if (bson::equalValues(member, arguments[0].element())) {
            return Value::of(true);
        }
    }
    return Value::of(false);
}

Value indexOfArray(ExprContext& context, Arguments arguments) {
    if (arguments[0].isNullish()) {
        return Value::null();
    }
    if (!isArray(arguments[0])) {
        return mustBeArray(context,
                           40090,
                           "$indexOfArray requires an array as a first argument, found: ",
                           arguments[0]);
    }
    int64_t bounds[2] = {0, INT32_MAX};
    for (size_t i = 2; i < arguments.size(); ++i) {
        if (!integerArgument(context,
                             40096,
                             arguments[i],
                             "$indexOfArray requires an integral index, found: ",
                             &bounds[i - 2])) {
            return {};
        }
    }
    int32_t index = 0;
    for (const Element& member : arguments[0].element().document()) {
        if (index >= bounds[0] && index < bounds[1] &&
            bson::equalValues(member, arguments[1].element())) {
            return Value::of(index);
        }
        ++index;
    }
    return Value::of(int32_t{-1});
}

Value concatArrays(ExprContext& context, Arguments arguments) {
    bson::Builder builder;
    for (const Value& argument : arguments) {
        if (argument.isNullish()) {
            return Value::null();
        }
        if (!isArray(argument)) {
            return mustBeArray(
                context, 28664, "$concatArrays only supports arrays, not ", argument);
        }
        for (const Element& member : argument.element().document()) {
            builder.pushElement(member);
        }
    }
    return Value::ofArray(builder.finish());
}

/// {$slice: [array, n]} or [array, position, n].
Value slice(ExprContext& context, Arguments arguments) {
    for (const Value& argument : arguments) {
        if (argument.isNullish()) {
            return Value::null();
        }
    }
    if (!isArray(arguments[0])) {
        return mustBeArray(context,
                           28724,
                           "First argument to $slice must be an array, but is of type: ",
                           arguments[0]);
    }
    int64_t numbers[2] = {0, 0};
    for (size_t i = 1; i < arguments.size(); ++i) {
        if (!integerArgument(context,
                             i == 1 ? 28726 : 28728,
                             arguments[i],
                             "$slice's arguments must be representable as 32-bit integers: ",
                             &numbers[i - 1])) {
            return {};
        }
    }
    const int64_t total = arguments[0].element().document().fieldCount();
    int64_t from = 0;
    int64_t count = numbers[1];
    if (arguments.size() == 2) {
        count = std::abs(numbers[0]);
        from = numbers[0] >= 0 ? 0 : std::max<int64_t>(0, total - count);
    } else {
        if (count <= 0) {
            return context.fail(
                location(28729),
                "Third argument to $slice must be positive: " + std::to_string(count));
        }
        from = numbers[0] >= 0 ? numbers[0] : std::max<int64_t>(0, total + numbers[0]);
    }
    bson::Builder builder;
    int64_t index = 0;
    for (const Element& member : arguments[0].element().document()) {
        if (index >= from && index < from + count) {
            builder.pushElement(member);
        }
        ++index;
    }
    return Value::ofArray(builder.finish());
}

Value isArrayFunction(ExprContext&, Arguments arguments) {
    return Value::of(isArray(arguments[0]));
}

Value range(ExprContext& context, Arguments arguments) {
    constexpr int64_t kElementsMax = 4'000'000;  // of a 64 MiB result
    int64_t numbers[3] = {0, 0, 1};
    const char* names[] = {"starting value", "ending value", "step value"};
    for (size_t i = 0; i < arguments.size(); ++i) {
        if (!integerArgument(
                context,
                34444 + 2 * static_cast<uint32_t>(i),
                arguments[i],
                std::string("$range requires a 32-bit integral ") + names[i] + ", found: ",
                &numbers[i])) {
            return {};
        }
    }
    const auto [from, to, step] = numbers;
    if (step == 0) {
        return context.fail(location(34449), "$range requires a non-zero step value");
    }
    if ((to - from) / step > kElementsMax) {
        return context.fail(Reason::kExceededMemoryLimit, "$range would use too much memory");
    }
    constexpr size_t kElementBytes = 13;  // type, an index of seven digits, a number
    const auto elements = static_cast<size_t>(std::max<int64_t>(0, (to - from) / step));
    if (!context.allows(elements * kElementBytes)) {
        return {};
    }
    bson::Builder builder;
    for (int64_t at = from; step > 0 ? at < to : at > to; at += step) {
        builder.push(static_cast<int32_t>(at));
    }
    return Value::ofArray(builder.finish());
}

Value reverseArray(ExprContext& context, Arguments arguments) {
    if (arguments[0].isNullish()) {
        return Value::null();
    }
    if (!isArray(arguments[0])) {
        return mustBeArray(context,
                           34435,
                           "The argument to $reverseArray must be an array, but was of type: ",
                           arguments[0]);
    }
    std::vector<Element> members;
    for (const Element& member : arguments[0].element().document()) {
        members.push_back(member);
    }
    bson::Builder builder;
    for (auto at = members.rbegin(); at != members.rend(); ++at) {
        builder.pushElement(*at);
    }
    return Value::ofArray(builder.finish());
}

template <bool all>
Value elementsTrue(ExprContext& context, Arguments arguments) {
    if (!isArray(arguments[0])) {
        return mustBeArray(context,
                           all ? 17040 : 17041,
                           std::string(all ? "$allElementsTrue" : "$anyElementTrue") +
                               "'s argument must be an array, but is ",
                           arguments[0]);
    }
    for (const Element& member : arguments[0].element().document()) {
        if (member.isTruthy() != all) {
            return Value::of(!all);
        }
    }
    return Value::of(all);
}

constexpr FunctionSpec kArrays[] = {
    {"$size", 1, 1, size},
    {"$arrayElemAt", 2, 2, arrayElemAt},
    {"$first", 1, 1, endOf<false>},
    {"$last", 1, 1, endOf<true>},
    {"$in", 2, 2, in},
    {"$indexOfArray", 2, 4, indexOfArray},
    {"$concatArrays", 0, kAnyNumber, concatArrays},
    {"$slice", 2, 3, slice},
    {"$isArray", 1, 1, isArrayFunction},
    {"$range", 2, 3, range},
    {"$reverseArray", 1, 1, reverseArray},
    {"$allElementsTrue", 1, 1, elementsTrue<true>},
    {"$anyElementTrue", 1, 1, elementsTrue<false>},
};

}  // namespace

std::span<const FunctionSpec> arrayFunctions() {
    return kArrays;
}

}  // namespace freshet::query
