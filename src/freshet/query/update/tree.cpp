// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/update/tree.h"

#include "freshet/query/match/path.h"

namespace freshet::query {
namespace {

/// A copy that shares the operators.
std::unique_ptr<UpdateNode> cloneNode(const UpdateNode& node) {
    auto copy = std::make_unique<UpdateNode>();
    copy->op = node.op;
    for (const auto& [name, child] : node.children) {
        copy->children.emplace(name, cloneNode(*child));
    }
    return copy;
}

/// An array's elements are named by filter or by position, not both ways at once.
bool mixesElements(const UpdateNode& node, const std::string& component) {
    return !node.children.empty() && node.isForElements() != component.starts_with("$[");
}

}  // namespace

bool ComponentLess::operator()(const std::string& a, const std::string& b) const {
    const int64_t x = arrayIndexOf(a);
    const int64_t y = arrayIndexOf(b);
    if (x >= 0 || y >= 0) {
        return x >= 0 && (y < 0 || x < y);
    }
    return a < b;
}

Status conflictAt(std::string_view path, std::string_view where) {
    return invalid(Reason::kConflictingUpdateOperators,
                   "Updating the path '" + std::string(path) + "' would create a conflict at '" +
                       std::string(where) + "'");
}

Status addOp(UpdateNode* root, std::string_view path, OpPtr op) {
    UpdateNode* node = root;
    size_t start = 0;
    for (;;) {
        const size_t dot = path.find('.', start);
        const bool last = dot == std::string_view::npos;
        const std::string component(path.substr(start, last ? dot : dot - start));
        if (mixesElements(*node, component)) {
            return conflictAt(path, path.substr(0, start == 0 ? 0 : start - 1));
        }
        auto [at, isNew] = node->children.try_emplace(component, nullptr);
        if (isNew) {
            at->second = std::make_unique<UpdateNode>();
        }
        node = at->second.get();
        if (!isNew && (last || node->op != nullptr)) {
            return conflictAt(path, path.substr(0, last ? path.size() : dot));
        }
        if (last) {
            node->op = std::move(op);
            return Status::ok();
        }
        start = dot + 1;
    }
}

StatusOr<std::unique_ptr<UpdateNode>> mergeNodes(const UpdateNode& a,
                                                 const UpdateNode& b,
                                                 const std::string& path) {
    if (a.op != nullptr || b.op != nullptr || a.isForElements() != b.isForElements()) {
        return conflictAt(path, path);
    }
    std::unique_ptr<UpdateNode> merged = cloneNode(a);
    for (const auto& [name, child] : b.children) {
        auto [at, isNew] = merged->children.try_emplace(name, nullptr);
        if (isNew) {
            at->second = cloneNode(*child);
        } else {
            FRESHET_ASSIGN_OR_RETURN(at->second,
                                     mergeNodes(*at->second, *child, path + "." + name));
        }
    }
    return merged;
}

Status checkPath(std::string_view path) {
    if (path.empty()) {
        return invalid(Reason::kEmptyFieldName, "An empty update path is not valid.");
    }
    const std::string shown(path);
    int parts = 0;
    for (size_t start = 0;;) {
        const size_t dot = path.find('.', start);
        const std::string_view part = path.substr(start, dot == path.npos ? dot : dot - start);
        if (part.empty()) {
            return invalid(Reason::kEmptyFieldName,
                           "The update path '" + shown +
                               "' contains an empty field name, which is not allowed.");
        }
        const bool positional = part == "$" || (part.starts_with("$[") && part.ends_with("]"));
        if (positional && parts == 0) {
            return badValue(
                "Cannot have positional (i.e. '$') element in the first position in "
                "path '" +
                shown + "'");
        }
        if (part[0] == '$' && !positional && part != "$id" && part != "$ref" && part != "$db") {
            return invalid(Reason::kDollarPrefixedFieldName,
                           "The dollar ($) prefixed field '" + std::string(part) + "' in '" +
                               shown + "' is not valid for storage.");
        }
        if (++parts > bson::kNestingMax) {
            return invalid(Reason::kOverflow, "The update path '" + shown + "' is too deep");
        }
        if (dot == path.npos) {
            return Status::ok();
        }
        start = dot + 1;
    }
}

}  // namespace freshet::query
