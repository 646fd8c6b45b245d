// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/load/client.h"

#include "freshet/platform/clock.h"
#include "freshet/wire/frame.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace freshet::bench {
namespace {

Status systemError(const char* what) {
    return Status(Code::kIo, std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

StatusOr<int> connectTcp(const std::string& host, uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
        return Status(Code::kUnavailable, "Cannot find host " + host);
    }
    const int descriptor = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool connected =
        descriptor >= 0 && ::connect(descriptor, found->ai_addr, found->ai_addrlen) == 0;
    const int error = errno;
    ::freeaddrinfo(found);
    if (!connected) {
        ::close(descriptor);
        errno = error;
        return errno == ECONNREFUSED ? Status(Code::kUnavailable, "Nothing listens there")
                                     : systemError("connect");
    }
    const int one = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return descriptor;
}

Client::~Client() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

Status Client::connect(const std::string& host, uint16_t port) {
    FRESHET_ASSIGN_OR_RETURN(descriptor_, connectTcp(host, port));
    return ::fcntl(descriptor_, F_SETFL, O_NONBLOCK) == 0 ? Status::ok() : systemError("fcntl");
}

Status Client::begin() {
    prepareRequest(platform::monotonicNanos());
    return writeSome();
}

void Client::prepareRequest(uint64_t now) {
    out_ = requests_.next();
    startedAt_ = now;
    sent_ = 0;
    received_ = 0;
}

Status Client::writeSome() {
    const ssize_t bytes =
        ::send(descriptor_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (bytes < 0) {
        return errno == EAGAIN ? Status::ok() : systemError("send");
    }
    sent_ += static_cast<size_t>(bytes);
    return Status::ok();
}

StatusOr<bool> Client::readSome() {
    const ssize_t bytes = ::recv(descriptor_, in_.data() + received_, in_.size() - received_, 0);
    if (bytes < 0) {
        return errno == EAGAIN ? StatusOr<bool>(false) : systemError("recv");
    }
    if (bytes == 0) {
        return Status(Code::kIo, "The server ended a connection");
    }
    received_ += static_cast<size_t>(bytes);
    if (received_ < wire::kHeaderBytes) {
        return false;
    }
    FRESHET_ASSIGN_OR_RETURN(wire::Header header, wire::parseHeader({in_.data(), received_}));
    const auto length = static_cast<size_t>(header.messageBytes);
    if (length > in_.size()) {
        in_.resize(length);
    }
    if (received_ < length) {
        return false;
    }
    if (received_ > length) {
        return Status(Code::kIo, "The server sent more than one reply to a request");
    }
    FRESHET_RETURN_IF_ERROR(requests_.judge({in_.data(), length}));
    return true;
}

StatusOr<bool> Client::proceedOnce() {
    if (wantsWrite()) {
        FRESHET_RETURN_IF_ERROR(writeSome());
        return false;
    }
    return readSome();
}

StatusOr<Client::Progress> Client::proceed() {
    Progress out;
    const bool wantedWrite = wantsWrite();
    if (wantedWrite) {
        FRESHET_RETURN_IF_ERROR(writeSome());
    } else {
        FRESHET_ASSIGN_OR_RETURN(out.replied, readSome());
    }
    if (out.replied) {
        out.replyBytes = received_;
        out.repliedAt = platform::monotonicNanos();
        prepareRequest(out.repliedAt);
        FRESHET_RETURN_IF_ERROR(writeSome());
    }
    out.wantsWriteChanged = wantsWrite() != wantedWrite;
    return out;
}

}  // namespace freshet::bench
