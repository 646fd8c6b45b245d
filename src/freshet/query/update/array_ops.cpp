// SPDX-License-Identifier: Apache-2.0
/// Operators on arrays: $push with its clauses, $addToSet, $pop, $pull, $pullAll.
#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/query/transform.h"
#include "freshet/query/update/op.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::Type;

std::string typeText(const Element& element) {
    return std::string(bson::typeName(element.type()));
}

Value arrayOf(const std::vector<Element>& elements) {
    bson::Builder builder;
    for (const Element& element : elements) {
        builder.pushElement(element);
    }
    return Value::ofArray(builder.finish());
}

std::vector<Element> elementsOf(const Element& array) {
    std::vector<Element> result;
    if (array.isArray()) {
        for (const Element& element : array.document()) {
            result.push_back(element);
        }
    }
    return result;
}

struct ElementHash {
    size_t operator()(const Element& element) const { return bson::hashValue(element); }
};
struct ElementEqual {
    bool operator()(const Element& a, const Element& b) const { return bson::equalValues(a, b); }
};
using ElementSet = absl::flat_hash_set<Element, ElementHash, ElementEqual>;

bool holds(const std::vector<Element>& elements, const Element& value) {
    return std::any_of(elements.begin(), elements.end(), [&](const Element& element) {
        return bson::equalValues(element, value);
    });
}

/// How $push's $sort orders elements: whole values, or objects by a pattern.
struct PushSort {
    bool descending = false;
    std::optional<SortPattern> pattern;

    void sort(std::vector<Element>* elements) const {
        if (!pattern) {
            std::stable_sort(
                elements->begin(), elements->end(), [&](const Element& a, const Element& b) {
                    const int order = bson::compareValues(a, b);
                    return descending ? order > 0 : order < 0;
                });
            return;
        }
        std::vector<std::pair<std::string, Element>> keyed;
        for (const Element& element : *elements) {
            const Document document = element.isObject() ? element.document() : Document();
            keyed.emplace_back(pattern->keyOf(document), element);
        }
        std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) {
            return a.first < b.first;
        });
        for (size_t i = 0; i < keyed.size(); ++i) {
            (*elements)[i] = keyed[i].second;
        }
    }
};

class PushOp final : public UpdateOp {
public:
    std::vector<Element> values;
    std::optional<int64_t> position;
    std::optional<int64_t> slice;
    std::optional<PushSort> order;

    StatusOr<OpResult> apply(const OpTarget& target) const override {
        if (!target.existing.isMissing() && !target.existing.isArray()) {
            return badValue("The field '" + std::string(target.path) +
                            "' must be an array but is of type " + typeText(target.existing) +
                            " in document " + idText(target.root));
        }
        std::vector<Element> elements = elementsOf(target.existing);
        elements.insert(elements.begin() + insertAt(elements.size()), values.begin(), values.end());
        if (order) {
            order->sort(&elements);
        }
        cut(&elements);
        return OpResult::set(arrayOf(elements));
    }

    int depth() const override {
        int deepest = 0;
        for (const Element& value : values) {
            deepest = std::max(deepest, nestingOf(value));
        }
        return deepest + 1;
    }

private:
    ptrdiff_t insertAt(size_t size) const {
        const auto count = static_cast<int64_t>(size);
        if (!position || *position >= count) {
            return count;
        }
        return *position >= 0 ? *position : std::max<int64_t>(0, count + *position);
    }

    void cut(std::vector<Element>* elements) const {
        const auto count = static_cast<int64_t>(elements->size());
        if (!slice || *slice >= count || -*slice >= count) {
            return;
        }
        if (*slice >= 0) {
            elements->resize(static_cast<size_t>(*slice));
        } else {
            elements->erase(elements->begin(), elements->end() + *slice);
        }
    }
};

class AddToSetOp final : public UpdateOp {
public:
    std::vector<Element> values;

    StatusOr<OpResult> apply(const OpTarget& target) const override {
        if (!target.existing.isMissing() && !target.existing.isArray()) {
            return badValue("Cannot apply $addToSet to non-array field. Field named '" +
                            std::string(target.path) + "' has non-array type " +
                            typeText(target.existing));
        }
        std::vector<Element> elements = elementsOf(target.existing);
        const size_t before = elements.size();
        if (values.size() == 1) {
            if (!holds(elements, values[0])) {
                elements.push_back(values[0]);
            }
        } else {
            ElementSet seen(elements.begin(), elements.end());
            for (const Element& value : values) {
                if (seen.insert(value).second) {
                    elements.push_back(value);
                }
            }
        }
        const bool unchanged = elements.size() == before && !target.existing.isMissing();
        return unchanged ? OpResult::keep() : OpResult::set(arrayOf(elements));
    }

