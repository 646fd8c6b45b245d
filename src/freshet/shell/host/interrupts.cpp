// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/host/interrupts.h"

#include "freshet/sync/atomic.h"

#include <pthread.h>

#include <csignal>

namespace freshet::shell {

namespace {

/// Set by the signal's handler, cleared by the main thread, on which the handler runs; benchRun's
/// threads read it.
sync::Atomic<uint32_t> interrupted{0};
/// The engine. Written by the main thread; read by the handler, on the same thread.
sync::Atomic<script::Context*> interruptible{nullptr};
pthread_t mainThread;

/// A signal that has a handler interrupts the call that waits for a reply, but only on the thread
/// that the signal was given to.
void onInterrupt(int signal) {
    if (pthread_equal(pthread_self(), mainThread) == 0) {
        pthread_kill(mainThread, signal);
        return;
    }
    // relaxed, here and below: one thread, and its own handler.
    interrupted.store(1, sync::kRelaxed);
    if (script::Context* context = interruptible.load(sync::kRelaxed); context != nullptr) {
        context->interrupt();
    }
}

}  // namespace

void catchInterrupts() {
    mainThread = pthread_self();
    struct sigaction action = {};
    action.sa_handler = &onInterrupt;
    sigaction(SIGINT, &action, nullptr);
}

void setInterruptible(script::Context* context) {
    // relaxed: see onInterrupt().
    interruptible.store(context, sync::kRelaxed);
}

bool wasInterrupted() {
    // relaxed: only the flag itself counts; a thread that misses it sees it at its next command.
    return interrupted.load(sync::kRelaxed) != 0;
}

void forgetInterrupt() {
    // relaxed: see onInterrupt().
    interrupted.store(0, sync::kRelaxed);
    if (script::Context* context = interruptible.load(sync::kRelaxed); context != nullptr) {
        context->clearInterrupt();
    }
}

}  // namespace freshet::shell
