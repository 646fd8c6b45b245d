// SPDX-License-Identifier: Apache-2.0
/// $type, and the operators that convert one type to another.
#include "freshet/bson/json.h"
#include "freshet/query/expression/number.h"
#include "freshet/query/expression/operators.h"
#include "freshet/query/expression/time_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace freshet::query {
namespace {

using bson::Element;
using bson::Type;

Value type(ExprContext&, Arguments arguments) {
    return Value::of(bson::typeName(arguments[0].type()));
}

Value isNumber(ExprContext&, Arguments arguments) {
    return Value::of(arguments[0].element().isNumber());
}

Value unsupportedConversion(ExprContext& context, const Value& from, const char* to) {
    return context.fail(Reason::kConversionFailure,
                        "Unsupported conversion from " + typeText(from) + " to " + to +
                            " in $convert with no onError value");
}

Value parseFailure(ExprContext& context, const Value& text, const std::string& why) {
    return context.fail(Reason::kConversionFailure,
                        "Failed to parse number '" + std::string(text.element().stringValue()) +
                            "' in $convert with no onError value: " + why);
}

Value toText(ExprContext& context, Arguments arguments) {
    const Element& element = arguments[0].element();
    if (arguments[0].isNullish()) {
        return Value::null();
    }
    switch (element.type()) {
        case Type::kString:
            return arguments[0];
        case Type::kBool:
            return Value::of(std::string_view(element.boolValue() ? "true" : "false"));
        case Type::kInt32:
        case Type::kInt64:
            return Value::of(std::string_view(std::to_string(element.toInt64())));
        case Type::kDouble:
            return Value::of(std::string_view(doubleText(element.doubleValue())));
        case Type::kDecimal:
            return Value::of(std::string_view(bson::decimalText(element.decimalValue())));
        case Type::kDate:
            return Value::of(std::string_view(isoDateText(element.dateMillis())));
        case Type::kObjectId: {
            bson::ObjectId id;
            std::memcpy(id.bytes, element.objectIdBytes().data(), sizeof(id.bytes));
            return Value::of(std::string_view(id.toHex()));
        }
        default:
            return unsupportedConversion(context, arguments[0], "string");
    }
}

/// $toInt and $toLong.
template <bool narrow>
Value toInteger(ExprContext& context, Arguments arguments) {
    const Value& from = arguments[0];
    const Element& element = from.element();
    int64_t result = 0;
    if (from.isNullish()) {
        return Value::null();
    }
    if (element.isNumber()) {
        const double real = element.isInteger() ? 0 : element.toDouble();
        if (!std::isfinite(real) || std::fabs(real) >= 0x1p63) {
            return context.fail(Reason::kConversionFailure,
                                "Attempt to convert NaN or infinity value to integer type in "
                                "$convert with no onError value");
        }
        result = element.toInt64();
    } else if (element.type() == Type::kBool) {
        result = element.boolValue() ? 1 : 0;
    } else if (element.type() == Type::kDate && !narrow) {
        result = element.dateMillis();
    } else if (element.isString()) {
        const std::string_view text = element.stringValue();
        const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
        const auto [end, error] = std::from_chars(begin, text.data() + text.size(), result);
        if (error != std::errc() || end != text.data() + text.size()) {
            return parseFailure(
                context, from, text.empty() ? "No digits" : "Did not consume whole string.");
        }
    } else {
        return unsupportedConversion(context, from, narrow ? "int" : "long");
    }
    if (narrow && (result > INT32_MAX || result < INT32_MIN)) {
        return context.fail(
            Reason::kConversionFailure,
            "Conversion would overflow target type in $convert with no onError value: " +
                bson::toShellText(element));
    }
    return narrow ? Value::of(static_cast<int32_t>(result)) : Value::of(result);
}

Value toReal(ExprContext& context, Arguments arguments) {
    const Value& from = arguments[0];
    const Element& element = from.element();
    if (from.isNullish()) {
        return Value::null();
    }
    if (element.isNumber()) {
        return Value::of(element.toDouble());
    }
    if (element.type() == Type::kBool) {
        return Value::of(element.boolValue() ? 1.0 : 0.0);
    }
    if (element.type() == Type::kDate) {
        return Value::of(static_cast<double>(element.dateMillis()));
    }
    if (!element.isString()) {
        return unsupportedConversion(context, from, "double");
    }
    const std::string_view text = element.stringValue();
    double result = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error != std::errc() || end != text.data() + text.size()) {
        return parseFailure(
            context, from, text.empty() ? "Empty string" : "Did not consume whole string.");
    }
    return Value::of(result);
}

