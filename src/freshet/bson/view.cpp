// SPDX-License-Identifier: Apache-2.0
/// Elements and documents of validated bytes: sizes of values, look-up by name and path, and
/// numbers as C++ numbers. The validator is in validate.cpp.
#include "freshet/bson/view.h"

#include "freshet/bson/number/decimal.h"

#include <cmath>
#include <limits>

namespace freshet::bson {

namespace {

struct Alias {
    Type type;
    std::string_view name;
};

constexpr Alias kAliases[] = {
    {Type::kDouble, "double"},
    {Type::kString, "string"},
    {Type::kObject, "object"},
    {Type::kArray, "array"},
    {Type::kBinary, "binData"},
    {Type::kUndefined, "undefined"},
    {Type::kObjectId, "objectId"},
    {Type::kBool, "bool"},
    {Type::kDate, "date"},
    {Type::kNull, "null"},
    {Type::kRegex, "regex"},
    {Type::kDbPointer, "dbPointer"},
    {Type::kCode, "javascript"},
    {Type::kSymbol, "symbol"},
    {Type::kCodeWithScope, "javascriptWithScope"},
    {Type::kInt32, "int"},
    {Type::kTimestamp, "timestamp"},
    {Type::kInt64, "long"},
    {Type::kDecimal, "decimal"},
    {Type::kMinKey, "minKey"},
    {Type::kMaxKey, "maxKey"},
};

/// The size of a validated value.
uint32_t valueSize(Type type, const char* value) {
    switch (type) {
        case Type::kBool:
            return 1;
        case Type::kInt32:
            return 4;
        case Type::kDouble:
        case Type::kDate:
        case Type::kTimestamp:
        case Type::kInt64:
            return 8;
        case Type::kObjectId:
            return 12;
        case Type::kDecimal:
            return 16;
        case Type::kString:
        case Type::kSymbol:
        case Type::kCode:
            return 4 + loadLe<uint32_t>(value);
        case Type::kObject:
        case Type::kArray:
        case Type::kCodeWithScope:
            return loadLe<uint32_t>(value);
        case Type::kBinary:
            return 5 + loadLe<uint32_t>(value);
        case Type::kDbPointer:
            return 4 + loadLe<uint32_t>(value) + 12;
        case Type::kRegex: {
            size_t pattern = std::strlen(value) + 1;
            return static_cast<uint32_t>(pattern + std::strlen(value + pattern) + 1);
        }
        case Type::kEnd:
        case Type::kUndefined:
        case Type::kNull:
        case Type::kMinKey:
        case Type::kMaxKey:
            return 0;
    }
    return 0;
}

int64_t doubleToInt64(double value) {
    if (std::isnan(value)) {
        return 0;
    }
    if (value >= 0x1p63) {
        return std::numeric_limits<int64_t>::max();
    }
    if (value < -0x1p63) {
        return std::numeric_limits<int64_t>::min();
    }
    return static_cast<int64_t>(value);
}

}  // namespace

std::string_view typeName(Type type) {
    for (const Alias& alias : kAliases) {
        if (alias.type == type) {
            return alias.name;
        }
    }
    return "missing";
}

Type typeFromName(std::string_view name) {
    for (const Alias& alias : kAliases) {
        if (alias.name == name) {
            return alias.type;
        }
    }
    return Type::kEnd;
}

Type typeFromNumber(int64_t number) {
    if (number == -1) {
        return Type::kMinKey;
    }
    for (const Alias& alias : kAliases) {
        if (alias.type != Type::kMinKey && static_cast<int64_t>(alias.type) == number) {
            return alias.type;
        }
    }
    return Type::kEnd;
}

Element::Element(const char* start)
    : start_(start), nameBytes_(static_cast<uint32_t>(std::strlen(start + 1))) {
    valueBytes_ = valueSize(type(), valueStart());
}

bool Element::isNumber() const {
    Type t = type();
    return t == Type::kDouble || t == Type::kInt32 || t == Type::kInt64 || t == Type::kDecimal;
}

Decimal128 Element::decimalValue() const {
    return {loadLe<uint64_t>(valueStart()), loadLe<uint64_t>(valueStart() + 8)};
}

std::string_view Element::stringValue() const {
    const char* string = valueStart() + (type() == Type::kCodeWithScope ? 4 : 0);
    return {string + 4, loadLe<uint32_t>(string) - 1};
}

Binary Element::binaryValue() const {
    const char* v = valueStart();
    return {static_cast<uint8_t>(v[4]), {v + 5, loadLe<uint32_t>(v)}};
}

RegexView Element::regexValue() const {
    std::string_view pattern(valueStart());
    return {pattern, std::string_view(pattern.data() + pattern.size() + 1)};
}

Document Element::document() const {
    const char* v = valueStart();
    if (type() == Type::kCodeWithScope) {
        v += 8 + loadLe<uint32_t>(v + 4);
    }
    return Document(v);
}

double Element::toDouble() const {
    switch (type()) {
        case Type::kDouble:
            return doubleValue();
        case Type::kInt32:
            return int32Value();
        case Type::kInt64:
            return static_cast<double>(int64Value());
        case Type::kDecimal:
            return decimal::toDouble(decimalValue());
        default:
            return 0;
    }
}

int64_t Element::toInt64() const {
    switch (type()) {
        case Type::kDouble:
            return doubleToInt64(doubleValue());
        case Type::kInt32:
            return int32Value();
        case Type::kInt64:
            return int64Value();
        case Type::kDecimal:
            return decimal::toInt64(decimalValue());
        default:
            return 0;
    }
}

bool Element::toExactInt64(int64_t* out) const {
    if (!isNumber()) {
        return false;
    }
    *out = toInt64();
    if (type() == Type::kDouble) {
        double value = doubleValue();
        return value < 0x1p63 && static_cast<double>(*out) == value;
    }
    return type() != Type::kDecimal ||
           decimal::compare(decimalValue(), decimal::fromInt64(*out)) == 0;
}

bool Element::isTruthy() const {
    switch (type()) {
        case Type::kEnd:
        case Type::kNull:
        case Type::kUndefined:
            return false;
        case Type::kBool:
            return boolValue();
        case Type::kInt32:
            return int32Value() != 0;
        case Type::kInt64:
            return int64Value() != 0;
        case Type::kDouble:
            return doubleValue() != 0;
        case Type::kDecimal:
            return !decimal::isZero(decimalValue());
        default:
            return true;
    }
}

Document::Document() : data_("\x05\0\0\0") {}  // the literal's own zero is the fifth byte

Element Document::find(std::string_view name) const {
    for (const Element& element : *this) {
        if (element.name() == name) {
            return element;
        }
    }
    return {};
}

Element Document::findPath(std::string_view dottedPath) const {
    Document at = *this;
    for (;;) {
        size_t dot = dottedPath.find('.');
        Element element = at.find(dottedPath.substr(0, dot));
        if (dot == std::string_view::npos || element.isMissing()) {
            return element;
        }
        if (!element.isArray() && !element.isObject()) {
            return {};
        }
        at = element.document();
        dottedPath.remove_prefix(dot + 1);
    }
}

int Document::fieldCount() const {
    int count = 0;
    for (Iterator at = begin(); at != end(); ++at) {
        ++count;
    }
    return count;
}

}  // namespace freshet::bson
