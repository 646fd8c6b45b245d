// SPDX-License-Identifier: Apache-2.0
/// An $or of equalities on one path is an $in: one binary search per document instead of a test of
/// each value, and one sorted probe of an index instead of one scan per value.
#include "freshet/bson/compare.h"
#include "freshet/query/match/tree.h"

#include "absl/container/flat_hash_map.h"

#include <algorithm>

namespace freshet::query {
namespace {

/// As operands, MinKey and MaxKey also compare with missing values, but an $in does not.
bool isMergeable(const MatchNode& node) {
    return node.op == MatchOp::kIn ||
           (node.op == MatchOp::kEq && node.operand.type() != bson::Type::kMinKey &&
            node.operand.type() != bson::Type::kMaxKey);
}

/// The equalities in `members`, all on one path, as one $in.
NodePtr mergedOf(std::vector<NodePtr> members) {
    std::shared_ptr<MatchNode::Extra> extra;
    NodePtr result = makeNode(MatchOp::kIn, members.front()->path, &extra);
    for (const NodePtr& member : members) {
        if (member->op == MatchOp::kEq) {
            extra->hasNull |= member->operand.isNull();
            result->operands.push_back(member->operand);
            continue;
        }
        extra->hasNull |= member->extra->hasNull;
        result->operands.insert(
            result->operands.end(), member->operands.begin(), member->operands.end());
        std::move(
            member->children.begin(), member->children.end(), std::back_inserter(result->children));
    }
    sortOperands(&result->operands);
    return result;
}

void mergeBranches(std::vector<NodePtr>* branches) {
    absl::flat_hash_map<std::string_view, std::vector<size_t>> byPath;
    for (size_t i = 0; i < branches->size(); ++i) {
        if (isMergeable(*(*branches)[i])) {
            byPath[(*branches)[i]->path].push_back(i);
        }
    }
    std::vector<std::vector<size_t>> groups;  // byPath's keys are paths of nodes removed below
    for (auto& [path, places] : byPath) {
        if (places.size() > 1) {
            groups.push_back(std::move(places));
        }
    }
    for (const std::vector<size_t>& places : groups) {
        std::vector<NodePtr> members;
        members.reserve(places.size());
        for (size_t place : places) {
            members.push_back(std::move((*branches)[place]));
        }
        (*branches)[places.front()] = mergedOf(std::move(members));
    }
    std::erase(*branches, nullptr);
}

}  // namespace

void sortOperands(std::vector<bson::Element>* operands) {
    std::sort(operands->begin(), operands->end(), [](const auto& a, const auto& b) {
        return bson::compareValues(a, b) < 0;
    });
    operands->erase(std::unique(operands->begin(), operands->end(), bson::equalValues),
                    operands->end());
}

void mergeEqualities(NodePtr* node) {
    for (NodePtr& child : (*node)->children) {
        mergeEqualities(&child);
    }
    if ((*node)->op != MatchOp::kOr) {
        return;
    }
    mergeBranches(&(*node)->children);
    if ((*node)->children.size() == 1) {
        NodePtr only = std::move((*node)->children.front());
        *node = std::move(only);
    }
}

}  // namespace freshet::query
