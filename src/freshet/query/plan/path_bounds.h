// SPDX-License-Identifier: Apache-2.0
/// PathBounds: what a filter's predicates say of each path. Each predicate's bounds are made once,
/// and each path's are brought together once, however many indexes ask. One thread at a time.
#pragma once

#include "freshet/query/plan/bounds.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::query {

/// A condition that every document looked for fulfils.
struct Predicate {
    const MatchNode* leaf = nullptr;
    std::string path;                  // of the leaf, from the document's root
    const MatchNode* group = nullptr;  // the $elemMatch that it is part of: one element of its
                                       // array fulfils all that it says
};

/// The conditions below `node`: of nested $and, and those inside of an $elemMatch.
std::vector<Predicate> collectPredicates(const MatchNode& node);

class PathBounds {
public:
    /// What is known of one path.
    struct Field {
        std::shared_ptr<const Bounds> bounds;
        const MatchNode* group = nullptr;
        size_t used = 0;  // predicates that are in the bounds
    };

    explicit PathBounds(std::vector<Predicate> predicates);
    PathBounds(const PathBounds&) = delete;
    PathBounds& operator=(const PathBounds&) = delete;

    const std::vector<Predicate>& predicates() const { return predicates_; }
    /// Null: nothing that an index could use. `multikey`: of an index that has met arrays.
    const Field* of(std::string_view path, bool multikey);

private:
    struct Path {
        std::optional<std::optional<Field>> plain;     // once asked for
        std::optional<std::optional<Field>> multikey;  // the same
    };
    /// Bounds of one predicate, or of several that one value fulfils.
    struct Part {
        Bounds bounds;
        const MatchNode* group = nullptr;
        size_t used = 0;
        bool isPoints = false;

        bool isTighterThan(const Part& other) const;
    };

    std::vector<Part> partsOf(std::string_view path, bool multikey) const;
    std::optional<Field> fieldOf(std::string_view path, bool multikey) const;

    std::vector<Predicate> predicates_;  // ascending by path, as collected within one
    std::map<std::string_view, Path> paths_;
};

}  // namespace freshet::query