Value toDecimalValue(ExprContext& context, Arguments arguments) {
    const Value& from = arguments[0];
    const Element& element = from.element();
    if (from.isNullish()) {
        return Value::null();
    }
    if (element.isNumber()) {
        return Value::of(toDecimal(element));
    }
    if (element.type() == Type::kBool || element.type() == Type::kDate) {
        const int64_t number =
            element.type() == Type::kBool ? int64_t{element.boolValue()} : element.dateMillis();
        return Value::of(toDecimal(Value::of(number).element()));
    }
    if (!element.isString()) {
        return unsupportedConversion(context, from, "decimal");
    }
    auto parsed = parseDecimal(element.stringValue());
    return parsed.isOk() ? Value::of(*parsed)
                         : parseFailure(context, from, "Failed to parse string to decimal");
}

Value toBoolean(ExprContext&, Arguments arguments) {
    if (arguments[0].isNullish()) {
        return Value::null();
    }
    return Value::of(isTrue(arguments[0]));
}

Value toDate(ExprContext& context, Arguments arguments) {
    const Value& from = arguments[0];
    const Element& element = from.element();
    if (from.isNullish()) {
        return Value::null();
    }
    switch (element.type()) {
        case Type::kDate:
            return from;
        case Type::kInt64:
        case Type::kDouble:
        case Type::kDecimal:
            return Value::of(bson::Date{element.toInt64()});
        case Type::kTimestamp:
            return Value::of(
                bson::Date{static_cast<int64_t>(element.timestampValue() >> 32) * 1000});
        case Type::kObjectId:
            return Value::of(bson::Date{int64_t{loadBe32(element.objectIdBytes().data())} * 1000});
        case Type::kString: {
            auto millis = parseDate(element.stringValue());
            return millis.isOk() ? Value::of(bson::Date{*millis})
                                 : context.fail(Reason::kConversionFailure,
                                                std::string(millis.status().text()) +
                                                    " in $convert with no onError value");
        }
        default:
            return unsupportedConversion(context, from, "date");
    }
}

int hexDigit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

Value toObjectId(ExprContext& context, Arguments arguments) {
    const Value& from = arguments[0];
    if (from.isNullish()) {
        return Value::null();
    }
    if (from.type() == Type::kObjectId) {
        return from;
    }
    if (!from.element().isString()) {
        return unsupportedConversion(context, from, "objectId");
    }
    const std::string_view text = from.element().stringValue();
    bson::ObjectId id;
    bool good = text.size() == 2 * sizeof(id.bytes);
    for (size_t i = 0; good && i < sizeof(id.bytes); ++i) {
        const int high = hexDigit(text[2 * i]);
        const int low = hexDigit(text[2 * i + 1]);
        good = high >= 0 && low >= 0;
        id.bytes[i] = static_cast<char>(high << 4 | low);
    }
    if (!good) {
        return context.fail(Reason::kConversionFailure,
                            "Failed to parse objectId '" + std::string(text) +
                                "' in $convert with no onError value: Invalid string length for "
                                "parsing to OID, expected 24 but found " +
                                std::to_string(text.size()));
    }
    return Value::of(id);
}

/// The types that $convert knows, with the function of each.
struct Target {
    Type type;
    Value (*convert)(ExprContext& context, Arguments arguments);
};
constexpr Target kTargets[] = {
    {Type::kDouble, toReal},
    {Type::kString, toText},
    {Type::kObjectId, toObjectId},
    {Type::kBool, toBoolean},
    {Type::kDate, toDate},
    {Type::kInt32, toInteger<true>},
    {Type::kInt64, toInteger<false>},
    {Type::kDecimal, toDecimalValue},
};

