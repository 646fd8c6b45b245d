// SPDX-License-Identifier: Apache-2.0
/// Stages that report on the server instead of reading documents: $currentOp, $collStats,
/// $indexStats, $listLocalSessions.
#pragma once

#include "freshet/command/run/invocation.h"

#include <string>
#include <vector>

namespace freshet::command {

/// The documents of a stage that query::callersStage() returns. `collection` is empty in
/// {aggregate: 1}. kInvalid with MongoDB's code and text. Access was checked before.
sync::Task<StatusOr<std::vector<bson::OwnedDocument>>> reportOnServer(Invocation& call,
                                                                      bson::Element stage,
                                                                      std::string collection);

}  // namespace freshet::command
