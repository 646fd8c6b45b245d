// SPDX-License-Identifier: Apache-2.0
/// The command line of `freshet-bench wire`.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace freshet::bench {

struct WireOptions {
    std::vector<std::string> ops{"get", "put"};
    std::vector<unsigned> clients{1, 8, 64};
    size_t valueBytes = 1024;
    unsigned seconds = 5;
    unsigned threads = 2;  // of the load generator
    uint64_t records = 100'000;
    bool durable = true;  // of put
    bool withEcho = false;
    unsigned idle = 0;  // connections that say hello and then nothing, while all is measured again
    bool json = false;
    bool rdma = false;    // connections must go over RDMA
    std::string uri;      // empty: a server of our own
    int64_t pid = 0;      // with uri: whose processor time to take
    std::string dataDir;  // where our own server's data goes; empty: the system's temporary one
};

/// `arguments` after "wire". kInvalid with a text for the user.
StatusOr<WireOptions> parseWireOptions(const std::vector<std::string>& arguments);

std::string_view wireUsage();

}  // namespace freshet::bench
