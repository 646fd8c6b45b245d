// SPDX-License-Identifier: Apache-2.0
/// The choice among the candidates, and how a hint changes it.
#include "freshet/query/plan/planner.h"

#include "freshet/bson/keyform.h"
#include "freshet/query/limits.h"
#include "freshet/query/match/stored_predicate.h"
#include "freshet/query/plan/implication.h"

#include <algorithm>
#include <optional>

namespace freshet::query {

namespace {

using catalog::Index;

/// Whether the index has an entry for every document that the filter can match.
bool hasAllMatches(const Index& index, const MatchNode& filter) {
    return index.filter == nullptr ||
           implies(filter, StoredPredicate::matcherOf(*index.filter).root());
}

bool isIdEquality(const MatchNode& node) {
    return node.op == MatchOp::kEq && node.path == "_id" && !node.operand.isArray();
}

/// The request, and what is known about each index without looking at the branches of an $or.
struct Question {
    explicit Question(const PlanRequest& planRequest)
        : request(planRequest), root(planRequest.matcher->root()) {
        for (const auto& index : planRequest.collection->indexes) {
            holdsAll.push_back(hasAllMatches(*index, root));
        }
    }

    const PlanRequest& request;
    const MatchNode& root;
    std::vector<bool> holdsAll;  // by index: has an entry of every possible match
};

/// The best index for documents that fulfil both `filter` and the whole query; `predicates` belong
/// to `filter`.
std::optional<Candidate> bestCandidate(const Question& question,
                                       const MatchNode& filter,
                                       PathBounds* predicates,
                                       const SortPattern* sort) {
    std::optional<Candidate> best;
    const auto& indexes = question.request.collection->indexes;
    for (size_t i = 0; i < indexes.size(); ++i) {
        const auto& index = indexes[i];
        const bool isBounded =
            predicates->of(index->fields.front().path, index->isMultikey()) != nullptr;
        if (index->hidden || (!isBounded && sort == nullptr) ||
            (!question.holdsAll[i] && !hasAllMatches(*index, filter))) {
            continue;
        }
        Candidate candidate = considerIndex(index, predicates, sort);
        const bool isUseful = candidate.isBounded() || candidate.givesOrder;
        if (!isUseful || candidate.mayMissDocuments) {
            continue;
        }
        if (!best.has_value() || candidate.isBetterThan(*best)) {
            best = std::move(candidate);
        }
    }
    return best;
}

/// A scan for each branch of an $or, if each has an index with bounds.
StatusOr<std::optional<Plan>> planUnion(const Question& question, const MatchNode& either) {
    Plan plan;
    plan.kind = PlanKind::kUnion;
    plan.isExact = &question.root == &either;
    for (const auto& branch : either.children) {
        FRESHET_RETURN_IF_ERROR(mayGoOn());
        PathBounds predicates(collectPredicates(*branch));
        std::optional<Candidate> best = bestCandidate(question, *branch, &predicates, nullptr);
        if (!best.has_value()) {
            return std::optional<Plan>();
        }
        plan.isExact &= best->isExact;
        plan.scans.push_back(std::move(best->scan));
    }
    return std::optional<Plan>(std::move(plan));
}

Plan planIndex(Candidate candidate) {
    Plan plan;
    plan.kind = PlanKind::kIndex;
    plan.givesOrder = candidate.givesOrder;
    plan.isExact = candidate.isExact;
    plan.scans.push_back(std::move(candidate.scan));
    return plan;
}

/// Same fields and values: {a: 1} and {a: 1.0} name the same index.
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
        const bool isIt = first.name().empty() && first.isString()
                              ? index->name == first.stringValue()
                              : isKeyPattern(*index, hint);
        if (isIt && !index->hidden) {
            return index;
        }
    }
    return nullptr;
}

StatusOr<Plan> planHinted(const PlanRequest& request) {
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
    if (!request.min.isEmpty() || !request.max.isEmpty()) {
        FRESHET_ASSIGN_OR_RETURN(Candidate between,
                                 boundByKeys(index, request.min, request.max, request.sort));
        return planIndex(std::move(between));
    }
    const MatchNode& root = request.matcher->root();
    PathBounds predicates(collectPredicates(root));
    Candidate candidate = considerIndex(index, &predicates, request.sort);
    // A hinted sparse or partial index is used even if it lacks matches. Its bounds then do not
    // count as exact.
    candidate.isExact &= !candidate.mayMissDocuments && hasAllMatches(*index, root);
    return planIndex(std::move(candidate));
}

/// The best plan, if an index can bound what is read.
StatusOr<std::optional<Plan>> planBounded(const Question& question,
                                          PathBounds* predicates,
                                          std::optional<Candidate>* best) {
    *best = bestCandidate(question, question.root, predicates, question.request.sort);
    if (best->has_value() && (*best)->isBounded()) {
        return std::optional<Plan>(planIndex(**best));
    }
    for (const Predicate& predicate : predicates->predicates()) {
        if (predicate.group != nullptr || predicate.leaf->op != MatchOp::kOr) {
            continue;
        }
        FRESHET_ASSIGN_OR_RETURN(auto plan, planUnion(question, *predicate.leaf));
        if (plan.has_value()) {
            return plan;
        }
    }
    return std::optional<Plan>();
}

}  // namespace

bool Plan::isOutdated() const {
    return std::any_of(scans.begin(), scans.end(), [](const IndexScan& scan) {
        return !scan.wasMultikey && scan.index->isMultikey();
    });
}

StatusOr<Plan> choosePlan(const PlanRequest& request) {
    const MatchNode& root = request.matcher->root();
    if (!request.hint.isEmpty()) {
        return planHinted(request);
    }
    if (!request.min.isEmpty() || !request.max.isEmpty()) {
        return invalid(location(51173),
                       "When using min()/max() a hint of which index to use must be provided");
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
    std::optional<Candidate> best;
    PathBounds predicates(collectPredicates(root));
    FRESHET_ASSIGN_OR_RETURN(auto bounded, planBounded(Question(request), &predicates, &best));
    if (bounded.has_value()) {
        return *std::move(bounded);
    }
    return best.has_value() ? planIndex(*std::move(best)) : Plan();
}

}  // namespace freshet::query
