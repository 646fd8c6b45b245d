// SPDX-License-Identifier: Apache-2.0
/// PathBounds: what a filter's predicates say about each path. The bounds of each predicate are
/// made once, and those of each path are combined once, however many indexes ask. One thread at a
/// time.
#pragma once

#include "freshet/query/plan/bounds.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::query {

/// A condition that every document of the result fulfils.
struct Predicate {
    const MatchNode* leaf = nullptr;
    std::string path;                  // of the leaf, from the document's root
    const MatchNode* group = nullptr;  // the $elemMatch that it is part of: one element of the
                                       // array fulfils all of its conditions
};

/// The conditions below `node`, including those of nested $and and inside $elemMatch.
std::vector<Predicate> collectPredicates(const MatchNode& node);

class PathBounds {
public:
    /// What is known about one path.
    struct Field {
        std::shared_ptr<const Bounds> bounds;
        const MatchNode* group = nullptr;
        size_t used = 0;  // predicates that went into the bounds
    };

    explicit PathBounds(std::vector<Predicate> predicates);
    PathBounds(const PathBounds&) = delete;
    PathBounds& operator=(const PathBounds&) = delete;

    const std::vector<Predicate>& predicates() const { return predicates_; }
    /// Null: nothing that an index could use. `multikey`: the index has met arrays.
    const Field* of(std::string_view path, bool multikey);

private:
    struct Path {
        std::optional<std::optional<Field>> plain;     // filled on first use
        std::optional<std::optional<Field>> multikey;  // likewise
    };
    /// Bounds of one predicate, or of several that must hold for the same value.
    struct Part {
        Bounds bounds;
        const MatchNode* group = nullptr;
        size_t used = 0;
        bool isPoints = false;

        bool isTighterThan(const Part& other) const;
    };

    std::vector<Part> partsOf(std::string_view path, bool multikey) const;
    std::optional<Field> fieldOf(std::string_view path, bool multikey) const;

    std::vector<Predicate> predicates_;  // ascending by path, else in order of collection
    std::map<std::string_view, Path> paths_;
};

}  // namespace freshet::query
