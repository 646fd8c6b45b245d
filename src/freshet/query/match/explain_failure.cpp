// SPDX-License-Identifier: Apache-2.0
/// Walks the filter as it was written, together with the document, since clients recognise their
/// own filter.
#include "freshet/query/match/explain_failure.h"

#include "freshet/query/match/json_schema.h"
#include "freshet/query/match/tree.h"

#include <utility>
#include <vector>

namespace freshet::query {
namespace {

using bson::Builder;
using bson::Document;
using bson::Element;

bool holds(Document filter, Document document) {
    auto matcher = Matcher::compile(filter);
    return matcher.isOk() && (*matcher)->matches(document);
}

void explainFilter(Document filter, Document document, Builder* out);

const char* reasonOf(std::string_view op, const Element& value) {
    if (value.isMissing() && op != "$exists") {
        return "field was missing";
    }
    if (op == "$exists") {
        return value.isMissing() ? "path does not exist" : "path does exist";
    }
    if (op == "$in" || op == "$nin") {
        return op == "$in" ? "no matching value found in array" : "matching value found in array";
    }
    if (op == "$regex") {
        return "regular expression did not match";
    }
    if (op == "$type") {
        return "type did not match";
    }
    if (op == "$size") {
        return "array length was not equal to given size";
    }
    if (op == "$expr") {
        return "expression did not match";
    }
    return "comparison failed";
}

/// One operator on one path.
void explainOperator(std::string_view path,
                     std::string_view op,
                     const Element& specified,
                     Document document,
                     Builder* out) {
    const Element value = document.findPath(path);
    out->add("operatorName", op);
    {
        auto as = out->object("specifiedAs");
        as.addAs(path, specified);
    }
    out->add("reason", reasonOf(op, value));
    if (!value.isMissing() && out->size() < kFailureBytesMax) {
        out->addAs("consideredValue", value);
    }
}

void explainField(const Element& field, Document document, Builder* out) {
    const bool hasOperators = field.isObject() && isOperatorObject(field.document());
    if (!hasOperators) {
        const bool isRegex = field.type() == bson::Type::kRegex;
        explainOperator(field.name(), isRegex ? "$regex" : "$eq", field, document, out);
        return;
    }
    for (const Element& op : field.document()) {
        Builder one;
        {
            auto condition = one.object(field.name());
            condition.add(op);
        }
        const bson::OwnedDocument alone(one.finish());
        const bool isPartOfRegex = op.name() == "$options";
        if (!isPartOfRegex && !holds(alone.view(), document)) {
            explainOperator(field.name(), op.name(), *alone.view().begin(), document, out);
            return;
        }
    }
    explainOperator(field.name(), field.document().begin()->name(), field, document, out);
}

/// $and, $or, $nor: which clauses fail.
void explainClauses(const Element& clauses, Document document, Builder* out) {
    out->add("operatorName", clauses.name());
    auto list = out->array("clausesNotSatisfied");
    int32_t index = 0;
    for (const Element& clause : clauses.document()) {
        const bool fails = holds(clause.document(), document) == (clauses.name() == "$nor");
        if (fails && list.size() < kFailureBytesMax) {
            auto entry = list.object(list.nextIndex());
            entry.add("index", index);
            auto details = entry.object("details");
            if (clauses.name() == "$nor") {
                details.add("reason", "the clause is satisfied");
            } else {
                explainFilter(clause.document(), document, &details);
            }
        }
        ++index;
    }
}

void explainPart(const Element& part, Document document, Builder* out) {
    const std::string_view name = part.name();
    if (name == "$and" || name == "$or" || name == "$nor") {
        explainClauses(part, document, out);
    } else if (name == "$jsonSchema") {
        out->add("operatorName", "$jsonSchema");
        if (auto schema = JsonSchema::compile(part.document()); schema.isOk()) {
            auto rules = out->array("schemaRulesNotSatisfied");
            (*schema)->explain(document, &rules);
        }
    } else if (name == "$expr") {
        out->add("operatorName", "$expr");
        auto as = out->object("specifiedAs");
        as.add(part);
        as.close();
        out->add("reason", "expression did not match");
    } else {
        explainField(part, document, out);
    }
}

/// The part of an implicit $and that fails; all of them if several do.
void explainFilter(Document filter, Document document, Builder* out) {
    std::vector<std::pair<int32_t, Element>> failing;
    int32_t index = 0;
    for (const Element& part : filter) {
        Builder one;
        one.add(part);
        const bson::OwnedDocument alone(one.finish());
        if (!holds(alone.view(), document)) {
            failing.emplace_back(index, part);
        }
        ++index;
    }
    if (failing.size() == 1 && filter.fieldCount() == 1) {
        explainPart(failing[0].second, document, out);
        return;
    }
    out->add("operatorName", "$and");
    auto list = out->array("clausesNotSatisfied");
    for (const auto& [at, part] : failing) {
        if (list.size() >= kFailureBytesMax) {
            return;
        }
        auto entry = list.object(list.nextIndex());
        entry.add("index", at);
        auto details = entry.object("details");
        explainPart(part, document, &details);
    }
}

}  // namespace

bson::OwnedDocument whyNot(const Matcher& matcher, Document document) {
    Builder builder;
    explainFilter(matcher.filter(), document, &builder);
    return bson::OwnedDocument(builder.finish());
}

}  // namespace freshet::query
