// SPDX-License-Identifier: Apache-2.0
/// The program `freshet`: a shell for a server that speaks the MongoDB wire protocol.
#include "freshet/shell/process/interrupts.h"
#include "freshet/shell/repl/shell.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
    const bool isTerminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
    if (isTerminal) {
        freshet::shell::catchInterrupts();
    }
    return freshet::shell::runShell(std::vector<std::string>(argv + 1, argv + argc),
                                    isTerminal,
                                    std::cin,
                                    std::cout,
                                    std::cerr);
}
