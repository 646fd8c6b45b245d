// SPDX-License-Identifier: Apache-2.0
/// The order in which a pipeline's stages run: conditions move in front of stages that they do not
/// depend on, so that the storage can answer them with an index.
#include "freshet/query/aggregate/stages.h"
#include "freshet/query/match/tree.h"

#include <algorithm>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;

bool isOneForOne(std::string_view stage) {
    return stage == "$project" || stage == "$addFields" || stage == "$set" || stage == "$unset" ||
           stage == "$replaceRoot" || stage == "$replaceWith" || stage == "$lookup";
}

/// The paths are equal, or one is a prefix of the other.
bool overlap(std::string_view a, std::string_view b) {
    const std::string_view& shorter = a.size() < b.size() ? a : b;
    const std::string_view& longer = a.size() < b.size() ? b : a;
    return longer.starts_with(shorter) &&
           (longer.size() == shorter.size() || longer[shorter.size()] == '.');
}

using Paths = std::vector<std::string_view>;

/// Pairs of paths compared per pipeline; after that, conditions stay where they are.
constexpr size_t kComparedMax = 1'000'000;

/// Compares paths, at most kComparedMax times; after that it says that all paths overlap.
class PathComparer {
public:
    bool overlaps(std::string_view a, std::string_view b) {
        return left_ == 0 || (--left_, overlap(a, b));
    }
    bool overlapsAny(const Paths& paths, std::string_view touched) {
        return std::any_of(
            paths.begin(), paths.end(), [&](auto path) { return overlaps(path, touched); });
    }
    /// To be called before a stage is examined; false if no further stage may be.
    bool begin(const Element& stage) {
        const size_t cost = 1 + stage.value().size() / 32;
        left_ -= std::min(left_, cost);
        return left_ > 0;
    }
    bool isTired() const { return left_ == 0; }

private:
    size_t left_ = kComparedMax;
};

/// The fields that a member of a filter examines; false if they are unknown.
bool collectPaths(const Element& member, Paths* out) {
    if (!member.name().starts_with('$')) {
        out->push_back(member.name());
        return true;
    }
    if (member.name() == "$comment") {
        return true;
    }
    if ((member.name() != "$and" && member.name() != "$or" && member.name() != "$nor") ||
        !member.isArray()) {
        return false;
    }
    for (const Element& branch : member.document()) {
        if (!branch.isObject()) {
            return false;
        }
        for (const Element& field : branch.document()) {
            if (!collectPaths(field, out)) {
                return false;
            }
        }
    }
    return true;
}

bool isExcluded(const Element& value) {
    return (value.isNumber() || value.type() == bson::Type::kBool) && !value.isTruthy();
}
bool isIncluded(const Element& value) {
    return (value.isNumber() || value.type() == bson::Type::kBool) && value.isTruthy();
}

/// $project keeps the path unchanged.
bool projectKeeps(Document projection, std::string_view path, PathComparer* comparer) {
    bool excludes = true;  // true as long as only exclusions have been seen
    bool kept = overlap(path, "_id");
    for (const Element& field : projection) {
        excludes &= isExcluded(field);
        if (!comparer->overlaps(path, field.name())) {
            continue;
        }
        kept = isIncluded(field) && path.starts_with(field.name());
        if (!kept || comparer->isTired()) {
            return false;
        }
    }
    return excludes || kept;
}

bool unwindTouches(const Element& spec, const Paths& paths, PathComparer* comparer) {
    const Element path = spec.isObject() ? spec.document().find("path") : spec;
    if (!path.isString() || path.stringValue().size() < 2) {
        return true;
    }
    const Element index = spec.isObject() ? spec.document().find("includeArrayIndex") : Element();
    return comparer->overlapsAny(paths, path.stringValue().substr(1)) ||
           (index.isString() && comparer->overlapsAny(paths, index.stringValue()));
}

bool unsetTouches(const Element& spec, const Paths& paths, PathComparer* comparer) {
    if (spec.isString()) {
        return comparer->overlapsAny(paths, spec.stringValue());
    }
    if (!spec.isArray()) {
        return true;
    }
    for (const Element& name : spec.document()) {
        if (!name.isString() || comparer->overlapsAny(paths, name.stringValue())) {
            return true;
        }
    }
    return false;
}

/// A condition on these fields gives the same result before the stage as after it.
bool commutes(const Element& stage, const Paths& paths, PathComparer* comparer) {
    const std::string_view name = stage.name();
    if (name == "$unwind") {
        return !unwindTouches(stage, paths, comparer);
    }
    if (name == "$unset") {
        return !unsetTouches(stage, paths, comparer);
    }
    if (!stage.isObject()) {
        return false;
    }
    const Document spec = stage.document();
    if (name == "$project") {
        return std::all_of(paths.begin(), paths.end(), [&](auto path) {
            return projectKeeps(spec, path, comparer);
        });
    }
    if (name == "$addFields" || name == "$set") {
        for (const Element& field : spec) {
            if (comparer->overlapsAny(paths, field.name())) {
                return false;
            }
        }
        return true;
    }
    const Element as = spec.find("as");
    return name == "$lookup" && as.isString() && !comparer->overlapsAny(paths, as.stringValue());
}

/// Finds each $eq of a field and a constant in expressions, as conditions that an index can answer.
class EqualityFinder {
public:
    explicit EqualityFinder(Document variables) : scope_(variables) {}

