// SPDX-License-Identifier: Apache-2.0
/// One connection of the load generator: sends a request, waits for the reply, sends the next.
#pragma once

#include "freshet/bench/load/request_stream.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace freshet::bench {

/// A connected TCP socket that blocks. kUnavailable when nothing listens there.
StatusOr<int> connectTcp(const std::string& host, uint16_t port);

class Client {
public:
    struct Progress {
        bool replied = false;
        bool wantsWriteChanged = false;
        uint64_t repliedAt = 0;
        size_t replyBytes = 0;
    };

    Client(const RequestTemplate& request, RequestStream::Share share)
        : requests_(request, share), in_(kFirstReplyBytes) {}
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    Status connect(const std::string& host, uint16_t port);
    /// Sends the first request.
    Status begin();
    /// Reads and writes as much as is possible now; a complete reply starts the next request.
    StatusOr<Progress> proceed();
    /// Like proceed(), but starts no next request. Returns true when the reply is complete.
    StatusOr<bool> proceedOnce();
    /// Gives the descriptor to the caller.
    int release() { return std::exchange(descriptor_, -1); }

    int descriptor() const { return descriptor_; }
    bool wantsWrite() const { return sent_ < out_.size(); }
    uint64_t startedAt() const { return startedAt_; }
    uint64_t requests() const { return requests_.requests(); }

private:
    void prepareRequest(uint64_t now);
    Status writeSome();
    /// Returns true when the reply is complete.
    StatusOr<bool> readSome();

    static constexpr size_t kFirstReplyBytes = 16 * 1024;

    RequestStream requests_;
    int descriptor_ = -1;
    ByteView out_;
    size_t sent_ = 0;
    std::vector<char> in_;
    size_t received_ = 0;
    uint64_t startedAt_ = 0;
};

}  // namespace freshet::bench
