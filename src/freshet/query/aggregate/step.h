// SPDX-License-Identifier: Apache-2.0
/// Steps: what stages do that make one document of one document ($addFields, $set, $project,
/// $unset, $replaceRoot, $replaceWith). Pipelines of stages and pipeline updates are both made of
/// them. Immutable after parsing; any thread.
#pragma once

#include "freshet/query/expression/expression.h"
#include "freshet/query/language.h"

#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace freshet::query {

class DocumentStep {
public:
    virtual ~DocumentStep() = default;
    /// Writes the bytes of the new document. `context` has time and error.
    virtual Status apply(bson::Document document, ExprContext* context, std::string* out) const = 0;
};

/// The name of its type, for messages.
std::string typeOf(const bson::Element& element);

bool isStep(std::string_view stageName);
Words stepWords();
/// REQUIRES: isStep(spec.name()). `variables`: what expressions see as $$name.
StatusOr<std::unique_ptr<DocumentStep>> parseStep(const bson::Element& spec,
                                                  bson::Document variables);
/// {newRoot: expression}'s step without the text around it.
std::unique_ptr<DocumentStep> makeReplaceRoot(ExprPtr newRoot);

}  // namespace freshet::query
