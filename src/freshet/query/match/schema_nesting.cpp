// SPDX-License-Identifier: Apache-2.0
/// Keywords of a $jsonSchema that contain schemas or names: properties, items, allOf and others.
#include "freshet/query/fields/field_finder.h"
#include "freshet/query/limits.h"
#include "freshet/query/match/schema_rule.h"
#include "freshet/query/regex/regex.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <optional>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::Type;
using RulePtr = std::unique_ptr<SchemaRule>;

class RequiredRule final : public SchemaRule {
public:
    bool holds(const SchemaSubject& s) const override {
        return s.type != Type::kObject || missing(s.members).empty();
    }
    void explain(const SchemaSubject& s, bson::Builder* out) const override {
        out->add("operatorName", spec.name());
        {
            auto as = out->object("specifiedAs");
            as.add(spec);
        }
        auto names = out->array("missingProperties");
        for (std::string_view name : missing(s.members)) {
            names.push(name);
        }
    }

private:
    std::vector<std::string_view> missing(Document members) const {
        std::vector<std::string_view> result;
        FieldFinder fields;
        for (const Element& name : spec.document()) {
            if (fields.find(members, name.stringValue()).isMissing()) {
                result.push_back(name.stringValue());
            }
        }
        return result;
    }
};

struct NamedRules {
    std::string_view name;
    SchemaRules rules;
};

void explainNamed(const char* label,
                  std::string_view name,
                  const SchemaRules& rules,
                  const SchemaSubject& subject,
                  bson::Builder* list) {
    auto entry = list->object(list->nextIndex());
    entry.add(label, name);
    for (const Element& words : {rules.title, rules.description}) {
        if (!words.isMissing()) {
            entry.add(words);
        }
    }
    auto details = entry.array("details");
    rules.explain(subject, &details);
}

class PropertiesRule final : public SchemaRule {
public:
    std::vector<NamedRules> properties;
    bool holds(const SchemaSubject& s) const override {
        FieldFinder fields;
        return s.type != Type::kObject ||
               std::all_of(properties.begin(), properties.end(), [&](const NamedRules& property) {
                   const Element value = fields.find(s.members, property.name);
                   return value.isMissing() || property.rules.accept(SchemaSubject(value));
               });
    }
    void explain(const SchemaSubject& s, bson::Builder* out) const override {
        out->add("operatorName", spec.name());
        auto list = out->array("propertiesNotSatisfied");
        FieldFinder fields;
        for (const NamedRules& property : properties) {
            const Element value = fields.find(s.members, property.name);
            if (!value.isMissing() && !property.rules.accept(SchemaSubject(value))) {
                explainNamed(
                    "propertyName", property.name, property.rules, SchemaSubject(value), &list);
            }
        }
    }
};

struct PatternRules {
    std::shared_ptr<const Regex> regex;
    SchemaRules rules;
};

class PatternPropertiesRule final : public SchemaRule {
public:
    std::vector<PatternRules> patterns;
    bool holds(const SchemaSubject& s) const override {
        if (s.type != Type::kObject) {
            return true;
        }
        // In this order each compiled pattern is needed once, while it is in the cache.
        for (const PatternRules& pattern : patterns) {
            for (const Element& field : s.members) {
                if (!mayGoOn().isOk()) {
                    return false;
                }
                if (pattern.regex->matches(field.name()) &&
                    !pattern.rules.accept(SchemaSubject(field))) {
                    return false;
                }
            }
        }
        return true;
    }

private:
    const char* reason() const override { return "a property did not match its pattern's schema"; }
};

/// Properties named neither by `properties` nor by `patternProperties`.
class AdditionalPropertiesRule final : public SchemaRule {
public:
    absl::flat_hash_set<std::string_view> named;
    std::vector<std::shared_ptr<const Regex>> patterns;
    std::optional<SchemaRules> rules;  // null: no further properties are allowed
    bool holds(const SchemaSubject& s) const override {
        return s.type != Type::kObject || offenders(s.members).empty();
    }
    void explain(const SchemaSubject& s, bson::Builder* out) const override {
        out->add("operatorName", spec.name());
        {
            auto as = out->object("specifiedAs");
            as.add(spec);
        }
        auto list = out->array("additionalProperties");
        for (const Element& field : offenders(s.members)) {
            list.push(field.name());
        }
    }

private:
    std::vector<Element> offenders(Document members) const {
        std::vector<Element> unknown;
        for (const Element& field : members) {
            if (!named.contains(field.name())) {
                unknown.push_back(field);
            }
        }
        for (const auto& regex : patterns) {
            std::erase_if(unknown, [&](const Element& field) {
                return !mayGoOn().isOk() || regex->matches(field.name());
            });
        }
        std::erase_if(unknown, [&](const Element& field) {
            return rules.has_value() && rules->accept(SchemaSubject(field));
        });
        return unknown;
    }
};

