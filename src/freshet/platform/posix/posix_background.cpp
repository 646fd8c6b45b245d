// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/background.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace freshet::platform {
namespace {

/// The child's end of the pipe; the parent sees it close when the child ends. Used by the main
/// thread only.
int readyPipe = -1;

Status failure(const char* what) {
    return Status(Code::kIo, std::string(what) + ": " + std::strerror(errno));
}

int waitFor(pid_t child) {
    int state = 0;
    while (::waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

Split parentOf(pid_t child, int pipe) {
    char byte = 0;
    ssize_t got = 0;
    while ((got = ::read(pipe, &byte, 1)) < 0 && errno == EINTR) {
    }
    ::close(pipe);
    return {false, child, got == 1 ? 0 : waitFor(child)};
}

Split childWith(int pipe) {
    readyPipe = pipe;
    ::setsid();
    if (const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC); nowhere >= 0) {
        for (int stream : {0, 1, 2}) {
            ::dup2(nowhere, stream);
        }
        ::close(nowhere);
    }
    return {true, 0, 0};
}

}  // namespace

StatusOr<Split> splitToBackground(void (*announce)(int64_t childId)) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return failure("pipe");
    }
    const pid_t child = ::fork();
    if (child < 0) {
        return failure("fork");
    }
    if (child == 0) {
        ::close(ends[0]);
        return childWith(ends[1]);
    }
    ::close(ends[1]);
    announce(child);
    return parentOf(child, ends[0]);
}

void reportReady() {
    if (readyPipe >= 0) {
        const char byte = 1;
        // The parent may be gone; that does not matter.
        static_cast<void>(!::write(readyPipe, &byte, 1));
        ::close(readyPipe);
        readyPipe = -1;
    }
}

}  // namespace freshet::platform
