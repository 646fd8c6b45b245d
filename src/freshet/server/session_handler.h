// SPDX-License-Identifier: Apache-2.0
/// Joins transport to command: each session gets a command::Connection. Only run_server uses it.
#pragma once

#include "freshet/command/dispatcher.h"
#include "freshet/transport/message_handler.h"

#include <memory>

namespace freshet::server {

/// `dispatcher` must outlive the factory and every handler it makes. `logsConnections`: log a line
/// for each connection at its begin and end. Replies count in `memory` until they have been sent.
std::shared_ptr<transport::MessageHandlerFactory> makeHandlerFactory(
    command::Dispatcher& dispatcher,
    bool logsConnections,
    std::shared_ptr<sync::MemoryPool> memory = nullptr);

}  // namespace freshet::server
