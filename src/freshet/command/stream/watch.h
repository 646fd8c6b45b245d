// SPDX-License-Identifier: Apache-2.0
/// How aggregate begins a change stream.
#pragma once

#include "freshet/command/run/invocation.h"
#include "freshet/query/aggregate.h"

#include <string>

namespace freshet::command {

/// Checks a pipeline that begins with $changeStream, and gives *request its source. `collection` is
/// empty in {aggregate: 1}. Errors: MongoDB's.
Status watchChanges(Invocation& call,
                    const std::string& collection,
                    bson::Document pipeline,
                    query::AggregateRequest* request);

}  // namespace freshet::command
