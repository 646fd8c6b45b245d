// SPDX-License-Identifier: Apache-2.0
/// The command line of `freshet-rdma-proxy`.
#pragma once

#include "freshet/proxy/proxy.h"

#include <string>
#include <string_view>
#include <vector>

namespace freshet::proxy {

struct CommandLine {
    ProxyOptions proxy;
    bool wantsHelp = false;
};

/// kInvalid with a text for the user.
StatusOr<CommandLine> parseCommandLine(const std::vector<std::string>& arguments);

std::string_view usage();

}  // namespace freshet::proxy
