// SPDX-License-Identifier: Apache-2.0
/// Does one filter imply another? A partial index may answer a query only if it contains every
/// document that the query can match. Conservative: "no" may be wrong, "yes" never is. Pure; any
/// thread.
#pragma once

#include "freshet/query/match.h"

namespace freshet::query {

/// Every document that matches `query` matches `filter`.
bool implies(const MatchNode& query, const MatchNode& filter);

}  // namespace freshet::query
