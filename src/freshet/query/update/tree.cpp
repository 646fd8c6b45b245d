// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/update/tree.h"

#include "freshet/bson/path.h"
#include "freshet/query/match/path.h"

namespace freshet::query {
namespace {

/// The elements of an array are addressed by filter or by position, not both at once.
bool mixesElements(const UpdateNode& node, const std::string& component) {
    return !node.children.empty() && node.isForElements() != component.starts_with("$[");
}

}  // namespace

std::unique_ptr<UpdateNode> cloneNode(const UpdateNode& node) {
    auto copy = std::make_unique<UpdateNode>();
    copy->op = node.op;
    for (const auto& [name, child] : node.children) {
        copy->children.emplace(name, cloneNode(*child));
    }
    return copy;
}

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

Status mergeInto(UpdateNode* into, const UpdateNode& from, const std::string& path) {
    if (into->op != nullptr || from.op != nullptr ||
        into->isForElements() != from.isForElements()) {
        return conflictAt(path, path);
    }
    for (const auto& [name, child] : from.children) {
        auto [at, isNew] = into->children.try_emplace(name, nullptr);
        if (isNew) {
            at->second = cloneNode(*child);
        } else {
            FRESHET_RETURN_IF_ERROR(mergeInto(at->second.get(), *child, path + "." + name));
        }
    }
    return Status::ok();
}

Status checkPath(std::string_view path) {
    if (path.empty()) {
        return invalid(Reason::kEmptyFieldName, "An empty update path is not valid.");
    }
    FRESHET_RETURN_IF_ERROR(bson::checkPathLength(path));
    int parts = 0;
    int dollars = 0;
    for (size_t start = 0;;) {
        const size_t dot = path.find('.', start);
        const std::string_view part = path.substr(start, dot == path.npos ? dot : dot - start);
        if (part.empty()) {
            return invalid(Reason::kEmptyFieldName,
                           "The update path '" + std::string(path) +
                               "' contains an empty field name, which is not allowed.");
        }
        const bool positional = part == "$" || (part.starts_with("$[") && part.ends_with("]"));
        if (positional && parts == 0) {
            return badValue(
                "Cannot have positional (i.e. '$') element in the first position in "
                "path '" +
                std::string(path) + "'");
        }
        if (part[0] == '$' && !positional && !bson::isDbRefPart(part)) {
            return invalid(Reason::kDollarPrefixedFieldName,
                           "The dollar ($) prefixed field '" + std::string(part) + "' in '" +
                               std::string(path) + "' is not valid for storage.");
        }
        ++parts;
        dollars += part == "$" ? 1 : 0;
        if (dollars > 1) {
            return badValue("Too many positional (i.e. '$') elements found in path '" +
                            std::string(path) + "'");
        }
        if (dot == path.npos) {
            return Status::ok();
        }
        start = dot + 1;
    }
}

}  // namespace freshet::query
