// SPDX-License-Identifier: Apache-2.0
/// Update programs: $set, $unset, $inc, $push, $pull and others, a whole replacement, or a
/// pipeline, applied to one document. Immutable after compile; any thread.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/query/match.h"

#include <memory>
#include <string>

namespace freshet::query {

class UpdateProgram {
public:
    /// `update` has operators or is a replacement (not a pipeline). `arrayFilters`: bytes of an
    /// array, may be empty. Errors are the client's: kFailedToParse (unknown modifier),
    /// kConflictingUpdateOperators, kBadValue ...
    static StatusOr<std::unique_ptr<UpdateProgram>> compile(bson::SharedDocument update,
                                                            bson::Document arrayFilters);
    /// [{$set: ...}, ...], as DocumentPipeline.
    static StatusOr<std::unique_ptr<UpdateProgram>> compilePipeline(bson::Document stages,
                                                                    bson::Document variables);
    ~UpdateProgram();

    bool isReplacement() const;
    /// Applies the program to `before`; `matcher`, if given, resolves the positional `$`. The
    /// result keeps _id as its first field and is <= 16 MiB. *changed: the result differs from
    /// `before`. kInvalid (kImmutableField, kPathNotViable, kTypeMismatch, kBsonObjectTooLarge
    /// ...).
    StatusOr<bson::OwnedDocument> apply(bson::Document before,
                                        const Matcher* matcher,
                                        bool* changed) const;
    /// The document that an upsert inserts: the filter's equality fields, then the program with
    /// $setOnInsert applied. It gets a new _id if it has none.
    StatusOr<bson::OwnedDocument> makeUpsert(const Matcher& filter) const;

private:
    struct Impl;
    explicit UpdateProgram(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::query
