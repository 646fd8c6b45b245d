// SPDX-License-Identifier: Apache-2.0
/// Pure functions over documents that find, aggregate and update are made of: projection, sort keys
/// and pipelines of one document. Immutable after compile.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/query/match.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::query {

/// A command's `let`, evaluated: the document of variables that Matcher, Projection and pipelines
/// take. It also fixes $$NOW. kInvalid (kFailedToParse and kin) for bad names and expressions that
/// read a document.
StatusOr<bson::OwnedDocument> evaluateLet(bson::Document let);

/// find's projection: inclusion or exclusion, dotted paths, $slice, $elemMatch, positional $.
class Projection {
public:
    /// `variables`: what computed fields see as $$name; copied.
    static StatusOr<std::unique_ptr<Projection>> compile(bson::Document spec,
                                                         bson::Document variables = {});
    ~Projection();
    /// `matcher` resolves the positional operator; may be null. Fails (kInvalid) when a computed
    /// field does, or when no array element matched for the positional operator.
    StatusOr<bson::OwnedDocument> apply(bson::Document document, const Matcher* matcher) const;

private:
    struct Impl;
    explicit Projection(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// A sort pattern: {a: 1, "b.c": -1}. Cheap to copy.
class SortPattern {
public:
    /// kInvalid (kSortSpecInvalid) for directions other than 1 and -1.
    static StatusOr<SortPattern> compile(bson::Document spec);
    struct Field {
        std::string path;
        bool descending = false;
    };
    const std::vector<Field>& fields() const { return fields_; }
    /// The document's key as bytes whose memcmp order is the wanted order (arrays give their
    /// smallest or largest element; missing counts as null, an empty array as less). Each field
    /// takes its own smallest or largest, also where two of them reach into the same array.
    std::string keyOf(bson::Document document) const;

private:
    struct Paths;  // the fields' paths, split once
    std::vector<Field> fields_;
    std::shared_ptr<const Paths> paths_;
};

/// A pipeline that turns one document into one: an update written as [{$set: ...}, ...]. Stages:
/// $addFields, $set, $project, $unset, $replaceRoot, $replaceWith. Immutable; any thread.
class DocumentPipeline {
public:
    /// `stages`: an array. kInvalid for other stages and for bad ones. `variables` as evaluateLet()
    /// makes them; copied.
    static StatusOr<std::unique_ptr<DocumentPipeline>> parse(bson::Document stages,
                                                             bson::Document variables = {});
    ~DocumentPipeline();
    /// The document as the last stage leaves it; nothing is checked or done about _id. kInvalid
    /// when an expression fails.
    StatusOr<bson::OwnedDocument> apply(bson::Document document) const;

private:
    struct Impl;
    explicit DocumentPipeline(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::query