    int depth() const override {
        int deepest = 0;
        for (const Element& value : values) {
            deepest = std::max(deepest, nestingOf(value));
        }
        return deepest + 1;
    }
};

class PopOp final : public UpdateOp {
public:
    explicit PopOp(bool first) : first_(first) {}
    StatusOr<OpResult> apply(const OpTarget& target) const override {
        if (target.existing.isMissing()) {
            return OpResult::keep();
        }
        if (!target.existing.isArray()) {
            return invalid(Reason::kTypeMismatch,
                           "Path '" + std::string(target.path) +
                               "' contains an element of non-array type '" +
                               typeText(target.existing) + "'");
        }
        std::vector<Element> elements = elementsOf(target.existing);
        if (elements.empty()) {
            return OpResult::keep();
        }
        elements.erase(first_ ? elements.begin() : elements.end() - 1);
        return OpResult::set(arrayOf(elements));
    }
    bool creates(const OpTarget&) const override { return false; }
    bool needsViablePath() const override { return true; }

private:
    bool first_;
};

/// $pull and $pullAll: elements for which `isPulled` is false are kept.
class PullBase : public UpdateOp {
public:
    StatusOr<OpResult> apply(const OpTarget& target) const override {
        if (target.existing.isMissing()) {
            return OpResult::keep();
        }
        if (!target.existing.isArray()) {
            return badValue("Cannot apply $pull to a non-array value");
        }
        std::vector<Element> elements = elementsOf(target.existing);
        const size_t erased =
            std::erase_if(elements, [this](const Element& element) { return isPulled(element); });
        return erased == 0 ? OpResult::keep() : OpResult::set(arrayOf(elements));
    }
    bool creates(const OpTarget&) const override { return false; }
    bool needsViablePath() const override { return true; }

private:
    virtual bool isPulled(const Element& element) const = 0;
};

/// Removes objects that a filter matches.
class PullObjectsOp final : public PullBase {
public:
    explicit PullObjectsOp(std::unique_ptr<Matcher> filter) : filter_(std::move(filter)) {}

private:
    bool isPulled(const Element& element) const override {
        return mayGoOn().isOk() && matchesValue(*filter_, element);
    }
    std::unique_ptr<Matcher> filter_;
};

/// Removes values that fulfil a condition as the value of a field would: of an array, an element
/// may. For that there is a filter of a field without name.
class PullValuesOp final : public PullBase {
public:
    static StatusOr<OpPtr> make(Document condition) {
        auto op = std::make_shared<PullValuesOp>();
        FRESHET_ASSIGN_OR_RETURN(op->ofValue_, compileValueMatcher(condition));
        bson::Builder filter;
        filter.add("", condition);
        FRESHET_ASSIGN_OR_RETURN(op->ofField_,
                                 Matcher::compile(bson::OwnedDocument(filter.finish()).view()));
        return OpPtr(std::move(op));
    }

private:
    bool isPulled(const Element& element) const override {
        if (!mayGoOn().isOk()) {
            return false;
        }
        if (!element.isArray()) {
            return matchesValue(*ofValue_, element);
        }
        bson::Builder field;
        field.addAs("", element);
        return ofField_->matches(bson::OwnedDocument(field.finish()).view());
    }
    std::unique_ptr<Matcher> ofValue_;
    std::unique_ptr<Matcher> ofField_;
};

class PullAllOp final : public PullBase {
public:
    explicit PullAllOp(const std::vector<Element>& values)
        : values_(values.begin(), values.end()) {}

private:
    bool isPulled(const Element& element) const override { return values_.contains(element); }
    ElementSet values_;
};

StatusOr<int64_t> integerClause(const Element& clause) {
    int64_t value = 0;
    if (!clause.isNumber()) {
        const bool slice = clause.name() == "$slice";
        return badValue("The value for " + std::string(clause.name()) +
                        (slice ? " must be an integer value but was given type: "
                               : " must be an integer value, not of type: ") +
                        typeText(clause));
    }
    if (!clause.toExactInt64(&value)) {
        return badValue("The " + std::string(clause.name()) +
                        " value in $push must be an integer value: " + bson::toShellText(clause));
    }
    return value;
}

