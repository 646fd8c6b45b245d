// SPDX-License-Identifier: Apache-2.0
/// Predicates that the catalog keeps with its descriptions without understanding them: the filter
/// of a partial index and the validator of a collection. Query understands them; the function that
/// compiles them is passed to Catalog::open(). Immutable once compiled; any thread.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/builder.h"

#include <functional>
#include <memory>

namespace freshet::catalog {

class DocumentPredicate {
public:
    virtual ~DocumentPredicate() = default;
    /// An error only where the calling operation must end; *matched then means nothing.
    virtual Status test(bson::Document document, bool* matched) const = 0;
};
using PredicateRef = std::shared_ptr<const DocumentPredicate>;

enum class PredicateUse : uint8_t {
    kPartialIndex,  // a few operators only
    kValidator,
};

/// kInvalid with the client's reason when the expression is not allowed for its use.
using PredicateCompiler =
    std::function<StatusOr<PredicateRef>(bson::Document expression, PredicateUse use)>;

}  // namespace freshet::catalog
