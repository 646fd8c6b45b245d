// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/process/password.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

namespace freshet::shell {
namespace {

constexpr size_t kPasswordBytesMax = 4096;

std::string readLine(int terminal) {
    std::string line;
    char byte = 0;
    while (line.size() < kPasswordBytesMax && ::read(terminal, &byte, 1) == 1 && byte != '\n') {
        line.push_back(byte);
    }
    return line;
}

bool show(int terminal, const std::string& text) {
    return ::write(terminal, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

std::optional<std::string> askPassword(const std::string& prompt) {
    const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    termios before{};
    if (terminal < 0 || ::tcgetattr(terminal, &before) != 0 || !show(terminal, prompt)) {
        ::close(terminal);
        return std::nullopt;
    }
    termios silent = before;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(terminal, TCSAFLUSH, &silent);
    std::string line = readLine(terminal);
    ::tcsetattr(terminal, TCSAFLUSH, &before);
    show(terminal, "\n");
    ::close(terminal);
    return line;
}

}  // namespace freshet::shell
