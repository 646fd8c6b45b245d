// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/signals.h"

#include <signal.h>
#include <unistd.h>

namespace freshet::platform {
namespace {

sigset_t endSignals() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::sigaddset(&set, SIGINT);
    return set;
}

}  // namespace

void holdEndSignals() {
    const sigset_t set = endSignals();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
}

int waitForEndSignal() {
    const sigset_t set = endSignals();
    int signal = 0;
    while (::sigwait(&set, &signal) != 0) {  // only EINTR, of a debugger
    }
    return signal;
}

void requestEnd() {
    ::kill(::getpid(), SIGTERM);
}

}  // namespace freshet::platform
