// SPDX-License-Identifier: Apache-2.0
/// An update as a tree of path components with operators at the leaves. One walk over the document
/// applies all of them, and two operators that meet on a path are detected as a conflict.
///
/// INV-1  A node has an operator or children, never both.
/// INV-2  Children are in the order in which absent fields are created: numbers by value, then
/// names.
/// INV-3  If one child is $[] or $[id], all are.
#pragma once

#include "freshet/query/update/op.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace freshet::query {

struct ComponentLess {
    bool operator()(const std::string& a, const std::string& b) const;
};

struct UpdateNode {
    OpPtr op;
    std::map<std::string, std::unique_ptr<UpdateNode>, ComponentLess> children;

    bool isForElements() const {  // children are $[] or $[id]
        return !children.empty() && children.begin()->first.starts_with("$[");
    }
};

/// kConflictingUpdateOperators if another operator is on this path, above it or below it.
Status addOp(UpdateNode* root, std::string_view path, OpPtr op);
/// A copy that shares the operators.
std::unique_ptr<UpdateNode> cloneNode(const UpdateNode& node);
/// Adds the operators of `from` to those of `into`; `path`: for the text of a conflict.
Status mergeInto(UpdateNode* into, const UpdateNode& from, const std::string& path);
Status conflictAt(std::string_view path, std::string_view where);

/// kEmptyFieldName, kBadValue ... for paths that an update may not name.
Status checkPath(std::string_view path);

inline constexpr int64_t kArrayPaddingMax = 1'500'000;

/// One application of a tree to a document.
struct UpdateRun {
    bson::Document root;
    const std::map<std::string, std::unique_ptr<Matcher>>* arrayFilters = nullptr;
    const Matcher* matcher = nullptr;  // resolves $; may be null
    bool isInsert = false;
    int64_t nowMillis = 0;
    FieldFinder* fields = nullptr;  // of `root`
    bool changed = false;
    std::string path;  // of the node being applied
};

/// Writes `document`, changed by the tree, into `out`.
Status applyToDocument(const UpdateNode& node,
                       bson::Document document,
                       UpdateRun* run,
                       bson::Builder* out);

}  // namespace freshet::query
