// SPDX-License-Identifier: Apache-2.0
/// Operators on strings. Those named ...CP count code points, those named ...Bytes count bytes.
#include "freshet/bson/json.h"
#include "freshet/query/expression/number.h"
#include "freshet/query/expression/operators.h"
#include "freshet/query/expression/time_text.h"

#include <algorithm>

namespace freshet::query {
namespace {

using bson::Element;
using bson::Type;

bool isContinuation(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

int64_t codePoints(std::string_view text) {
    return std::count_if(text.begin(), text.end(), [](char c) { return !isContinuation(c); });
}

/// The byte where code point `index` begins; the text's end if there are fewer.
size_t byteOfCodePoint(std::string_view text, int64_t index) {
    size_t at = 0;
    while (at < text.size() && index > 0) {
        do {
            ++at;
        } while (at < text.size() && isContinuation(text[at]));
        --index;
    }
    return at;
}

/// Converts what $toUpper, $substr, $concat and others accept as a string; numbers and dates are
/// written out.
bool coerceToString(ExprContext& context, const Value& value, std::string* out) {
    const Element& element = value.element();
    switch (element.type()) {
        case Type::kString:
        case Type::kSymbol:
        case Type::kCode:
            *out = std::string(element.stringValue());
            return true;
        case Type::kInt32:
        case Type::kInt64:
            *out = std::to_string(element.toInt64());
            return true;
        case Type::kDouble:
            *out = doubleText(element.doubleValue());
            return true;
        case Type::kDecimal:
            *out = bson::decimalText(element.decimalValue());
            return true;
        case Type::kDate:
            *out = isoDateText(element.dateMillis());
            return true;
        default:
            break;
    }
    if (value.isNullish()) {
        out->clear();
        return true;
    }
    context.fail(location(16007), "can't convert from BSON type " + typeText(value) + " to String");
    return false;
}

Value concat(ExprContext& context, Arguments arguments) {
    std::string result;
    for (const Value& argument : arguments) {
        if (argument.isNullish()) {
            return Value::null();
        }
        if (!argument.element().isString()) {
            return context.fail(location(16702),
                                "$concat only supports strings, not " + typeText(argument));
        }
        result += argument.element().stringValue();
    }
    return Value::of(result);
}

template <int (*convert)(int)>
Value changeCase(ExprContext& context, Arguments arguments) {
    std::string text;
    if (!coerceToString(context, arguments[0], &text)) {
        return {};
    }
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < 0x80) {
            c = static_cast<char>(convert(c));
        }
    }
    return Value::of(text);
}

int lower(int c) {
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}
int upper(int c) {
    return c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c;
}

Value substrBytes(ExprContext& context, Arguments arguments) {
    std::string text;
    if (!coerceToString(context, arguments[0], &text)) {
        return {};
    }
    if (!arguments[1].element().isNumber() || !arguments[2].element().isNumber()) {
        const bool first = !arguments[1].element().isNumber();
        return context.fail(location(first ? 16034 : 16035),
                            std::string("$substrBytes:  ") + (first ? "starting index" : "length") +
                                " must be a numeric type (is BSON type " +
                                typeText(arguments[first ? 1 : 2]) + ")");
    }
    const int64_t start = arguments[1].element().toInt64();
    const int64_t length = arguments[2].element().toInt64();
    if (start < 0) {
        return context.fail(location(50752),
                            "$substrBytes: starting index must be non-negative (got: " +
                                std::to_string(start) + ")");
    }
    const size_t from = std::min<uint64_t>(static_cast<uint64_t>(start), text.size());
    const size_t rest = text.size() - from;
    const size_t count =
        length < 0 ? rest : std::min<uint64_t>(static_cast<uint64_t>(length), rest);
    if (from < text.size() && isContinuation(text[from])) {
        return context.fail(location(28656),
                            "$substrBytes:  Invalid range, starting index is a UTF-8 continuation "
                            "byte.");
    }
    if (from + count < text.size() && isContinuation(text[from + count])) {
        return context.fail(location(28657),
                            "$substrBytes:  Invalid range, ending index is in the middle of a "
                            "UTF-8 character.");
    }
    return Value::of(std::string_view(text).substr(from, count));
}

Value substrCodePoints(ExprContext& context, Arguments arguments) {
    std::string text;
    int64_t start = 0;
    int64_t length = 0;
    if (!coerceToString(context, arguments[0], &text) ||
        !integerArgument(context,
                         34450,
                         arguments[1],
                         "$substrCP: starting index must be a 32-bit integer: ",
                         &start) ||
        !integerArgument(context,
                         34452,
                         arguments[2],
                         "$substrCP: length must be a 32-bit integer: ",
                         &length)) {
        return {};
    }
    if (start < 0 || length < 0) {
        return context.fail(location(start < 0 ? 34455 : 34454),
                            start < 0
                                ? "$substrCP: the starting index must be a non-negative integer."
                                : "$substrCP: length must be a nonnegative integer.");
    }
    const std::string_view rest = std::string_view(text).substr(byteOfCodePoint(text, start));
    return Value::of(rest.substr(0, byteOfCodePoint(rest, length)));
}

template <bool bytes>
Value stringLength(ExprContext& context, Arguments arguments) {
    const Element& text = arguments[0].element();
    if (!text.isString()) {
        return context.fail(location(bytes ? 34473 : 34471),
                            std::string(bytes ? "$strLenBytes" : "$strLenCP") +
                                " requires a string argument, found: " + typeText(arguments[0]));
    }
    const std::string_view value = text.stringValue();
    return Value::ofInteger(bytes ? static_cast<int64_t>(value.size()) : codePoints(value));
}

Value split(ExprContext& context, Arguments arguments) {
    if (arguments[0].isNullish() || arguments[1].isNullish()) {
        return Value::null();
    }
    for (const int i : {0, 1}) {
        if (!arguments[i].element().isString()) {
            return context.fail(
                location(i == 0 ? 40085 : 40086),
                std::string("$split requires an expression that evaluates to a string as a ") +
                    (i == 0 ? "first" : "second") + " argument, found: " + typeText(arguments[i]));
        }
    }
    std::string_view text = arguments[0].element().stringValue();
    const std::string_view separator = arguments[1].element().stringValue();
    if (separator.empty()) {
        return context.fail(location(40087), "$split requires a non-empty separator");
    }
    bson::Builder builder;
    for (;;) {
        const size_t at = text.find(separator);
        builder.push(text.substr(0, at));
        if (at == std::string_view::npos) {
            return Value::ofArray(builder.finish());
        }
        text.remove_prefix(at + separator.size());
    }
}

template <bool bytes>
Value indexOf(ExprContext& context, Arguments arguments) {
    const char* name = bytes ? "$indexOfBytes" : "$indexOfCP";
    if (arguments[0].isNullish()) {
        return Value::null();
    }
    for (const int i : {0, 1}) {
        if (!arguments[i].element().isString()) {
            return context.fail(location((bytes ? 40091 : 40093) + static_cast<uint32_t>(i)),
                                std::string(name) + " requires a string as the " +
                                    (i == 0 ? "first" : "second") +
                                    " argument, found: " + typeText(arguments[i]));
        }
    }
    const std::string_view text = arguments[0].element().stringValue();
    const std::string_view wanted = arguments[1].element().stringValue();
    int64_t bounds[2] = {0, INT32_MAX};
    for (size_t i = 2; i < arguments.size(); ++i) {
        if (!integerArgument(context,
                             40096,
                             arguments[i],
                             std::string(name) + " requires an integral index, found: ",
                             &bounds[i - 2])) {
            return {};
        }
        if (bounds[i - 2] < 0) {
            return context.fail(Reason::kBadValue,
                                std::string(name) + " requires a nonnegative index");
        }
    }
    const auto toByte = [&](int64_t index) {
        return bytes ? std::min<size_t>(static_cast<size_t>(index), text.size())
                     : byteOfCodePoint(text, index);
    };
    const size_t from = toByte(bounds[0]);
    const size_t to = toByte(bounds[1]);
    const int64_t total = bytes ? static_cast<int64_t>(text.size()) : codePoints(text);
    if (bounds[0] > total || from > to) {
        return Value::of(int32_t{-1});
    }
    const size_t at = text.substr(0, to).find(wanted, from);
    if (at == std::string_view::npos) {
        return Value::of(int32_t{-1});
    }
    return Value::ofInteger(bytes ? static_cast<int64_t>(at) : codePoints(text.substr(0, at)));
}

Value strcasecmp(ExprContext& context, Arguments arguments) {
    std::string a;
    std::string b;
    if (!coerceToString(context, arguments[0], &a) || !coerceToString(context, arguments[1], &b)) {
        return {};
    }
    std::transform(a.begin(), a.end(), a.begin(), upper);
    std::transform(b.begin(), b.end(), b.begin(), upper);
    const int order = a.compare(b);
    return Value::of(static_cast<int32_t>((order > 0) - (order < 0)));
}

constexpr FunctionSpec kStrings[] = {
    {"$concat", 0, kAnyNumber, concat},
    {"$toLower", 1, 1, changeCase<lower>},
    {"$toUpper", 1, 1, changeCase<upper>},
    {"$substr", 3, 3, substrBytes},
    {"$substrBytes", 3, 3, substrBytes},
    {"$substrCP", 3, 3, substrCodePoints},
    {"$strLenBytes", 1, 1, stringLength<true>},
    {"$strLenCP", 1, 1, stringLength<false>},
    {"$split", 2, 2, split},
    {"$indexOfBytes", 2, 4, indexOf<true>},
    {"$indexOfCP", 2, 4, indexOf<false>},
    {"$strcasecmp", 2, 2, strcasecmp},
};

/// White space that MongoDB trims, in UTF-8.
constexpr std::string_view kSpaces[] = {std::string_view("\0", 1),
                                        " ",
                                        "\t",
                                        "\n",
                                        "\v",
                                        "\f",
                                        "\r",
                                        "\u00a0",
                                        "\u1680",
                                        "\u2000",
                                        "\u2001",
                                        "\u2002",
                                        "\u2003",
                                        "\u2004",
                                        "\u2005",
                                        "\u2006",
                                        "\u2007",
                                        "\u2008",
                                        "\u2009",
                                        "\u200a"};

std::vector<std::string_view> trimSet(const Value& chars) {
    if (chars.isMissing()) {
        return {std::begin(kSpaces), std::end(kSpaces)};
    }
    std::vector<std::string_view> result;
    std::string_view rest = chars.element().stringValue();
    while (!rest.empty()) {
        const size_t bytes = byteOfCodePoint(rest, 1);
        result.push_back(rest.substr(0, bytes));
        rest.remove_prefix(bytes);
    }
    return result;
}

template <bool left, bool right>
Value trim(ExprContext& context, Arguments arguments) {
    const char* name = left && right ? "$trim" : left ? "$ltrim" : "$rtrim";
    const Value& input = arguments[0];
    const Value& chars = arguments[1];
    if (input.isNullish() || (!chars.isMissing() && chars.isNullish())) {
        return Value::null();
    }
    if (!input.element().isString() || !(chars.isMissing() || chars.element().isString())) {
        const bool isInput = !input.element().isString();
        return context.fail(location(isInput ? 50699 : 50700),
                            std::string(name) + " requires " + (isInput ? "its input" : "'chars'") +
                                " to be a string, got " +
                                bson::toShellText((isInput ? input : chars).element()) +
                                " (of type " + typeText(isInput ? input : chars) + ") instead.");
    }
    std::string_view text = input.element().stringValue();
    const std::vector<std::string_view> set = trimSet(chars);
    const auto cutOne = [&](bool front) {
        for (std::string_view c : set) {
            if (front ? text.starts_with(c) : text.ends_with(c)) {
                front ? text.remove_prefix(c.size()) : text.remove_suffix(c.size());
                return true;
            }
        }
        return false;
    };
    while (left && !text.empty() && cutOne(true)) {
    }
    while (right && !text.empty() && cutOne(false)) {
    }
    return Value::of(text);
}

template <bool all>
Value replace(ExprContext& context, Arguments arguments) {
    const char* name = all ? "$replaceAll" : "$replaceOne";
    const char* parts[] = {"input", "find", "replacement"};
    bool nullish = false;
    for (size_t i = 0; i < 3; ++i) {
        nullish |= arguments[i].isNullish();
        if (!arguments[i].isNullish() && !arguments[i].element().isString()) {
            return context.fail(
                location((all ? 51746U : 51746U) - static_cast<uint32_t>(i == 0   ? 0
                                                                         : i == 1 ? 1
                                                                                  : 2)),
                std::string(name) + " requires that '" + parts[i] +
                    "' be a string, found: " + bson::toShellText(arguments[i].element()));
        }
    }
    if (nullish) {
        return Value::null();
    }
    std::string_view text = arguments[0].element().stringValue();
    const std::string_view find = arguments[1].element().stringValue();
    std::string result;
    for (size_t at = text.find(find); at != text.npos && !find.empty(); at = text.find(find)) {
        result.append(text.substr(0, at)).append(arguments[2].element().stringValue());
        if (!context.allows(result.size())) {
            return {};
        }
        text.remove_prefix(at + find.size());
        if (!all) {
            break;
        }
    }
    return Value::of(result.append(text));
}

}  // namespace

std::span<const FunctionSpec> stringFunctions() {
    return kStrings;
}

std::span<const NamedFunctionSpec> namedStringFunctions() {
    static const NamedFunctionSpec kNamed[] = {
        {"$trim", {"input", "chars"}, 1, trim<true, true>},
        {"$ltrim", {"input", "chars"}, 1, trim<true, false>},
        {"$rtrim", {"input", "chars"}, 1, trim<false, true>},
        {"$replaceOne", {"input", "find", "replacement"}, 3, replace<false>},
        {"$replaceAll", {"input", "find", "replacement"}, 3, replace<true>},
    };
    return kNamed;
}

}  // namespace freshet::query
