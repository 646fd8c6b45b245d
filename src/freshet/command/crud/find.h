// SPDX-License-Identifier: Apache-2.0
/// What find and explain have in common: reading a find command.
#pragma once

#include "freshet/command/crud/cursor_reply.h"

namespace freshet::command {

struct FindCommand {
    query::FindRequest request;
    FirstBatch firstBatch;  // without its namespace
};

StatusOr<FindCommand> parseFind(bson::Document body);

}  // namespace freshet::command
