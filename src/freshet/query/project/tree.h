// SPDX-License-Identifier: Apache-2.0
/// A projection as a tree of field names, for find, $project, $addFields and $unset alike.
/// Immutable after parsing; any thread.
///
/// INV-1  A node of kind kFields has children, others have none.
/// INV-2  In mode kExclude no node computes a value.
/// INV-3  A node is no deeper than a path may be long (bson::kPathPartsMax).
#pragma once

#include "freshet/query/expression/expression.h"
#include "freshet/query/match.h"

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <string>
#include <vector>

namespace freshet::query {

/// Whose rules a specification follows.
enum class ProjectStyle : uint8_t { kFind, kStage, kAddFields };

/// What happens to fields that the tree does not name: dropped in kInclude, else kept.
enum class ProjectMode : uint8_t { kInclude, kExclude, kAddFields };

struct ProjectNode {
    enum Kind : uint8_t { kFields, kInclude, kExclude, kComputed, kSlice, kElemMatch, kPositional };
    static constexpr size_t kNone = SIZE_MAX;

    explicit ProjectNode(Kind what = kFields)
        : kind(what), special(hasSpecial(what) ? std::make_unique<Special>() : nullptr) {}
    /// The position of the child of that name; kNone if there is none.
    size_t indexOf(std::string_view childName) const {
        return children.size() <= kWalkedMax ? walk(childName) : lookUp(childName);
    }
    /// Appends a child. REQUIRES: there is none of that name.
    ProjectNode* add(std::string_view childName, std::unique_ptr<ProjectNode> child);
    void erase(size_t position);
    void insertFirst(std::string_view childName, std::unique_ptr<ProjectNode> child);

    Kind kind;
    bool computes = false;  // here or below
    std::string name;
    std::vector<std::unique_ptr<ProjectNode>> children;
    ExprPtr expression;  // kComputed
    /// What only a few nodes have; a projection may have very many nodes.
    struct Special {
        int64_t skip = 0;                    // kSlice; counts from the end when negative
        int64_t limit = 0;                   // kSlice; from the end when negative and skip unused
        std::unique_ptr<Matcher> elemMatch;  // kElemMatch
        std::string path;                    // kPositional: of the array
    };
    std::unique_ptr<Special> special;  // of these kinds only

private:
    static constexpr size_t kWalkedMax = 8;

    size_t walk(std::string_view childName) const {
        for (size_t at = 0; at < children.size(); ++at) {
            if (children[at]->name == childName) {
                return at;
            }
        }
        return kNone;
    }
    static bool hasSpecial(Kind kind) {
        return kind == kSlice || kind == kElemMatch || kind == kPositional;
    }
    size_t lookUp(std::string_view childName) const;
    void index();

    using Positions = absl::flat_hash_map<std::string_view, uint32_t>;
    std::unique_ptr<Positions> positions_;  // of the children, if there are many
};

struct ProjectTree {
    ProjectNode root;
    ProjectMode mode = ProjectMode::kExclude;
};

/// Errors have mongod's text, without the stage's prefix. `variables`: the values of $$name in
/// expressions.
StatusOr<ProjectTree> parseProjection(bson::Document spec,
                                      ProjectStyle style,
                                      bson::Document variables = {});
/// $unset's tree, or one that drops `paths`.
StatusOr<ProjectTree> makeExclusion(const std::vector<std::string>& paths);

/// Writes the projected document. If a computed field fails, the error is in the context
/// afterwards.
void projectDocument(const ProjectTree& tree,
                     bson::Document document,
                     const Matcher* matcher,
                     ExprContext* context,
                     bson::Builder* out);

}  // namespace freshet::query
