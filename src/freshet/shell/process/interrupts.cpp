// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/process/interrupts.h"

#include "freshet/sync/atomic.h"

#include <pthread.h>

#include <csignal>
#include <ctime>

namespace freshet::shell {

namespace {

/// Set by the signal's handler, cleared by the main thread, on which the handler runs; benchRun's
/// threads read it.
sync::Atomic<uint32_t> interrupted{0};
/// The engine. Written by the main thread; read by the handler, on the same thread.
sync::Atomic<script::Context*> interruptible{nullptr};
pthread_t mainThread;

/// Repeats the interruption of a call that waits, in case the signal came just before the call: it
/// would wait for its answer then, with the flag set.
constexpr int kAgain = SIGALRM;
constexpr time_t kAgainEveryNanos = 50'000'000;
timer_t again;
bool hasAgain = false;  // written before any signal is caught

void repeat(bool wanted) {
    if (hasAgain) {
        const timespec every{0, wanted ? kAgainEveryNanos : 0};
        const itimerspec when{every, every};
        timer_settime(again, 0, &when, nullptr);
    }
}

/// A signal that has a handler interrupts the call that waits for a reply, but only on the thread
/// that the signal was given to. True: that was another one.
bool passOn(int signal) {
    if (pthread_equal(pthread_self(), mainThread) != 0) {
        return false;
    }
    pthread_kill(mainThread, signal);
    return true;
}

/// Does nothing more; that is enough to end a call.
void onAgain(int signal) {
    passOn(signal);
}

void onInterrupt(int signal) {
    if (passOn(signal)) {
        return;
    }
    // relaxed, here and below: one thread, and its own handler.
    interrupted.store(1, sync::kRelaxed);
    if (script::Context* context = interruptible.load(sync::kRelaxed); context != nullptr) {
        context->interrupt();
    }
    repeat(true);
}

}  // namespace

void catchInterrupts() {
    mainThread = pthread_self();
    struct sigaction action = {};
    action.sa_handler = &onAgain;
    sigaction(kAgain, &action, nullptr);
    sigevent event = {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = kAgain;
    hasAgain = timer_create(CLOCK_MONOTONIC, &event, &again) == 0;
    action.sa_handler = &onInterrupt;
    sigaction(SIGINT, &action, nullptr);
}

void setInterruptible(script::Context* context) {
    // relaxed: see onInterrupt().
    interruptible.store(context, sync::kRelaxed);
}

bool wasInterrupted() {
    // relaxed: only the flag itself counts; a thread that misses it sees it at its next command.
    const bool was = interrupted.load(sync::kRelaxed) != 0;
    if (was) {
        repeat(false);  // who asks knows, and may have something to tell the server
    }
    return was;
}

void forgetInterrupt() {
    repeat(false);
    // relaxed: see onInterrupt().
    interrupted.store(0, sync::kRelaxed);
    if (script::Context* context = interruptible.load(sync::kRelaxed); context != nullptr) {
        context->clearInterrupt();
    }
}

}  // namespace freshet::shell
