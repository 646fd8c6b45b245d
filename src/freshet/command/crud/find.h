// SPDX-License-Identifier: Apache-2.0
/// What find, count, distinct and explain share: parsing their commands.
#pragma once

#include "freshet/command/crud/cursor_reply.h"

namespace freshet::command {

struct FindCommand {
    query::FindRequest request;
    FirstBatch firstBatch;  // without its namespace
};

struct DistinctCommand {
    query::FindRequest request;
    std::string key;
};

StatusOr<FindCommand> parseFind(const BodyIndex& body);
StatusOr<query::FindRequest> parseCount(bson::Document body);
StatusOr<DistinctCommand> parseDistinct(bson::Document body);

/// Adds the end of every explanation: the server, and the command if there is room for it.
void addExplained(Invocation& call, bson::Document command);

}  // namespace freshet::command
