// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/load/client.h"
#include "freshet/bench/load/one_connection.h"
#include "freshet/platform/clock.h"
#include "freshet/wire/frame.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace freshet::bench {
namespace {

class DriverWorker final : public OneConnectionWorker {
public:
    explicit DriverWorker(const PhaseFlag& phase) : OneConnectionWorker(phase) {}
    ~DriverWorker() override {
        if (socket_ >= 0) {
            ::close(socket_);
        }
    }

    Status add(const LoadPlan& plan, RequestStream::Share share) override {
        FRESHET_ASSIGN_OR_RETURN(socket_, connectTcp(plan.host, plan.port));
        takeShare(plan, share);
        return Status::ok();
    }

private:
    Status exchange(bool measuring) override;
    Status send(ByteView message);
    /// Exactly `bytes` bytes.
    Status receive(char* to, size_t bytes);

    int socket_ = -1;
    std::vector<char> reply_ = std::vector<char>(16 * 1024);
};

Status DriverWorker::exchange(bool measuring) {
    const uint64_t startedAt = platform::monotonicNanos();
    FRESHET_RETURN_IF_ERROR(send(requests_->next()));
    FRESHET_RETURN_IF_ERROR(receive(reply_.data(), wire::kHeaderBytes));
    FRESHET_ASSIGN_OR_RETURN(const wire::Header header,
                             wire::parseHeader({reply_.data(), wire::kHeaderBytes}));
    const auto length = static_cast<size_t>(header.messageBytes);
    reply_.resize(std::max(reply_.size(), length));
    FRESHET_RETURN_IF_ERROR(
        receive(reply_.data() + wire::kHeaderBytes, length - wire::kHeaderBytes));
    if (measuring) {
        latencies.add(platform::monotonicNanos() - startedAt);
        replyBytes = std::max(replyBytes, length);
    }
    return requests_->judge({reply_.data(), length});
}

Status DriverWorker::send(ByteView message) {
    while (!message.empty()) {
        const ssize_t bytes = ::send(socket_, message.data(), message.size(), MSG_NOSIGNAL);
        if (bytes < 0) {
            return Status(Code::kIo, std::string("send: ") + std::strerror(errno));
        }
        message.remove_prefix(static_cast<size_t>(bytes));
    }
    return Status::ok();
}

Status DriverWorker::receive(char* to, size_t bytes) {
    while (bytes > 0) {
        const ssize_t some = ::recv(socket_, to, bytes, 0);
        if (some <= 0) {
            return some == 0 ? Status(Code::kIo, "The server ended a connection")
                             : Status(Code::kIo, std::string("recv: ") + std::strerror(errno));
        }
        to += some;
        bytes -= static_cast<size_t>(some);
    }
    return Status::ok();
}

}  // namespace

std::unique_ptr<LoadWorker> makeDriverWorker(const PhaseFlag& phase) {
    return std::make_unique<DriverWorker>(phase);
}

}  // namespace freshet::bench
