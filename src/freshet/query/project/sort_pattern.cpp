// SPDX-License-Identifier: Apache-2.0
/// Sort patterns and the keys they make.
#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/bson/keyform.h"
#include "freshet/bson/path.h"
#include "freshet/query/match/path.h"
#include "freshet/query/transform.h"

namespace freshet::query {

using bson::Document;
using bson::Element;

struct SortPattern::Paths {
    std::vector<MatchPath> list;
};

namespace {

constexpr int kSortFieldsMax = 32;
constexpr char kUndefinedBytes[] = {0x06, 0x00};  // an empty array sorts below null
constexpr char kNullBytes[] = {0x0a, 0x00};

/// The value that a document sorts by: the smallest (ascending) or largest one at the path.
Element sortValue(const MatchPath& path, bool descending, Document document) {
    const Element null(kNullBytes);
    Element best;
    const auto consider = [&](const Element& candidate) {
        if (best.isMissing()) {
            best = candidate;
            return;
        }
        const int order = bson::compareValues(candidate, best);
        if (descending ? order > 0 : order < 0) {
            best = candidate;
        }
    };
    path.visit(document, LeafArray::kKeep, [&](const Element& element, int) {
        if (!element.isArray()) {
            consider(element.isMissing() ? null : element);
        } else if (element.document().isEmpty()) {
            consider(Element(kUndefinedBytes));
        } else {
            for (const Element& member : element.document()) {
                consider(member);
            }
        }
        return false;
    });
    return best.isMissing() ? null : best;
}

Status wrongOrder() {
    return invalid(location(15975),
                   "$sort key ordering must be 1 (for ascending) or -1 (for descending)");
}

}  // namespace

StatusOr<SortPattern> SortPattern::compile(Document spec) {
    SortPattern pattern;
    auto paths = std::make_shared<Paths>();
    for (const Element& field : spec) {
        if (!field.isNumber()) {
            return invalid(location(15974),
                           "Illegal key in $sort specification: " + std::string(field.name()) +
                               ": " + bson::toShellText(field));
        }
        int64_t direction = 0;
        if (!field.toExactInt64(&direction) || (direction != 1 && direction != -1)) {
            return wrongOrder();
        }
        if (pattern.fields_.size() == kSortFieldsMax) {
            return badValue("too many compound keys");
        }
        FRESHET_RETURN_IF_ERROR(bson::checkPathLength(field.name()));
        const std::string name(field.name());
        if (name.empty() || name.ends_with('.') || name.starts_with('.') ||
            name.find("..") != name.npos) {
            return invalid(Reason::kFieldPathInvalid,
                           "FieldPath field names may not be empty strings.");
        }
        if (name.starts_with('$')) {
            return invalid(Reason::kFieldPathInvalid,
                           "FieldPath field names may not start with '$'. Consider using "
                           "$getField or $setField.");
        }
        pattern.fields_.push_back({name, direction < 0});
        paths->list.emplace_back(name);
    }
    pattern.paths_ = std::move(paths);
    return pattern;
}

std::string SortPattern::keyOf(Document document) const {
    std::string key;
    for (size_t i = 0; i < fields_.size(); ++i) {
        const bool descending = fields_[i].descending;
        bson::appendKeyForm(
            sortValue(paths_->list[i], descending, document), descending, &key, nullptr);
    }
    return key;
}

}  // namespace freshet::query
