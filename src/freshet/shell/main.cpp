// SPDX-License-Identifier: Apache-2.0
/// The program `freshet`: a shell for a server that speaks the MongoDB wire protocol.
#include "freshet/shell/repl/shell.h"

#include <unistd.h>

#include <csignal>
#include <iostream>

namespace {

/// Does nothing, but a signal that has a handler interrupts the call that waits for a reply.
void onInterrupt(int) {}

}  // namespace

int main(int argc, char** argv) {
    bool isTerminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
    if (isTerminal) {
        struct sigaction action = {};
        action.sa_handler = &onInterrupt;
        sigaction(SIGINT, &action, nullptr);
    }
    return freshet::shell::runShell(std::vector<std::string>(argv + 1, argv + argc),
                                    isTerminal,
                                    std::cin,
                                    std::cout,
                                    std::cerr);
}
