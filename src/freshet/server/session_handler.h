// SPDX-License-Identifier: Apache-2.0
/// Joins transport to command: each session gets a command::Connection. Used by run_server alone.
#pragma once

#include "freshet/command/dispatcher.h"
#include "freshet/transport/message_handler.h"

#include <memory>

namespace freshet::server {

/// `dispatcher` must outlive the factory and every handler made by it. `logsConnections`: a line
/// for each that comes and goes. Replies count in `memory` until they have been sent.
std::shared_ptr<transport::MessageHandlerFactory> makeHandlerFactory(
    command::Dispatcher& dispatcher,
    bool logsConnections,
    std::shared_ptr<sync::MemoryPool> memory = nullptr);

}  // namespace freshet::server
