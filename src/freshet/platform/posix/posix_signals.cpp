// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/signals.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>

namespace freshet::platform {
namespace {

sigset_t heldSignals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) {
        ::sigaddset(&set, signal);
    }
    return set;
}

}  // namespace

void holdSignals() {
    const sigset_t set = heldSignals();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
}

Signal waitForSignal() {
    const sigset_t set = heldSignals();
    Signal signal;
    while (::sigwait(&set, &signal.number) != 0) {  // only EINTR, of a debugger
    }
    signal.kind = signal.number == SIGUSR1   ? Signal::Kind::kRotateLog
                  : signal.number == SIGUSR2 ? Signal::Kind::kOther
                                             : Signal::Kind::kEnd;
    signal.name = ::strsignal(signal.number);
    return signal;
}

void requestEnd() {
    ::kill(::getpid(), SIGTERM);
}

bool requestEndOf(int64_t processId) {
    return processId > 0 && ::kill(static_cast<pid_t>(processId), SIGTERM) == 0;
}

bool processExists(int64_t processId) {
    return processId > 0 && (::kill(static_cast<pid_t>(processId), 0) == 0 || errno == EPERM);
}

}  // namespace freshet::platform
