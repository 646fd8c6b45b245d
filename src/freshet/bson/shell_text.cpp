// SPDX-License-Identifier: Apache-2.0
/// Values as mongod's error texts write them, for example in "dup key: { a: 1, b: "x" }".
#include "freshet/bson/json.h"

#include <bson/bson.h>

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace freshet::bson {

namespace {

std::string upperHex(ByteView bytes) {
    std::string result = freshet::toHex(bytes);
    for (char& c : result) {
        c = static_cast<char>(std::toupper(c));
    }
    return result;
}

/// The fewest digits that read back as the same double, with ".0" added to whole numbers.
std::string doubleText(double value) {
    char text[32];
    for (int digits : {15, 16, 17}) {
        std::snprintf(text, sizeof text, "%.*g", digits, value);
        if (std::strtod(text, nullptr) == value) {
            break;
        }
    }
    std::string result = std::isnan(value) ? "nan" : text;
    return result.find_first_of(".e") == std::string::npos ? result + ".0" : result;
}

std::string quoted(std::string_view text) {
    return "\"" + std::string(text) + "\"";
}

std::string binaryText(Binary binary) {
    constexpr uint8_t kUuid = 4;
    std::string digits = freshet::toHex(binary.bytes);
    if (binary.subtype == kUuid && binary.bytes.size() == 16) {
        for (size_t dash : {8, 13, 18, 23}) {
            digits.insert(dash, "-");
        }
        return "UUID(" + quoted(digits) + ")";
    }
    return "BinData(" + std::to_string(binary.subtype) + ", " + upperHex(binary.bytes) + ")";
}

std::string timestampText(uint64_t value) {
    return "Timestamp(" + std::to_string(value >> 32) + ", " +
           std::to_string(value & 0xffff'ffffu) + ")";
}

std::string dbPointerText(const Element& element) {
    ByteView value = element.value();
    return "DBRef('" + std::string(element.stringValue()) + "'," +
           freshet::toHex(value.substr(value.size() - 12)) + ")";
}

std::string regexText(RegexView regex) {
    return "/" + std::string(regex.pattern) + "/" + std::string(regex.options);
}

std::string arrayText(Document array) {
    std::string result;
    for (const Element& element : array) {
        result += (result.empty() ? "[ " : ", ") + toShellText(element);
    }
    return result.empty() ? "[]" : result + " ]";
}

}  // namespace

std::string decimalText(Decimal128 value) {
    bson_decimal128_t decimal;
    decimal.low = value.low;
    decimal.high = value.high;
    char text[BSON_DECIMAL128_STRING];
    bson_decimal128_to_string(&decimal, text);
    return text;
}

std::string ObjectId::toHex() const {
    return freshet::toHex({bytes, sizeof bytes});
}

std::string toShellText(const Element& element) {
    switch (element.type()) {
        case Type::kEnd:
            return "missing";
        case Type::kDouble:
            return doubleText(element.doubleValue());
        case Type::kString:
        case Type::kSymbol:
            return quoted(element.stringValue());
        case Type::kObject:
            return toShellText(element.document());
        case Type::kArray:
            return arrayText(element.document());
        case Type::kBinary:
            return binaryText(element.binaryValue());
        case Type::kUndefined:
            return "undefined";
        case Type::kObjectId:
            return "ObjectId('" + freshet::toHex(element.objectIdBytes()) + "')";
        case Type::kBool:
            return element.boolValue() ? "true" : "false";
        case Type::kDate:
            return "new Date(" + std::to_string(element.dateMillis()) + ")";
        case Type::kNull:
            return "null";
        case Type::kRegex:
            return regexText(element.regexValue());
        case Type::kDbPointer:
            return dbPointerText(element);
        case Type::kCode:
            return std::string(element.stringValue());
        case Type::kCodeWithScope:
            return "CodeWScope( " + std::string(element.stringValue()) + ", " +
                   toShellText(element.document()) + ")";
        case Type::kInt32:
            return std::to_string(element.int32Value());
        case Type::kTimestamp:
            return timestampText(element.timestampValue());
        case Type::kInt64:
            return std::to_string(element.int64Value());
        case Type::kDecimal:
            return decimalText(element.decimalValue());
        case Type::kMinKey:
            return "MinKey";
        case Type::kMaxKey:
            return "MaxKey";
    }
    return {};
}

std::string toShellText(Document document) {
    std::string result;
    for (const Element& element : document) {
        result += result.empty() ? "{ " : ", ";
        result.append(element.name()).append(": ") += toShellText(element);
    }
    return result.empty() ? "{}" : result + " }";
}

}  // namespace freshet::bson
