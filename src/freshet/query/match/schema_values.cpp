// SPDX-License-Identifier: Apache-2.0
/// Keywords of a $jsonSchema that look at one value: its type, size, length and range.
#include "freshet/bson/compare.h"
#include "freshet/query/expression/value_set.h"
#include "freshet/query/match/schema_rule.h"
#include "freshet/query/match/tree.h"
#include "freshet/query/regex/regex.h"

#include <algorithm>
#include <bitset>
#include <cmath>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::Type;
using RulePtr = std::unique_ptr<SchemaRule>;

class TypeRule final : public SchemaRule {
public:
    std::bitset<256> types;
    bool holds(const SchemaSubject& s) const override {
        return types.test(static_cast<uint8_t>(s.type));
    }

private:
    const char* reason() const override { return "type did not match"; }
};

class EnumRule final : public SchemaRule {
public:
    explicit EnumRule(Document values) {
        for (const Element& value : values) {
            values_.insert(Value(value));
        }
    }
    bool holds(const SchemaSubject& s) const override {
        if (!s.element.isMissing()) {
            return values_.contains(Value(s.element));
        }
        return std::any_of(values_.begin(), values_.end(), [&](const Value& value) {
            return value.element().isObject() &&
                   bson::compareDocuments(value.element().document(), s.members) == 0;
        });
    }

private:
    ValueSet values_;  // borrowed from the schema
    const char* reason() const override { return "value was not found in enum"; }
};

class RangeRule final : public SchemaRule {
public:
    RangeRule(bool isMinimum, bool isExclusive)
        : isMinimum_(isMinimum), isExclusive_(isExclusive) {}
    bool holds(const SchemaSubject& s) const override {
        if (!s.element.isNumber()) {
            return true;
        }
        const int order = bson::compareValues(s.element, spec);
        const bool isInside = isMinimum_ ? order > 0 : order < 0;
        return isInside || (order == 0 && !isExclusive_);
    }

private:
    const char* reason() const override { return "comparison failed"; }
    bool isMinimum_;
    bool isExclusive_;
};

class MultipleRule final : public SchemaRule {
public:
    bool holds(const SchemaSubject& s) const override {
        if (!s.element.isNumber()) {
            return true;
        }
        const double rest = std::fmod(s.element.toDouble(), spec.toDouble());
        return rest == 0;
    }

private:
    const char* reason() const override {
        return "considered value is not a multiple of the specified value";
    }
};

enum class Measure : uint8_t { kLength, kItems, kProperties };

class SizeRule final : public SchemaRule {
public:
    SizeRule(Measure measure, bool isMinimum, int64_t bound)
        : measure_(measure), isMinimum_(isMinimum), bound_(bound) {}
    bool holds(const SchemaSubject& s) const override {
        if (s.type != (measure_ == Measure::kLength  ? Type::kString
                       : measure_ == Measure::kItems ? Type::kArray
                                                     : Type::kObject)) {
            return true;
        }
        const int64_t size = measure_ == Measure::kLength ? codePoints(s.element.stringValue())
                                                          : s.members.fieldCount();
        return isMinimum_ ? size >= bound_ : size <= bound_;
    }

private:
    static int64_t codePoints(std::string_view text) {
        int64_t count = 0;
        for (char c : text) {
            count += (static_cast<uint8_t>(c) & 0xc0) != 0x80 ? 1 : 0;
        }
        return count;
    }
    const char* reason() const override {
        switch (measure_) {
            case Measure::kLength:
                return "specified string length was not satisfied";
            case Measure::kItems:
                return "array did not match specified length";
            default:
                return "specified number of properties was not satisfied";
        }
    }
    Measure measure_;
    bool isMinimum_;
    int64_t bound_;
};

class PatternRule final : public SchemaRule {
public:
    std::shared_ptr<const Regex> regex;
    bool holds(const SchemaSubject& s) const override {
        return s.type != Type::kString || regex->matches(s.element.stringValue());
    }

private:
    const char* reason() const override { return "regular expression did not match"; }
};

class UniqueRule final : public SchemaRule {
public:
    bool holds(const SchemaSubject& s) const override {
        if (s.type != Type::kArray || !spec.boolValue()) {
            return true;
        }
        std::vector<Element> items;
        for (const Element& item : s.members) {
            items.push_back(item);
        }
        std::sort(items.begin(), items.end(), [](const Element& a, const Element& b) {
            return bson::compareValues(a, b) < 0;
        });
        return std::adjacent_find(items.begin(), items.end(), bson::equalValues) == items.end();
    }

private:
    const char* reason() const override { return "found a duplicate item"; }
};

Status addTypeName(const Element& keyword, const Element& name, std::bitset<256>* types) {
    if (!name.isString()) {
        return schemaTypeError(keyword, "either a string or an array of strings");
    }
    const std::string_view alias = name.stringValue();
    const bool isBson = keyword.name() == "bsonType";
    if (alias == "number") {
        for (Type type : {Type::kDouble, Type::kInt32, Type::kInt64, Type::kDecimal}) {
            types->set(static_cast<uint8_t>(type));
        }
        return Status::ok();
    }
    if (!isBson && alias == "integer") {
        return invalid(Reason::kFailedToParse,
                       "$jsonSchema type 'integer' is not currently supported.");
    }
    const bool isJson = alias == "object" || alias == "array" || alias == "string" ||
                        alias == "boolean" || alias == "null";
    const Type type =
        isBson || isJson ? bson::typeFromName(alias == "boolean" ? "bool" : alias) : Type::kEnd;
    if (type == Type::kEnd || (isBson && alias == "boolean")) {
        return badValue("Unknown type name alias: " + std::string(alias));
    }
    types->set(static_cast<uint8_t>(type));
    return Status::ok();
}