/// The type that `to` names by alias or number; kEnd if the context failed.
Type targetOf(ExprContext& context, const Value& to) {
    const Element name =
        to.element().isObject() ? to.element().document().find("type") : to.element();
    int64_t number = 0;
    if (name.isString()) {
        const Type type = bson::typeFromName(name.stringValue());
        if (type == Type::kEnd) {
            context.fail(Reason::kBadValue,
                         "Unknown type name: " + std::string(name.stringValue()));
        }
        return type;
    }
    if (!name.isNumber()) {
        context.fail(Reason::kFailedToParse,
                     "$convert's 'to' argument must be a string or number, but is " +
                         std::string(bson::typeName(name.type())));
        return Type::kEnd;
    }
    const bool isWhole = name.toExactInt64(&number);
    const Type type = isWhole ? bson::typeFromNumber(number) : Type::kEnd;
    if (type == Type::kEnd) {
        context.fail(Reason::kFailedToParse,
                     isWhole ? "In $convert, numeric value for 'to' does not correspond to a BSON "
                               "type: " +
                                   std::to_string(number)
                             : "In $convert, numeric 'to' argument is not an integer");
    }
    return type;
}

/// {input, to, onError, onNull}
Value convert(ExprContext& context, Arguments arguments) {
    if (arguments[1].isNullish()) {
        return Value::null();
    }
    const Type type = targetOf(context, arguments[1]);
    if (context.failed()) {
        return {};
    }
    if (arguments[0].isNullish()) {
        return arguments[3].isMissing() ? Value::null() : arguments[3];
    }
    Value result;
    const auto target = std::find_if(
        std::begin(kTargets), std::end(kTargets), [&](const auto& t) { return t.type == type; });
    if (target == std::end(kTargets)) {
        result =
            unsupportedConversion(context, arguments[0], std::string(bson::typeName(type)).c_str());
    } else {
        result = target->convert(context, arguments.first(1));
    }
    if (context.failed() && !arguments[2].isMissing() &&
        context.error.reason() == Reason::kConversionFailure) {
        context.error = Status::ok();
        return arguments[2];
    }
    return result;
}

/// A UUID in its usual form with dashes, to binary data of subtype 4.
Value toUuid(ExprContext& context, Arguments arguments) {
    constexpr uint8_t kUuidSubtype = 4;
    const Element& from = arguments[0].element();
    if (arguments[0].isNullish()) {
        return Value::null();
    }
    if (from.type() == Type::kBinary && from.binaryValue().subtype == kUuidSubtype) {
        return arguments[0];
    }
    if (!from.isString()) {
        return unsupportedConversion(context, arguments[0], "binData");
    }
    std::string bytes;
    int high = -1;
    bool isGood = from.stringValue().size() == 36;
    for (size_t i = 0; isGood && i < from.stringValue().size(); ++i) {
        const char c = from.stringValue()[i];
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            isGood = c == '-';
            continue;
        }
        const int digit = hexDigit(c);
        isGood = digit >= 0;
        if (high >= 0) {
            bytes.push_back(static_cast<char>(high << 4 | digit));
        }
        high = high >= 0 ? -1 : digit;
    }
    if (!isGood) {
        return context.fail(Reason::kConversionFailure,
                            "Input is not a valid UUID in $convert with no onError value: " +
                                std::string(from.stringValue()));
    }
    bson::Builder builder;
    builder.add("v", bson::Binary{kUuidSubtype, bytes});
    const std::string document = builder.finish();
    return Value(*bson::Document(document).begin()).own();
}

constexpr FunctionSpec kConversions[] = {
    {"$type", 1, 1, type},
    {"$isNumber", 1, 1, isNumber},
    {"$toString", 1, 1, toText},
    {"$toInt", 1, 1, toInteger<true>},
    {"$toLong", 1, 1, toInteger<false>},
    {"$toDouble", 1, 1, toReal},
    {"$toDecimal", 1, 1, toDecimalValue},
    {"$toBool", 1, 1, toBoolean},
    {"$toDate", 1, 1, toDate},
    {"$toObjectId", 1, 1, toObjectId},
    {"$toUUID", 1, 1, toUuid},
};

}  // namespace

std::span<const FunctionSpec> conversionFunctions() {
    return kConversions;
}

std::span<const NamedFunctionSpec> namedConversionFunctions() {
    static const NamedFunctionSpec kNamed[] = {
        {"$convert", {"input", "to", "onError", "onNull"}, 2, convert},
    };
    return kNamed;
}

}  // namespace freshet::query
