// SPDX-License-Identifier: Apache-2.0
/// What Catalog::open() takes as its compiler: the filters of partial indexes and the validators of
/// collections, as filters of this room. Any thread.
#pragma once

#include "freshet/catalog/predicate.h"

namespace freshet::query {

/// kInvalid: kCannotCreateIndex for operators that no partial index may have, else as
/// Matcher::compile().
StatusOr<catalog::PredicateRef> compilePredicate(bson::Document expression,
                                                 catalog::PredicateUse use);

}  // namespace freshet::query
