// SPDX-License-Identifier: Apache-2.0
/// Many connections that send one request and then stay idle, like a driver's pool. Own thread.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bench/load.h"

#include <cstdint>
#include <string>
#include <vector>

namespace freshet::bench {

class IdleCrowd {
public:
    IdleCrowd() = default;
    IdleCrowd(const IdleCrowd&) = delete;
    IdleCrowd& operator=(const IdleCrowd&) = delete;
    ~IdleCrowd() { leave(); }

    /// Opens `count` connections; each sends the request once and reads the reply.
    Status come(const std::string& host,
                uint16_t port,
                unsigned count,
                const RequestTemplate& request);
    void leave();

private:
    std::vector<int> sockets_;
};

}  // namespace freshet::bench
