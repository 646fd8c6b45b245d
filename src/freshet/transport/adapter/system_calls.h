// SPDX-License-Identifier: Apache-2.0
/// Calls through librdmacm. For adapter/*.cpp only.
#pragma once

#include "freshet/transport/calls.h"

#include <sys/socket.h>

#include <memory>
#include <string>

namespace freshet::transport::verbs {

/// kNotFound when `text` is not a numeric address.
StatusOr<sockaddr_storage> numericAddress(const std::string& text, uint16_t port);
/// See Verbs.
StatusOr<std::unique_ptr<CallListener>> listenForCalls(const std::string& address, uint16_t port);
StatusOr<std::unique_ptr<Call>> dialCall(const std::string& host,
                                         uint16_t port,
                                         uint32_t timeoutMs);

}  // namespace freshet::transport::verbs
