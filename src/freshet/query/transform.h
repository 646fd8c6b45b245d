// SPDX-License-Identifier: Apache-2.0
/// Pure functions over documents, used by find, aggregate and update: projection, sort keys and
/// pipelines of one document. Immutable after compile.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/query/match.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::query {

/// Evaluates a command's `let` to the document of variables that Matcher, Projection and pipelines
/// take. It also fixes $$NOW. kInvalid (kFailedToParse and others) for bad names and for
/// expressions that read a document.
StatusOr<bson::OwnedDocument> evaluateLet(bson::Document let);

/// find's projection: inclusion or exclusion, dotted paths, $slice, $elemMatch, positional $.
class Projection {
public:
    /// `variables`: the values of $$name in computed fields; copied.
    static StatusOr<std::unique_ptr<Projection>> compile(bson::Document spec,
                                                         bson::Document variables = {});
    ~Projection();
    /// `matcher` resolves the positional operator; may be null. kInvalid when a computed field
    /// fails, or when no array element matched for the positional operator.
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
    /// The document's sort key: bytes whose memcmp order is the wanted order. An array sorts by its
    /// smallest or largest element, a missing field as null, an empty array below null. Each field
    /// takes its own smallest or largest element, even if two fields reach into the same array.
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
    /// `stages`: an array. kInvalid for other stages and for bad ones. `variables` as made by
    /// evaluateLet(); copied.
    static StatusOr<std::unique_ptr<DocumentPipeline>> parse(bson::Document stages,
                                                             bson::Document variables = {});
    ~DocumentPipeline();
    /// The document after the last stage; _id is neither checked nor changed. kInvalid when an
    /// expression fails.
    StatusOr<bson::OwnedDocument> apply(bson::Document document) const;

private:
    struct Impl;
    explicit DocumentPipeline(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::query
