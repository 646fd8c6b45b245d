// SPDX-License-Identifier: Apache-2.0
/// Two sessions joined in memory, for tests of code above a Session, without a socket. Each end
/// serves either pair of calls; the async one runs on whichever executor calls it.
#pragma once

#include "freshet/transport/session.h"

#include <memory>
#include <utility>

namespace freshet::transport {

std::pair<std::unique_ptr<Session>, std::unique_ptr<Session>> makeLoopbackPair();

}  // namespace freshet::transport
