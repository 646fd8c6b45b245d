// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/tcp/unix_path.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace freshet::transport {
namespace {

bool doesSomebodyListen(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int result =
        ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    const bool isRefused = result != 0 && errno == ECONNREFUSED;
    ::close(probe);
    return !isRefused;
}

}  // namespace

Status clearStaleSocket(const std::string& path) {
    if (path.size() >= sizeof(sockaddr_un::sun_path)) {
        return badValue("The path of a Unix socket is too long: " + path);
    }
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0) {
        return Status::ok();  // binding reports whatever else is wrong
    }
    if (!S_ISSOCK(found.st_mode)) {
        return Status(Code::kIo, path + " exists and is not a socket");
    }
    if (doesSomebodyListen(path)) {
        return Status(Code::kUnavailable, "Cannot listen on " + path + ": it is in use");
    }
    if (::unlink(path.c_str()) != 0) {
        return Status(Code::kIo, "Cannot remove " + path + ": " + std::strerror(errno));
    }
    return Status::ok();
}

Status setSocketMode(int socket, uint32_t mode) {
    // Before bind, which gives the file the socket's own mode less the process's umask.
    return ::fchmod(socket, static_cast<mode_t>(mode)) == 0
               ? Status::ok()
               : Status(Code::kIo, std::string("fchmod: ") + std::strerror(errno));
}

void removeSocketFile(const std::string& path) {
    ::unlink(path.c_str());
}

}  // namespace freshet::transport