    void visitFilter(Document filter) {
        for (const Element& member : filter) {
            if (member.name() == "$expr") {
                visitExpression(member);
            } else if (member.name() == "$and" && member.isArray()) {
                for (const Element& part : member.document()) {
                    if (part.isObject()) {
                        visitFilter(part.document());
                    }
                }
            }
        }
    }
    std::vector<OwnedDocument> conditions;

private:
    void visitExpression(const Element& expression) {
        if (!expression.isObject() || expression.document().fieldCount() != 1) {
            return;
        }
        const Element operand = *expression.document().begin();
        if (!operand.isArray()) {
            return;
        }
        if (operand.name() == "$and") {
            for (const Element& member : operand.document()) {
                visitExpression(member);
            }
        } else if (operand.name() == "$eq" && operand.document().fieldCount() == 2) {
            const Element a = operand.document().find("0");
            const Element b = operand.document().find("1");
            isField(a) ? addEquality(a, b) : addEquality(b, a);
        }
    }

    static bool isField(const Element& element) {
        return element.isString() && element.stringValue().starts_with('$') &&
               !element.stringValue().starts_with("$$") && element.stringValue().size() > 1;
    }

    void addEquality(const Element& field, const Element& other) {
        if (!isField(field) || isField(other)) {
            return;
        }
        auto expression = parseExpression(other, &scope_);
        if (!expression.isOk() || !(*expression)->isConstant()) {
            return;
        }
        auto value = evaluateOnce(**expression, Document());
        // Filters order arrays differently, and in filters a missing field equals null.
        if (!value.isOk() || value->isMissing() || value->element().isArray() ||
            value->type() == bson::Type::kUndefined) {
            return;
        }
        bson::Builder builder;
        {
            bson::Builder condition = builder.object(field.stringValue().substr(1));
            condition.addAs("$eq", value->element());
        }
        conditions.emplace_back(builder.finish());
    }

    ExprScope scope_;
};

class Arranger {
public:
    explicit Arranger(Document variables) : variables_(variables) {}

    Status add(const Element& stage) {
        if (stage.name() == "$match" && stage.isObject()) {
            FRESHET_ASSIGN_OR_RETURN(const auto matcher,
                                     Matcher::compile(stage.document(), variables_));
            FRESHET_RETURN_IF_ERROR(refuseWhere(matcher->root()));
            addMatch(stage);
        } else {
            kept_.push_back(stage);
        }
        return Status::ok();
    }

    StatusOr<ArrangedPipeline> finish() {
        addEqualities();
        result_.filter = combined(early_);
        if (!kept_.empty() && kept_[0].name() == "$sort") {
            FRESHET_RETURN_IF_ERROR(parseSortPattern(kept_[0]).status());
            result_.sort = OwnedDocument(kept_[0].document());
            kept_.erase(kept_.begin());
            result_.keep = static_cast<uint64_t>(wantedFrom(kept_, 0));
        }
        result_.rest = std::move(kept_);
        return std::move(result_);
    }

private:
    /// Moves the members that may run first to the front; the others stay.
    void addMatch(const Element& stage) {
        std::vector<Element> early;
        std::vector<Element> late;
        for (const Element& member : stage.document()) {
            (mayRunFirst(member) ? early : late).push_back(member);
        }
        if (!early.empty()) {
            early_.push_back(documentOf(early));
        }
        if (late.empty()) {
            return;
        }
        bson::Builder builder;
        builder.add("$match", documentOf(late).view());
        result_.held.push_back(std::make_unique<OwnedDocument>(builder.finish()));
        kept_.push_back(*result_.held.back()->view().begin());
    }

    bool mayRunFirst(const Element& member) {
        Paths paths;
        const bool known = kept_.empty() || collectPaths(member, &paths);
        return std::all_of(kept_.begin(), kept_.end(), [&](const Element& stage) {
            return stage.name() == "$sort" ||
                   (known && comparer_.begin(stage) && commutes(stage, paths, &comparer_));
        });
    }

    static OwnedDocument documentOf(const std::vector<Element>& members) {
        bson::Builder builder;
        for (const Element& member : members) {
            builder.add(member);
        }
        return OwnedDocument(builder.finish());
    }

    void addEqualities() {
        EqualityFinder finder(variables_);
        for (const OwnedDocument& filter : early_) {
            finder.visitFilter(filter.view());
        }
        std::move(finder.conditions.begin(), finder.conditions.end(), std::back_inserter(early_));
    }

    static OwnedDocument combined(const std::vector<OwnedDocument>& filters) {
        if (filters.size() < 2) {
            return filters.empty() ? OwnedDocument() : filters[0];
        }
        bson::Builder builder;
        {
            bson::Builder members = builder.array("$and");
            for (const OwnedDocument& filter : filters) {
                members.push(filter.view());
            }
        }
        return OwnedDocument(builder.finish());
    }

    Document variables_;
    std::vector<OwnedDocument> early_;
    std::vector<Element> kept_;
    PathComparer comparer_;
    ArrangedPipeline result_;
};

}  // namespace

int64_t wantedFrom(const std::vector<Element>& specs, size_t at) {
    int64_t skipped = 0;
    for (; at < specs.size(); ++at) {
        const Element& spec = specs[at];
        const bool counts = spec.name() == "$skip" || spec.name() == "$limit";
        if (!counts && !isOneForOne(spec.name())) {
            return 0;
        }
        if (!counts) {
            continue;
        }
        auto number = parseStageNumber(spec);
        int64_t wanted = 0;
        if (!number.isOk() || __builtin_add_overflow(skipped, *number, &wanted)) {
            return 0;
        }
        if (spec.name() == "$limit") {
            return wanted;
        }
        skipped = wanted;
    }
    return 0;
}

StatusOr<ArrangedPipeline> arrange(Document stages, Document variables) {
    Arranger arranger(variables);
    for (const Element& stage : stages) {
        FRESHET_RETURN_IF_ERROR(arranger.add(*stage.document().begin()));
    }
    return arranger.finish();
}

}  // namespace freshet::query
