// SPDX-License-Identifier: Apache-2.0
/// The choice between the candidates, and what a hint does to it.
#include "freshet/query/plan/planner.h"

#include "freshet/bson/keyform.h"

#include <algorithm>
#include <optional>

namespace freshet::query {

namespace {

using catalog::Index;

/// Leaves that every match fulfils, below nested $and.
void collectPredicates(const MatchNode& node, std::vector<const MatchNode*>* out) {
    if (node.op == MatchOp::kAnd) {
        for (const auto& child : node.children) {
            collectPredicates(*child, out);
        }
    } else {
        out->push_back(&node);
    }
}

bool isIdEquality(const MatchNode& node) {
    return node.op == MatchOp::kEq && node.path == "_id" && !node.operand.isArray();
}

std::optional<Candidate> bestCandidate(const catalog::Collection& collection,
                                       const std::vector<const MatchNode*>& predicates,
                                       const SortPattern* sort) {
    std::optional<Candidate> best;
    for (const auto& index : collection.indexes) {
        Candidate candidate = considerIndex(index, predicates, sort);
        bool useful = candidate.isBounded() || candidate.givesOrder;
        if (!useful || candidate.mayMissDocuments) {
            continue;
        }
        if (!best.has_value() || candidate.isBetterThan(*best)) {
            best = std::move(candidate);
        }
    }
    return best;
}

/// A scan for each branch of an $or, when each has an index with bounds.
std::optional<Plan> planUnion(const catalog::Collection& collection, const MatchNode& either) {
    Plan plan;
    plan.kind = PlanKind::kUnion;
    for (const auto& branch : either.children) {
        std::vector<const MatchNode*> predicates;
        collectPredicates(*branch, &predicates);
        std::optional<Candidate> best = bestCandidate(collection, predicates, nullptr);
        if (!best.has_value()) {
            return std::nullopt;
        }
        plan.scans.push_back(std::move(best->scan));
    }
    return plan;
}

Plan planIndex(Candidate candidate) {
    Plan plan;
    plan.kind = PlanKind::kIndex;
    plan.givesOrder = candidate.givesOrder;
    plan.scans.push_back(std::move(candidate.scan));
    return plan;
}

/// Same fields, same values: {a: 1} and {a: 1.0} name one index.
bool isKeyPattern(const Index& index, bson::Document pattern) {
    size_t i = 0;
    for (const bson::Element& field : pattern) {
        if (i == index.fields.size() || index.fields[i].path != field.name() || !field.isNumber() ||
            index.fields[i].descending != (field.toDouble() < 0)) {
            return false;
        }
        ++i;
    }
    return i == index.fields.size();
}

std::shared_ptr<const Index> hintedIndex(const catalog::Collection& collection,
                                         const bson::Element& first,
                                         bson::Document hint) {
    for (const auto& index : collection.indexes) {
        bool isIt = first.name().empty() && first.isString() ? index->name == first.stringValue()
                                                             : isKeyPattern(*index, hint);
        if (isIt) {
            return index;
        }
    }
    return nullptr;
}

StatusOr<Plan> planHinted(const PlanRequest& request,
                          const std::vector<const MatchNode*>& predicates) {
    const bson::Element first = *request.hint.begin();
    if (first.name() == "$natural") {
        Plan plan;
        plan.backward = first.toDouble() < 0;
        return plan;
    }
    auto index = hintedIndex(*request.collection, first, request.hint);
    if (index == nullptr) {
        return badValue("error processing query: ns=" + request.collection->ns() +
                        " planner returned error :: caused by :: hint provided does not "
                        "correspond to an existing index");
    }
    return planIndex(considerIndex(index, predicates, request.sort));
}

bson::OwnedDocument describeScan(const IndexScan& scan) {
    bson::Builder builder;
    const Index& index = *scan.index;
    builder.add("stage", "IXSCAN");
    builder.add("keyPattern", index.spec.view().find("key").document());
    builder.add("indexName", index.name);
    builder.add("isMultiKey", scan.wasMultikey);
    builder.add("isUnique", index.unique);
    builder.add("isSparse", index.sparse);
    builder.add("isPartial", false);
    builder.add("indexVersion", int32_t{2});
    builder.add("direction", scan.backward ? "backward" : "forward");
    return bson::OwnedDocument(builder.finish());
}

}  // namespace

bool Plan::isOutdated() const {
    return std::any_of(scans.begin(), scans.end(), [](const IndexScan& scan) {
        return !scan.wasMultikey && scan.index->isMultikey();
    });
}

StatusOr<Plan> choosePlan(const PlanRequest& request) {
    const MatchNode& root = request.matcher->root();
    std::vector<const MatchNode*> predicates;
    collectPredicates(root, &predicates);
    if (!request.hint.isEmpty()) {
        return planHinted(request, predicates);
    }
    if (root.op == MatchOp::kAlwaysFalse) {
        Plan plan;
        plan.kind = PlanKind::kNothing;
        plan.givesOrder = true;
        return plan;
    }
    if (isIdEquality(root)) {
        Plan plan;
        plan.kind = PlanKind::kId;
        bson::appendKeyForm(root.operand, false, &plan.idKey, nullptr);
        plan.givesOrder = true;
        return plan;
    }
    std::optional<Candidate> best = bestCandidate(*request.collection, predicates, request.sort);
    if (best.has_value() && best->isBounded()) {
        return planIndex(*std::move(best));
    }
    for (const MatchNode* predicate : predicates) {
        if (predicate->op != MatchOp::kOr) {
            continue;
        }
        if (auto plan = planUnion(*request.collection, *predicate)) {
            return *std::move(plan);
        }
    }
    return best.has_value() ? planIndex(*std::move(best)) : Plan();
}

bson::OwnedDocument describePlan(const Plan& plan, bson::Document filter) {
    bson::Builder builder;
    switch (plan.kind) {
        case PlanKind::kNothing:
            builder.add("stage", "EOF");
            break;
        case PlanKind::kId:
            builder.add("stage", "IDHACK");
            break;
        case PlanKind::kCollection:
            builder.add("stage", "COLLSCAN");
            if (!filter.isEmpty()) {
                builder.add("filter", filter);
            }
            builder.add("direction", plan.backward ? "backward" : "forward");
            break;
        case PlanKind::kIndex:
        case PlanKind::kUnion:
            builder.add("stage", "FETCH");
            if (!filter.isEmpty()) {
                builder.add("filter", filter);
            }
            if (plan.kind == PlanKind::kIndex) {
                builder.add("inputStage", describeScan(plan.scans[0]).view());
                break;
            }
            auto either = builder.object("inputStage");
            either.add("stage", "OR");
            auto inputs = either.array("inputStages");
            for (const IndexScan& scan : plan.scans) {
                inputs.push(describeScan(scan).view());
            }
            inputs.close();
            either.close();
            break;
    }
    return bson::OwnedDocument(builder.finish());
}

}  // namespace freshet::query
