// SPDX-License-Identifier: Apache-2.0
/// A projection as a tree of field names: find's, $project's, $addFields' and $unset's alike.
/// Immutable after parsing; any thread.
///
/// INV-1  A node of kind kFields has children, others have none.
/// INV-2  In mode kExclude no node computes.
#pragma once

#include "freshet/query/expression/expression.h"
#include "freshet/query/match.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::query {

/// Whose rules a specification follows.
enum class ProjectStyle : uint8_t { kFind, kStage, kAddFields };

/// What happens with fields that the tree does not name: dropped in kInclude, else kept.
enum class ProjectMode : uint8_t { kInclude, kExclude, kAddFields };

struct ProjectNode {
    enum Kind : uint8_t { kFields, kInclude, kExclude, kComputed, kSlice, kElemMatch, kPositional };
    struct Child {
        std::string name;
        std::unique_ptr<ProjectNode> node;
    };

    Kind kind = kFields;
    bool computes = false;  // here or below
    std::vector<Child> children;
    ExprPtr expression;                  // kComputed
    int64_t skip = 0;                    // kSlice; counts from the end when negative
    int64_t limit = 0;                   // kSlice; from the end when negative and skip unused
    std::unique_ptr<Matcher> elemMatch;  // kElemMatch
    std::string path;                    // kPositional: of the array

    const ProjectNode* find(std::string_view name) const;
};

struct ProjectTree {
    ProjectNode root;
    ProjectMode mode = ProjectMode::kExclude;
};

/// Errors have mongod's text, without the stage's prefix. `variables`: what expressions see as
/// $$name.
StatusOr<ProjectTree> parseProjection(bson::Document spec,
                                      ProjectStyle style,
                                      bson::Document variables = {});
/// $unset's tree, or one that drops `paths`.
StatusOr<ProjectTree> makeExclusion(const std::vector<std::string>& paths);

/// Writes the projected document. A failure of a computed field is in the context afterwards.
void projectDocument(const ProjectTree& tree,
                     bson::Document document,
                     const Matcher* matcher,
                     ExprContext* context,
                     bson::Builder* out);

}  // namespace freshet::query
