// SPDX-License-Identifier: Apache-2.0
/// Parsing the statements of update, delete and findAndModify: for the commands themselves and for
/// explain.
#pragma once

#include "freshet/command/run/invocation.h"
#include "freshet/query/write.h"

namespace freshet::command {

/// An update's `u`: operators, a replacement, or a pipeline.
Status parseChange(const bson::Element& change, query::UpdateRequest* request);

StatusOr<query::UpdateRequest> parseUpdateStatement(bson::Document statement,
                                                    const bson::OwnedDocument& variables,
                                                    query::WriteOptions options);
StatusOr<query::DeleteRequest> parseDeleteStatement(bson::Document statement,
                                                    const bson::OwnedDocument& variables);

/// What findAndModify does: one of the two.
struct FindAndModify {
    bool removes = false;
    query::UpdateRequest update;
    query::DeleteRequest remove;
};
StatusOr<FindAndModify> parseFindAndModify(bson::Document body);

}  // namespace freshet::command