class ItemsRule final : public SchemaRule {
public:
    std::vector<SchemaRules> first;      // by position
    std::optional<SchemaRules> further;  // of all later elements
    bool mayHaveFurther = true;
    bool holds(const SchemaSubject& s) const override {
        if (s.type != Type::kArray) {
            return true;
        }
        size_t index = 0;
        for (const Element& item : s.members) {
            const SchemaRules* rules = index < first.size()  ? &first[index]
                                       : further.has_value() ? &*further
                                                             : nullptr;
            if (rules == nullptr ? !mayHaveFurther : !rules->accept(SchemaSubject(item))) {
                return false;
            }
            ++index;
        }
        return true;
    }

private:
    const char* reason() const override { return "At least one item did not match the sub-schema"; }
};

class LogicRule final : public SchemaRule {
public:
    std::vector<SchemaRules> schemas;
    bool holds(const SchemaSubject& s) const override {
        const auto accepted =
            std::count_if(schemas.begin(), schemas.end(), [&](const SchemaRules& rules) {
                return rules.accept(s);
            });
        const auto all = static_cast<ptrdiff_t>(schemas.size());
        const std::string_view name = spec.name();
        return name == "allOf"   ? accepted == all
               : name == "anyOf" ? accepted > 0
               : name == "oneOf" ? accepted == 1
                                 : accepted == 0;
    }
    void explain(const SchemaSubject& s, bson::Builder* out) const override {
        out->add("operatorName", spec.name());
        if (spec.name() == "not") {
            out->add("reason", "child expression matched");
            return;
        }
        auto list = out->array("schemasNotSatisfied");
        for (size_t i = 0; i < schemas.size(); ++i) {
            if (!schemas[i].accept(s)) {
                auto entry = list.object(list.nextIndex());
                entry.add("index", static_cast<int32_t>(i));
                auto details = entry.array("details");
                schemas[i].explain(s, &details);
            }
        }
    }
};

struct Dependency {
    std::string_view name;
    std::vector<std::string_view> needed;
    SchemaRules rules;
};

class DependenciesRule final : public SchemaRule {
public:
    std::vector<Dependency> list;
    bool holds(const SchemaSubject& s) const override {
        FieldFinder fields;
        const auto has = [&](std::string_view name) {
            return !fields.find(s.members, name).isMissing();
        };
        return s.type != Type::kObject ||
               std::all_of(list.begin(), list.end(), [&](const Dependency& dependency) {
                   return !has(dependency.name) ||
                          (dependency.rules.accept(s) &&
                           std::all_of(dependency.needed.begin(), dependency.needed.end(), has));
               });
    }

private:
    const char* reason() const override { return "a dependency was not satisfied"; }
};

StatusOr<SchemaRules> nested(const Element& keyword, const Element& schema, int levels) {
    if (!schema.isObject()) {
        return schemaTypeError(keyword, "made of objects");
    }
    return parseSchemaRules(schema.document(), levels - 1);
}

StatusOr<std::vector<std::string_view>> names(const Element& keyword, const Element& list) {
    if (!list.isArray()) {
        return schemaTypeError(keyword, "an array");
    }
    std::vector<std::string_view> result;
    for (const Element& name : list.document()) {
        if (!name.isString()) {
            return schemaTypeError(keyword, "an array of strings");
        }
        result.push_back(name.stringValue());
    }
    if (result.empty()) {
        return invalid(
            Reason::kFailedToParse,
            "$jsonSchema keyword '" + std::string(keyword.name()) + "' cannot be an empty array");
    }
    return result;
}

StatusOr<RulePtr> makeProperties(const Element& keyword, int levels) {
    if (!keyword.isObject()) {
        return schemaTypeError(keyword, "an object");
    }
    auto rule = std::make_unique<PropertiesRule>();
    for (const Element& property : keyword.document()) {
        FRESHET_ASSIGN_OR_RETURN(SchemaRules rules, nested(keyword, property, levels));
        rule->properties.push_back({property.name(), std::move(rules)});
    }
    return RulePtr(std::move(rule));
}

StatusOr<RulePtr> makePatternProperties(const Element& keyword, int levels) {
    if (!keyword.isObject()) {
        return schemaTypeError(keyword, "an object");
    }
    auto rule = std::make_unique<PatternPropertiesRule>();
    for (const Element& pattern : keyword.document()) {
        FRESHET_ASSIGN_OR_RETURN(auto regex, Regex::compile(pattern.name(), ""));
        FRESHET_ASSIGN_OR_RETURN(SchemaRules rules, nested(keyword, pattern, levels));
        rule->patterns.push_back({std::move(regex), std::move(rules)});
    }
    return RulePtr(std::move(rule));
}