StatusOr<PushSort> sortClause(const Element& clause) {
    const Status wrong = badValue(
        "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to "
        "sort embedded fields");
    PushSort sort;
    int64_t direction = 0;
    if (clause.isNumber()) {
        if (!clause.toExactInt64(&direction) || (direction != 1 && direction != -1)) {
            return badValue("The $sort element value must be either 1 or -1");
        }
        sort.descending = direction < 0;
        return sort;
    }
    if (!clause.isObject()) {
        return wrong;
    }
    if (clause.document().isEmpty()) {
        return badValue("The $sort pattern is empty when it should be a set of fields.");
    }
    FRESHET_ASSIGN_OR_RETURN(sort.pattern, SortPattern::compile(clause.document()));
    return sort;
}

Status parsePushClause(const Element& clause, PushOp* op) {
    if (clause.name() == "$each") {
        if (!clause.isArray()) {
            return badValue("The argument to $each in $push must be an array but it was of type: " +
                            typeText(clause));
        }
        op->values = elementsOf(clause);
    } else if (clause.name() == "$position") {
        FRESHET_ASSIGN_OR_RETURN(op->position, integerClause(clause));
    } else if (clause.name() == "$slice") {
        FRESHET_ASSIGN_OR_RETURN(op->slice, integerClause(clause));
    } else if (clause.name() == "$sort") {
        FRESHET_ASSIGN_OR_RETURN(op->order, sortClause(clause));
    } else {
        return badValue("Unrecognized clause in $push: " + std::string(clause.name()));
    }
    return Status::ok();
}

bool hasEach(const Element& element) {
    return element.isObject() && element.document().has("$each");
}

}  // namespace

StatusOr<OpPtr> parsePush(const Element& element) {
    auto op = std::make_shared<PushOp>();
    if (!hasEach(element)) {
        op->values.push_back(element);
        return OpPtr(std::move(op));
    }
    for (const Element& clause : element.document()) {
        FRESHET_RETURN_IF_ERROR(parsePushClause(clause, op.get()));
    }
    return OpPtr(std::move(op));
}

StatusOr<OpPtr> parseAddToSet(const Element& element) {
    auto op = std::make_shared<AddToSetOp>();
    if (!element.isObject() || element.document().begin() == element.document().end() ||
        element.document().begin()->name() != "$each") {
        op->values.push_back(element);
        return OpPtr(std::move(op));
    }
    for (const Element& clause : element.document()) {
        if (clause.name() != "$each") {
            return badValue("Found unexpected fields after $each in $addToSet: " +
                            bson::toShellText(element));
        }
        if (!clause.isArray()) {
            return invalid(
                Reason::kTypeMismatch,
                "The argument to $each in $addToSet must be an array but it was of type " +
                    typeText(clause));
        }
        op->values = elementsOf(clause);
    }
    return OpPtr(std::move(op));
}

StatusOr<OpPtr> parsePop(const Element& element) {
    int64_t end = 0;
    if (!element.isNumber()) {
        return invalid(Reason::kFailedToParse,
                       "Expected a number in: " + std::string(element.name()) + ": " +
                           bson::toShellText(element));
    }
    if (!element.toExactInt64(&end) || (end != 1 && end != -1)) {
        return invalid(Reason::kFailedToParse,
                       "$pop expects 1 or -1, found: " + bson::toShellText(element));
    }
    return OpPtr(std::make_shared<PopOp>(end < 0));
}

StatusOr<OpPtr> parsePull(const Element& element) {
    if (element.isObject() && isConditionOnValues(element.document())) {
        return PullValuesOp::make(element.document());
    }
    if (element.isObject()) {
        FRESHET_ASSIGN_OR_RETURN(auto filter, compileValueMatcher(element.document()));
        return OpPtr(std::make_shared<PullObjectsOp>(std::move(filter)));
    }
    if (element.type() == Type::kRegex) {
        bson::Builder condition;
        condition.addAs("$regex", element);
        return PullValuesOp::make(bson::OwnedDocument(condition.finish()).view());
    }
    return OpPtr(std::make_shared<PullAllOp>(std::vector<Element>{element}));
}

StatusOr<OpPtr> parsePullAll(const Element& element) {
    if (!element.isArray()) {
        return badValue("$pullAll requires an array argument but was given a " + typeText(element));
    }
    return OpPtr(std::make_shared<PullAllOp>(elementsOf(element)));
}

}  // namespace freshet::query