StatusOr<RulePtr> makeType(const Element& keyword) {
    auto rule = std::make_unique<TypeRule>();
    if (!keyword.isArray()) {
        FRESHET_RETURN_IF_ERROR(addTypeName(keyword, keyword, &rule->types));
        return RulePtr(std::move(rule));
    }
    for (const Element& name : keyword.document()) {
        FRESHET_RETURN_IF_ERROR(addTypeName(keyword, name, &rule->types));
    }
    if (rule->types.none()) {
        return invalid(Reason::kFailedToParse,
                       "$jsonSchema keyword '" + std::string(keyword.name()) +
                           "' must name at least one type");
    }
    return RulePtr(std::move(rule));
}

StatusOr<RulePtr> makeEnum(const Element& keyword) {
    if (!keyword.isArray()) {
        return schemaTypeError(keyword, "an array");
    }
    if (keyword.document().isEmpty()) {
        return invalid(Reason::kFailedToParse,
                       "$jsonSchema keyword 'enum' cannot be an empty array");
    }
    return RulePtr(std::make_unique<EnumRule>(keyword.document()));
}

StatusOr<RulePtr> makeSize(const Element& keyword, Measure measure) {
    int64_t bound = 0;
    if (!keyword.isNumber() || !keyword.toExactInt64(&bound)) {
        return schemaTypeError(keyword, "an integer");
    }
    if (bound < 0) {
        return invalid(Reason::kFailedToParse,
                       "$jsonSchema keyword '" + std::string(keyword.name()) +
                           "' must be a non-negative integer");
    }
    return RulePtr(std::make_unique<SizeRule>(measure, keyword.name().starts_with("min"), bound));
}

StatusOr<RulePtr> makeRange(const Element& keyword, Document schema) {
    if (!keyword.isNumber()) {
        return schemaTypeError(keyword, "a number");
    }
    const bool isMinimum = keyword.name() == "minimum";
    const bool isExclusive =
        schema.find(isMinimum ? "exclusiveMinimum" : "exclusiveMaximum").isTruthy();
    return RulePtr(std::make_unique<RangeRule>(isMinimum, isExclusive));
}

StatusOr<RulePtr> makeMultiple(const Element& keyword) {
    if (!keyword.isNumber()) {
        return schemaTypeError(keyword, "a number");
    }
    if (!(keyword.toDouble() > 0)) {
        return invalid(Reason::kFailedToParse,
                       "$jsonSchema keyword 'multipleOf' must have a positive value");
    }
    return RulePtr(std::make_unique<MultipleRule>());
}

StatusOr<RulePtr> makePattern(const Element& keyword) {
    if (!keyword.isString()) {
        return schemaTypeError(keyword, "a string");
    }
    auto rule = std::make_unique<PatternRule>();
    FRESHET_ASSIGN_OR_RETURN(rule->regex, Regex::compile(keyword.stringValue(), ""));
    return RulePtr(std::move(rule));
}

StatusOr<RulePtr> makeUnique(const Element& keyword) {
    if (keyword.type() != Type::kBool) {
        return schemaTypeError(keyword, "a boolean");
    }
    return RulePtr(std::make_unique<UniqueRule>());
}

template <StatusOr<RulePtr> (*make)(const Element& keyword)>
StatusOr<RulePtr> makeAlone(const Element& keyword, Document) {
    return make(keyword);
}

template <Measure measure>
StatusOr<RulePtr> makeSizeOf(const Element& keyword, Document) {
    return makeSize(keyword, measure);
}

struct ValueKeyword {
    std::string_view name;
    StatusOr<RulePtr> (*make)(const Element& keyword, Document schema);
};

constexpr ValueKeyword kValueKeywords[] = {
    {"type", makeAlone<makeType>},
    {"bsonType", makeAlone<makeType>},
    {"enum", makeAlone<makeEnum>},
    {"minLength", makeSizeOf<Measure::kLength>},
    {"maxLength", makeSizeOf<Measure::kLength>},
    {"minItems", makeSizeOf<Measure::kItems>},
    {"maxItems", makeSizeOf<Measure::kItems>},
    {"minProperties", makeSizeOf<Measure::kProperties>},
    {"maxProperties", makeSizeOf<Measure::kProperties>},
    {"minimum", makeRange},
    {"maximum", makeRange},
    {"multipleOf", makeAlone<makeMultiple>},
    {"pattern", makeAlone<makePattern>},
    {"uniqueItems", makeAlone<makeUnique>},
};

}  // namespace

StatusOr<RulePtr> makeValueRule(const Element& keyword, Document schema) {
    for (const ValueKeyword& known : kValueKeywords) {
        if (known.name == keyword.name()) {
            return known.make(keyword, schema);
        }
    }
    return RulePtr();
}

void addValueKeywords(Words* out) {
    addWords(kValueKeywords, out);
}

}  // namespace freshet::query
