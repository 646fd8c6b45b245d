// SPDX-License-Identifier: Apache-2.0
/// The compiler that Catalog::open() takes. It compiles the filters of partial indexes and the
/// validators of collections to filters of this room. Any thread.
#pragma once

#include "freshet/catalog/predicate.h"

namespace freshet::query {

/// kInvalid: kCannotCreateIndex for operators that a partial index may not use, otherwise as
/// Matcher::compile().
StatusOr<catalog::PredicateRef> compilePredicate(bson::Document expression,
                                                 catalog::PredicateUse use);

}  // namespace freshet::query
