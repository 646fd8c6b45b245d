// SPDX-License-Identifier: Apache-2.0
/// $jsonSchema: MongoDB's subset of draft 4, compiled to a tree of rules. Immutable; any thread.
#pragma once

#include "freshet/bson/builder.h"

#include <memory>

namespace freshet::query {

class JsonSchema {
public:
    /// kInvalid: kFailedToParse, kTypeMismatch ... with MongoDB's text. Copies what it needs of
    /// `schema`.
    static StatusOr<std::shared_ptr<const JsonSchema>> compile(bson::Document schema);
    ~JsonSchema();

    bool accepts(bson::Document document) const;
    /// Adds the rules that the document breaks, in the form of a DocumentValidationFailure's
    /// details. REQUIRES: `out` is an array.
    void explain(bson::Document document, bson::Builder* out) const;

private:
    struct Rules;
    explicit JsonSchema(std::unique_ptr<const Rules> rules);
    std::unique_ptr<const Rules> rules_;
};

}  // namespace freshet::query
