// SPDX-License-Identifier: Apache-2.0
/// What one connection of the load generator says, whatever carries it: copies of one request, or
/// of two by turns of chance, in which only the id changes. One thread.
#pragma once

#include "freshet/bench/load.h"

#include <array>
#include <cstdint>
#include <string>

namespace freshet::bench {

class RequestStream {
public:
    /// Which of the unique ids are this connection's: idBase + index + n * of.
    struct Share {
        uint64_t index = 0;
        uint64_t of = 1;
    };

    RequestStream(const RequestTemplate& request, Share share);
    /// The next message; good until the one after it.
    ByteView next();
    /// Looks into the reply to the last message unless one of its length was found good just
    /// before.
    Status judge(ByteView reply);
    uint64_t requests() const { return requests_; }

private:
    struct Kind {
        const RequestTemplate* request = nullptr;
        std::string bytes;
        size_t goodReplyBytes = 0;
    };
    uint64_t random();

    const Share share_;
    std::array<Kind, 2> kinds_;  // the request, and the other if there is one
    size_t last_ = 0;            // of kinds_: what was sent
    uint64_t requests_ = 0;
    uint64_t random_;
};

}  // namespace freshet::bench
