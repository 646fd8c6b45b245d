// SPDX-License-Identifier: Apache-2.0
/// $jsonSchema: the draft-4 subset of MongoDB, compiled to a tree of rules. Immutable; any thread.
#pragma once

#include "freshet/bson/builder.h"

#include <memory>

namespace freshet::query {

class JsonSchema {
public:
    /// kInvalid: kFailedToParse, kTypeMismatch ... with MongoDB's text. Copies what it needs.
    static StatusOr<std::shared_ptr<const JsonSchema>> compile(bson::Document schema);
    ~JsonSchema();

    bool accepts(bson::Document document) const;
    /// REQUIRES: `out` is an array. The rules that the document breaks, as the details of a
    /// DocumentValidationFailure name them.
    void explain(bson::Document document, bson::Builder* out) const;

private:
    struct Rules;
    explicit JsonSchema(std::unique_ptr<const Rules> rules);
    std::unique_ptr<const Rules> rules_;
};

}  // namespace freshet::query
