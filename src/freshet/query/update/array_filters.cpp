// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/update/array_filters.h"

#include "freshet/bson/json.h"
#include "freshet/query/match/tree.h"

#include <set>

namespace freshet::query {
namespace {

using bson::Document;
using bson::Element;

/// Finds the identifier that all paths of a filter start with.
Status findIdentifier(Document filter, std::string* identifier) {
    for (const Element& element : filter) {
        if (element.name().starts_with('$')) {
            if (!element.isArray()) {
                continue;
            }
            for (const Element& member : element.document()) {
                if (member.isObject()) {
                    FRESHET_RETURN_IF_ERROR(findIdentifier(member.document(), identifier));
                }
            }
            continue;
        }
        const std::string name(element.name().substr(0, element.name().find('.')));
        if (!identifier->empty() && *identifier != name) {
            return invalid(Reason::kFailedToParse,
                           "Error parsing array filter :: caused by :: Expected a single top-level "
                           "field name, found '" +
                               *identifier + "' and '" + name + "'");
        }
        *identifier = name;
    }
    return Status::ok();
}

Status checkIdentifier(const std::string& identifier) {
    bool good = identifier[0] >= 'a' && identifier[0] <= 'z';
    for (char c : identifier) {
        good &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    }
    if (!good) {
        return badValue(
            "Error parsing array filter :: caused by :: The top-level field name must be an "
            "alphanumeric string beginning with a lowercase letter, found '" +
            identifier + "'");
    }
    return Status::ok();
}

Status collectUses(const UpdateNode& node,
                   const std::string& path,
                   const ArrayFilters& filters,
                   std::set<std::string>* used) {
    for (const auto& [component, child] : node.children) {
        const std::string childPath = path.empty() ? component : path + "." + component;
        if (component.starts_with("$[") && component != "$[]") {
            const std::string id = component.substr(2, component.size() - 3);
            if (!filters.contains(id)) {
                return badValue("No array filter found for identifier '" + id + "' in path '" +
                                childPath + "'");
            }
            used->insert(id);
        }
        FRESHET_RETURN_IF_ERROR(collectUses(*child, childPath, filters, used));
    }
    return Status::ok();
}

}  // namespace

StatusOr<ArrayFilters> parseArrayFilters(Document filters) {
    ArrayFilters result;
    for (const Element& filter : filters) {
        if (!filter.isObject()) {
            return invalid(Reason::kTypeMismatch, "arrayFilters must be an array of objects");
        }
        std::string identifier;
        FRESHET_RETURN_IF_ERROR(findIdentifier(filter.document(), &identifier));
        if (identifier.empty()) {
            return invalid(Reason::kFailedToParse,
                           "Cannot use an expression without a top-level field name in "
                           "arrayFilters");
        }
        FRESHET_RETURN_IF_ERROR(checkIdentifier(identifier));
        FRESHET_ASSIGN_OR_RETURN(auto matcher, Matcher::compile(filter.document()));
        FRESHET_RETURN_IF_ERROR(refuseWhere(matcher->root()));
        if (!result.emplace(identifier, std::move(matcher)).second) {
            return invalid(
                Reason::kFailedToParse,
                "Found multiple array filters with the same top-level field name " + identifier);
        }
    }
    return result;
}

Status checkFilterUse(const UpdateNode& root, const ArrayFilters& filters, Document update) {
    std::set<std::string> used;
    FRESHET_RETURN_IF_ERROR(collectUses(root, "", filters, &used));
    for (const auto& [id, matcher] : filters) {
        if (!used.contains(id)) {
            return invalid(Reason::kFailedToParse,
                           "The array filter for identifier '" + id +
                               "' was not used in the update " + bson::toShellText(update));
        }
    }
    return Status::ok();
}

}  // namespace freshet::query
