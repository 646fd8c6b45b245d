// SPDX-License-Identifier: Apache-2.0
/// Asks a server whether it goes on over RDMA, on behalf of a client that has no device to do so.
#pragma once

#include "freshet/base/status.h"
#include "freshet/transport/connector.h"

namespace freshet::transport {

/// Over a connection of its own. Ok: the server would move a client that can. kUnsupported: it
/// would not, and the text is its reason. Else as connect(). Blocks.
Status askForRdma(const ConnectOptions& options);

}  // namespace freshet::transport
