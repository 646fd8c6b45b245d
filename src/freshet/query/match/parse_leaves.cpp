// SPDX-License-Identifier: Apache-2.0
/// Parses a filter into a tree: the operands of $type, $mod, $size and the bit tests.
#include "freshet/bson/json.h"
#include "freshet/query/match/tree.h"

#include <cmath>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::Type;

constexpr Type kAllTypes[] = {
    Type::kDouble,    Type::kString,    Type::kObject, Type::kArray,   Type::kBinary,
    Type::kUndefined, Type::kObjectId,  Type::kBool,   Type::kDate,    Type::kNull,
    Type::kRegex,     Type::kDbPointer, Type::kCode,   Type::kSymbol,  Type::kCodeWithScope,
    Type::kInt32,     Type::kTimestamp, Type::kInt64,  Type::kDecimal, Type::kMinKey,
    Type::kMaxKey};

Status addType(const Element& operand, std::bitset<256>* types) {
    if (operand.isString()) {
        if (operand.stringValue() == "number") {
            for (Type type : {Type::kDouble, Type::kInt32, Type::kInt64, Type::kDecimal}) {
                types->set(static_cast<uint8_t>(type));
            }
            return Status::ok();
        }
        const Type type = bson::typeFromName(operand.stringValue());
        if (type == Type::kEnd) {
            return badValue("Unknown type name alias: " + std::string(operand.stringValue()));
        }
        types->set(static_cast<uint8_t>(type));
        return Status::ok();
    }
    if (!operand.isNumber()) {
        return invalid(Reason::kTypeMismatch, "type must be represented as a number or a string");
    }
    int64_t code = 0;
    if (operand.toExactInt64(&code)) {
        for (Type type : kAllTypes) {
            const int64_t known = type == Type::kMinKey ? -1 : static_cast<uint8_t>(type);
            if (known == code) {
                types->set(static_cast<uint8_t>(type));
                return Status::ok();
            }
        }
    }
    return badValue("Invalid numerical type code: " + bson::toShellText(operand));
}

Status addBitPosition(const Element& element, const Element& operand, std::vector<uint32_t>* bits) {
    int64_t position = 0;
    if (!element.isNumber() || !element.toExactInt64(&position)) {
        return badValue("Failed to parse bit position. Expected a number in: " +
                        std::string(operand.name()));
    }
    if (position < 0 || position > INT32_MAX) {
        return badValue("Failed to parse bit position. Expected a non-negative number in: " +
                        std::string(operand.name()));
    }
    bits->push_back(static_cast<uint32_t>(position));
    return Status::ok();
}

Status parseBitMask(const Element& operand, MatchNode::Extra* extra) {
    if (operand.isArray()) {
        for (const Element& member : operand.document()) {
            FRESHET_RETURN_IF_ERROR(addBitPosition(member, operand, &extra->bits));
        }
        return Status::ok();
    }
    if (operand.type() == Type::kBinary) {
        extra->mask = operand.binaryValue().bytes;
        return Status::ok();
    }
    int64_t mask = 0;
    if (!operand.isNumber()) {
        return badValue(std::string(operand.name()) +
                        " takes an Array, a number, or a BinData but received: " +
                        std::string(operand.name()) + ": " + bson::toShellText(operand));
    }
    if (!operand.toExactInt64(&mask) || mask < 0) {
        return invalid(Reason::kFailedToParse,
                       "Expected a non-negative number in: " + std::string(operand.name()) + ": " +
                           bson::toShellText(operand));
    }
    for (uint32_t bit = 0; bit < 63; ++bit) {
        if ((mask >> bit) & 1) {
            extra->bits.push_back(bit);
        }
    }
    return Status::ok();
}

StatusOr<int64_t> modPart(const Element& part, const char* name) {
    const double value = part.toDouble();
    if (!part.isNumber()) {
        return badValue(std::string("malformed mod, ") + name + " not a number");
    }
    if (!std::isfinite(value) || std::fabs(value) >= 0x1p63) {
        return badValue(std::string("malformed mod, ") + name +
                        " value is invalid :: caused by :: Unable to coerce NaN/Inf to integral "
                        "type");
    }
    return part.toInt64();
}

}  // namespace

StatusOr<NodePtr> parseTypeNode(std::string_view path, const Element& operand) {
    std::shared_ptr<MatchNode::Extra> extra;
    NodePtr node = makeNode(MatchOp::kType, path, &extra);
    if (operand.isArray()) {
        if (operand.document().isEmpty()) {
            return invalid(Reason::kFailedToParse, "$type must match at least one type");
        }
        for (const Element& member : operand.document()) {
            FRESHET_RETURN_IF_ERROR(addType(member, &extra->types));
        }
    } else {
        FRESHET_RETURN_IF_ERROR(addType(operand, &extra->types));
    }
    return node;
}

StatusOr<NodePtr> parseModNode(std::string_view path, const Element& operand) {
    if (!operand.isArray()) {
        return badValue("malformed mod, needs to be an array");
    }
    const int count = operand.document().fieldCount();
    if (count != 2) {
        return badValue(count < 2 ? "malformed mod, not enough elements"
                                  : "malformed mod, too many elements");
    }
    std::shared_ptr<MatchNode::Extra> extra;
    NodePtr node = makeNode(MatchOp::kMod, path, &extra);
    auto at = operand.document().begin();
    FRESHET_ASSIGN_OR_RETURN(extra->divisor, modPart(*at, "divisor"));
    ++at;
    FRESHET_ASSIGN_OR_RETURN(extra->remainder, modPart(*at, "remainder"));
    if (extra->divisor == 0) {
        return badValue("divisor cannot be 0");
    }
    return node;
}

StatusOr<NodePtr> parseSizeNode(std::string_view path, const Element& operand) {
    const std::string shown = "$size: " + bson::toShellText(operand);
    std::shared_ptr<MatchNode::Extra> extra;
    NodePtr node = makeNode(MatchOp::kSize, path, &extra);
    if (!operand.isNumber()) {
        return badValue("Failed to parse $size. Expected a number in: " + shown);
    }
    if (!operand.toExactInt64(&extra->size)) {
        return badValue("Failed to parse $size. Expected an integer: " + shown);
    }
    if (extra->size < 0) {
        return badValue("Failed to parse $size. Expected a non-negative number in: " + shown);
    }
    return node;
}

StatusOr<NodePtr> parseBitsNode(std::string_view path, const Element& element) {
    std::shared_ptr<MatchNode::Extra> extra;
    NodePtr node = makeNode(MatchOp::kBits, path, &extra);
    extra->bitsAll = element.name().starts_with("$bitsAll");
    extra->bitsWanted = element.name().ends_with("Set");
    FRESHET_RETURN_IF_ERROR(parseBitMask(element, extra.get()));
    return node;
}

}  // namespace freshet::query
