// SPDX-License-Identifier: Apache-2.0
/// Steps: stages that make one document out of one ($addFields, $set, $project, $unset,
/// $replaceRoot, $replaceWith). Both aggregation pipelines and pipeline updates consist of them.
/// Immutable after parsing; any thread.
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
    /// Writes the bytes of the new document. `context` holds the time and receives errors.
    virtual Status apply(bson::Document document, ExprContext* context, std::string* out) const = 0;
};

/// The name of its type, for messages.
std::string typeOf(const bson::Element& element);

bool isStep(std::string_view stageName);
Words stepWords();
/// REQUIRES: isStep(spec.name()). `variables`: the values of $$name in expressions.
StatusOr<std::unique_ptr<DocumentStep>> parseStep(const bson::Element& spec,
                                                  bson::Document variables);
/// The step of {newRoot: expression}, without the text around it.
std::unique_ptr<DocumentStep> makeReplaceRoot(ExprPtr newRoot);

}  // namespace freshet::query