StatusOr<RulePtr> makeAdditionalProperties(const Element& keyword, Document schema, int levels) {
    auto rule = std::make_unique<AdditionalPropertiesRule>();
    if (keyword.isObject() || keyword.isTruthy()) {
        bson::Document rules;
        if (keyword.isObject()) {
            rules = keyword.document();
        }
        FRESHET_ASSIGN_OR_RETURN(rule->rules, parseSchemaRules(rules, levels - 1));
    }
    if (!keyword.isObject() && keyword.type() != Type::kBool) {
        return schemaTypeError(keyword, "an object or a boolean");
    }
    if (const Element properties = schema.find("properties"); properties.isObject()) {
        for (const Element& property : properties.document()) {
            rule->named.insert(property.name());
        }
    }
    if (const Element patterns = schema.find("patternProperties"); patterns.isObject()) {
        for (const Element& pattern : patterns.document()) {
            FRESHET_ASSIGN_OR_RETURN(auto regex, Regex::compile(pattern.name(), ""));
            rule->patterns.push_back(std::move(regex));
        }
    }
    return RulePtr(std::move(rule));
}

StatusOr<RulePtr> makeItems(const Element& keyword, Document schema, int levels) {
    auto rule = std::make_unique<ItemsRule>();
    if (keyword.isObject()) {
        FRESHET_ASSIGN_OR_RETURN(rule->further, nested(keyword, keyword, levels));
        return RulePtr(std::move(rule));
    }
    if (!keyword.isArray()) {
        return schemaTypeError(keyword, "an array or an object");
    }
    for (const Element& item : keyword.document()) {
        FRESHET_ASSIGN_OR_RETURN(SchemaRules rules, nested(keyword, item, levels));
        rule->first.push_back(std::move(rules));
    }
    const Element further = schema.find("additionalItems");
    if (further.isObject()) {
        FRESHET_ASSIGN_OR_RETURN(rule->further, nested(keyword, further, levels));
    } else if (!further.isMissing()) {
        rule->mayHaveFurther = further.isTruthy();
    }
    return RulePtr(std::move(rule));
}

StatusOr<RulePtr> makeLogic(const Element& keyword, int levels) {
    auto rule = std::make_unique<LogicRule>();
    if (keyword.name() == "not") {
        FRESHET_ASSIGN_OR_RETURN(SchemaRules rules, nested(keyword, keyword, levels));
        rule->schemas.push_back(std::move(rules));
        return RulePtr(std::move(rule));
    }
    if (!keyword.isArray()) {
        return schemaTypeError(keyword, "an array");
    }
    for (const Element& schema : keyword.document()) {
        FRESHET_ASSIGN_OR_RETURN(SchemaRules rules, nested(keyword, schema, levels));
        rule->schemas.push_back(std::move(rules));
    }
    if (rule->schemas.empty()) {
        return badValue("$jsonSchema keyword '" + std::string(keyword.name()) +
                        "' must be a non-empty array");
    }
    return RulePtr(std::move(rule));
}

StatusOr<RulePtr> makeDependencies(const Element& keyword, int levels) {
    if (!keyword.isObject()) {
        return schemaTypeError(keyword, "an object");
    }
    auto rule = std::make_unique<DependenciesRule>();
    for (const Element& entry : keyword.document()) {
        Dependency dependency{entry.name(), {}, {}};
        if (entry.isObject()) {
            FRESHET_ASSIGN_OR_RETURN(dependency.rules, nested(keyword, entry, levels));
        } else {
            FRESHET_ASSIGN_OR_RETURN(dependency.needed, names(keyword, entry));
        }
        rule->list.push_back(std::move(dependency));
    }
    return RulePtr(std::move(rule));
}

StatusOr<RulePtr> makeRequired(const Element& keyword, Document, int) {
    FRESHET_RETURN_IF_ERROR(names(keyword, keyword).status());
    return RulePtr(std::make_unique<RequiredRule>());
}

template <StatusOr<RulePtr> (*make)(const Element& keyword, int levels)>
StatusOr<RulePtr> makeApart(const Element& keyword, Document, int levels) {
    return make(keyword, levels);
}

struct NestedKeyword {
    std::string_view name;
    StatusOr<RulePtr> (*make)(const Element& keyword, Document schema, int levels);
};

constexpr NestedKeyword kNestedKeywords[] = {
    {"required", makeRequired},
    {"properties", makeApart<makeProperties>},
    {"patternProperties", makeApart<makePatternProperties>},
    {"additionalProperties", makeAdditionalProperties},
    {"items", makeItems},
    {"allOf", makeApart<makeLogic>},
    {"anyOf", makeApart<makeLogic>},
    {"oneOf", makeApart<makeLogic>},
    {"not", makeApart<makeLogic>},
    {"dependencies", makeApart<makeDependencies>},
};

}  // namespace

StatusOr<RulePtr> makeNestedRule(const Element& keyword, Document schema, int levels) {
    for (const NestedKeyword& known : kNestedKeywords) {
        if (known.name == keyword.name()) {
            return known.make(keyword, schema, levels);
        }
    }
    return RulePtr();
}

void addNestedKeywords(Words* out) {
    addWords(kNestedKeywords, out);
}

}  // namespace freshet::query
