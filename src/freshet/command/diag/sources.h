// SPDX-License-Identifier: Apache-2.0
/// Stages that tell of the server instead of reading documents: $currentOp, $collStats,
/// $indexStats, $listLocalSessions.
#pragma once

#include "freshet/command/run/invocation.h"

#include <string>
#include <vector>

namespace freshet::command {

/// What query::callersStage() gives. `collection` is empty in {aggregate: 1}. kInvalid with
/// MongoDB's code and text. Who may see it has been asked.
sync::Task<StatusOr<std::vector<bson::OwnedDocument>>> tellOfServer(Invocation& call,
                                                                    bson::Element stage,
                                                                    std::string collection);

}  // namespace freshet::command
