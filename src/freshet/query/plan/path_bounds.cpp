// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/plan/path_bounds.h"

#include <algorithm>
#include <utility>

namespace freshet::query {
namespace {

/// Collects the conditions inside `group`, with paths from the document's root. Conditions inside a
/// nested $elemMatch are about other elements and are left out.
void collectInside(const MatchNode& node, const MatchNode& group, std::vector<Predicate>* out) {
    if (node.op == MatchOp::kAnd) {
        for (const auto& child : node.children) {
            collectInside(*child, group, out);
        }
        return;
    }
    const bool onValues = group.op == MatchOp::kElemMatchValue;
    out->push_back({&node, onValues ? group.path : group.path + "." + node.path, &group});
}

void collect(const MatchNode& node, std::vector<Predicate>* out) {
    if (node.op == MatchOp::kAnd) {
        for (const auto& child : node.children) {
            collect(*child, out);
        }
        return;
    }
    out->push_back({&node, node.path, nullptr});
    if (node.op == MatchOp::kElemMatchObject || node.op == MatchOp::kElemMatchValue) {
        collectInside(*node.children.front(), node, out);
    }
}

/// Starts with the small ones, so that each step costs only what it adds.
Bounds intersectAll(std::vector<Bounds> all) {
    std::stable_sort(all.begin(), all.end(), [](const Bounds& a, const Bounds& b) {
        return a.intervals.size() < b.intervals.size();
    });
    Bounds result = std::move(all.front());
    for (size_t i = 1; i < all.size(); ++i) {
        result = intersect(result, all[i]);
    }
    return result;
}

}  // namespace

std::vector<Predicate> collectPredicates(const MatchNode& node) {
    std::vector<Predicate> result;
    collect(node, &result);
    return result;
}

bool PathBounds::Part::isTighterThan(const Part& other) const {
    if (isPoints != other.isPoints) {
        return isPoints;
    }
    return isPoints && bounds.intervals.size() < other.bounds.intervals.size();
}

PathBounds::PathBounds(std::vector<Predicate> predicates) : predicates_(std::move(predicates)) {
    std::stable_sort(predicates_.begin(), predicates_.end(), [](const auto& a, const auto& b) {
        return a.path < b.path;
    });
    for (const Predicate& predicate : predicates_) {
        paths_.try_emplace(paths_.end(), predicate.path);
    }
}

/// On a multikey index two predicates on a path may be fulfilled by two different elements, so only
/// one of them may bound it. But conditions of one $elemMatch on plain values are about the same
/// element.
std::vector<PathBounds::Part> PathBounds::partsOf(std::string_view path, bool multikey) const {
    const auto byPath = [](const Predicate& predicate, std::string_view wanted) {
        return predicate.path < wanted;
    };
    std::vector<Part> parts;
    std::vector<Bounds> together;  // of the last part
    const auto close = [&] {
        if (!together.empty()) {
            parts.back().used = together.size();
            parts.back().bounds = intersectAll(std::exchange(together, {}));
            parts.back().isPoints = parts.back().bounds.areAllPoints();
        }
    };
    for (auto at = std::lower_bound(predicates_.begin(), predicates_.end(), path, byPath);
         at != predicates_.end() && at->path == path;
         ++at) {
        std::optional<Bounds> bounds = boundsOf(*at->leaf);
        if (!bounds.has_value()) {
            continue;
        }
        const bool joins = !parts.empty() &&
                           (!multikey || (at->group != nullptr && at->group == parts.back().group &&
                                          at->group->op == MatchOp::kElemMatchValue));
        if (!joins) {
            close();
            parts.push_back({{}, at->group, 0, false});
        }
        together.push_back(*std::move(bounds));
    }
    close();
    return parts;
}

std::optional<PathBounds::Field> PathBounds::fieldOf(std::string_view path, bool multikey) const {
    std::vector<Part> parts = partsOf(path, multikey);
    if (parts.empty()) {
        return std::nullopt;
    }
    Part* best = &parts.front();
    for (Part& part : parts) {
        if (part.isTighterThan(*best)) {
            best = &part;
        }
    }
    return Field{std::make_shared<const Bounds>(std::move(best->bounds)), best->group, best->used};
}

const PathBounds::Field* PathBounds::of(std::string_view path, bool multikey) {
    const auto found = paths_.find(path);
    if (found == paths_.end()) {
        return nullptr;
    }
    auto& known = multikey ? found->second.multikey : found->second.plain;
    if (!known.has_value()) {
        known = fieldOf(path, multikey);
    }
    return known->has_value() ? &**known : nullptr;
}

}  // namespace freshet::query
