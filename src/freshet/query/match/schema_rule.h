// SPDX-License-Identifier: Apache-2.0
/// One keyword of a $jsonSchema: what it requires of a value, and how a violation is explained.
/// Immutable once made; any thread.
///
/// INV-1  A rule's elements point into the schema's own copy.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/query/language.h"
#include "freshet/query/match/json_schema.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::query {

/// What is tested: a field's value, or the whole document, which is not an element.
struct SchemaSubject {
    explicit SchemaSubject(const bson::Element& e)
        : element(e),
          type(e.type()),
          members(e.isObject() || e.isArray() ? e.document() : bson::Document()) {}
    explicit SchemaSubject(bson::Document d) : type(bson::Type::kObject), members(d) {}

    bson::Element element;  // missing for the whole document
    bson::Type type;
    bson::Document members;  // of an object or array
};

class SchemaRule {
public:
    virtual ~SchemaRule() = default;
    virtual bool holds(const SchemaSubject& subject) const = 0;
    /// Adds the fields of one entry of `details`. REQUIRES: the rule does not hold.
    virtual void explain(const SchemaSubject& subject, bson::Builder* out) const;

    bson::Element spec;  // {keyword: value}

protected:
    /// What went wrong, in the protocol's words.
    virtual const char* reason() const { return "value did not match"; }
};

using SchemaRulePtr = std::unique_ptr<const SchemaRule>;

/// All keywords of one schema object.
struct SchemaRules {
    std::vector<SchemaRulePtr> list;
    bson::Element title;
    bson::Element description;

    bool accept(const SchemaSubject& subject) const;
    /// REQUIRES: `out` is an array.
    void explain(const SchemaSubject& subject, bson::Builder* out) const;
};

/// `schema` must outlive the result. `levels`: how many more levels it may nest.
StatusOr<SchemaRules> parseSchemaRules(bson::Document schema, int levels);

/// The rule of a keyword that looks at one value only; null if `keyword` is not such a keyword.
StatusOr<std::unique_ptr<SchemaRule>> makeValueRule(const bson::Element& keyword,
                                                    bson::Document schema);
/// The rule of a keyword that contains schemas; null if `keyword` is not such a keyword.
StatusOr<std::unique_ptr<SchemaRule>> makeNestedRule(const bson::Element& keyword,
                                                     bson::Document schema,
                                                     int levels);

/// The keywords of these rules.
void addValueKeywords(Words* out);
void addNestedKeywords(Words* out);

Status schemaTypeError(const bson::Element& keyword, std::string_view expected);

}  // namespace freshet::query
