// SPDX-License-Identifier: Apache-2.0
/// The messages that one connection of the load generator sends, over any transport: copies of one
/// request, or of two chosen at random, in which only the id changes. One thread.
#pragma once

#include "freshet/bench/load.h"

#include <array>
#include <cstdint>
#include <string>

namespace freshet::bench {

class RequestStream {
public:
    /// The unique ids that this connection uses: idBase + index + n * of.
    struct Share {
        uint64_t index = 0;
        uint64_t of = 1;
    };

    RequestStream(const RequestTemplate& request, Share share);
    /// The next message; valid until the next call.
    ByteView next();
    /// Checks the reply to the last message, unless the last good reply had the same length.
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
    std::array<Kind, 2> kinds_;  // the request, and the other one if it exists
    size_t last_ = 0;            // index in kinds_ of what was sent
    uint64_t requests_ = 0;
    uint64_t random_;
};

}  // namespace freshet::bench
