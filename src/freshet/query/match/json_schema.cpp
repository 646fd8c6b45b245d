// SPDX-License-Identifier: Apache-2.0
/// A schema as a list of rules; the rules are in schema_values.cpp and schema_nesting.cpp.
#include "freshet/query/match/json_schema.h"

#include "freshet/query/limits.h"
#include "freshet/query/match/schema_rule.h"

#include <algorithm>
#include <set>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;

constexpr int kSchemaLevelsMax = bson::kNestingMax;
constexpr size_t kExplanationBytesMax = 1u << 20;
constexpr std::string_view kWords[] = {"title", "description", "$comment"};
/// Keywords of the draft that MongoDB refuses.
constexpr std::string_view kRefused[] = {
    "$ref", "$schema", "default", "definitions", "format", "id"};
/// Keywords that other keywords read.
constexpr std::string_view kHelpers[] = {"exclusiveMinimum", "exclusiveMaximum", "additionalItems"};

template <size_t n>
bool contains(const std::string_view (&names)[n], std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Status checkHelper(const Element& keyword, Document schema) {
    if (keyword.name() == "additionalItems") {
        return keyword.isObject() || keyword.type() == bson::Type::kBool
                   ? Status::ok()
                   : schemaTypeError(keyword, "an object or a boolean");
    }
    const std::string base = keyword.name() == "exclusiveMinimum" ? "minimum" : "maximum";
    if (keyword.type() != bson::Type::kBool) {
        return schemaTypeError(keyword, "a boolean");
    }
    return schema.has(base) ? Status::ok()
                            : invalid(Reason::kFailedToParse,
                                      "$jsonSchema keyword '" + base + "' must be a present if " +
                                          std::string(keyword.name()) + " is present");
}

Status addRule(const Element& keyword, Document schema, int levels, SchemaRules* rules) {
    const std::string name(keyword.name());
    if (contains(kHelpers, name)) {
        return checkHelper(keyword, schema);
    }
    if (contains(kWords, name)) {
        (name == "title" ? rules->title : rules->description) = keyword;
        return keyword.isString() ? Status::ok() : schemaTypeError(keyword, "a string");
    }
    if (contains(kRefused, name)) {
        return invalid(Reason::kFailedToParse,
                       "$jsonSchema keyword '" + name + "' is not currently supported");
    }
    FRESHET_ASSIGN_OR_RETURN(auto rule, makeValueRule(keyword, schema));
    if (rule == nullptr) {
        FRESHET_ASSIGN_OR_RETURN(rule, makeNestedRule(keyword, schema, levels));
    }
    if (rule == nullptr) {
        return invalid(Reason::kFailedToParse, "Unknown $jsonSchema keyword: " + name);
    }
    rule->spec = keyword;
    rules->list.push_back(std::move(rule));
    return Status::ok();
}

}  // namespace

void SchemaRule::explain(const SchemaSubject& subject, bson::Builder* out) const {
    out->add("operatorName", spec.name());
    {
        auto as = out->object("specifiedAs");
        as.add(spec);
    }
    out->add("reason", reason());
    if (!subject.element.isMissing() && out->size() < kExplanationBytesMax) {
        out->addAs("consideredValue", subject.element);
        out->add("consideredType", bson::typeName(subject.type));
    }
}

bool SchemaRules::accept(const SchemaSubject& subject) const {
    return std::all_of(list.begin(), list.end(), [&](const auto& rule) {
        return mayGoOn().isOk() && rule->holds(subject);
    });
}

void SchemaRules::explain(const SchemaSubject& subject, bson::Builder* out) const {
    for (const SchemaRulePtr& rule : list) {
        if (!rule->holds(subject) && out->size() < kExplanationBytesMax) {
            auto entry = out->object(out->nextIndex());
            rule->explain(subject, &entry);
        }
    }
}

Status schemaTypeError(const Element& keyword, std::string_view expected) {
    return invalid(Reason::kTypeMismatch,
                   "$jsonSchema keyword '" + std::string(keyword.name()) + "' must be " +
                       std::string(expected));
}

Words schemaWords() {
    Words words;
    addValueKeywords(&words);
    addNestedKeywords(&words);
    for (const std::string_view name : kWords) {
        words.push_back({.name = name});
    }
    for (const std::string_view name : kHelpers) {
        words.push_back({.name = name});
    }
    return words;
}

StatusOr<SchemaRules> parseSchemaRules(Document schema, int levels) {
    if (levels == 0) {
        return invalid(Reason::kOverflow, "$jsonSchema nests too deeply");
    }
    if (schema.has("type") && schema.has("bsonType")) {
        return invalid(Reason::kFailedToParse,
                       "Cannot specify both $jsonSchema keywords 'type' and 'bsonType'");
    }
    SchemaRules rules;
    std::set<std::string_view> seen;
    for (const Element& keyword : schema) {
        if (!seen.insert(keyword.name()).second) {
            return invalid(Reason::kFailedToParse,
                           "Duplicate keyword: " + std::string(keyword.name()));
        }
        FRESHET_RETURN_IF_ERROR(addRule(keyword, schema, levels, &rules));
    }
    return rules;
}

struct JsonSchema::Rules {
    bson::OwnedDocument schema;
    SchemaRules root;
};

JsonSchema::JsonSchema(std::unique_ptr<const Rules> rules) : rules_(std::move(rules)) {}
JsonSchema::~JsonSchema() = default;

StatusOr<std::shared_ptr<const JsonSchema>> JsonSchema::compile(Document schema) {
    auto rules = std::make_unique<Rules>();
    rules->schema = bson::OwnedDocument(schema);
    FRESHET_ASSIGN_OR_RETURN(rules->root, parseSchemaRules(rules->schema.view(), kSchemaLevelsMax));
    return std::shared_ptr<const JsonSchema>(new JsonSchema(std::move(rules)));
}

bool JsonSchema::accepts(Document document) const {
    return rules_->root.accept(SchemaSubject(document));
}

void JsonSchema::explain(Document document, bson::Builder* out) const {
    rules_->root.explain(SchemaSubject(document), out);
}

}  // namespace freshet::query
