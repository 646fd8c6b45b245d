// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/process/interrupts.h"

#include "freshet/sync/atomic.h"

#include <pthread.h>

#include <csignal>
#include <ctime>

namespace freshet::shell {

namespace {

/// Set by the signal handler, cleared by the main thread, on which the handler runs; read by
/// benchRun's threads.
sync::Atomic<uint32_t> interrupted{0};
/// The script engine. Written by the main thread; read by the handler, on the same thread.
sync::Atomic<script::Context*> interruptible{nullptr};
pthread_t mainThread;

/// Interrupts a waiting call again, in case the signal came just before the call: otherwise it
/// would wait for its reply with the flag set.
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

/// A signal with a handler interrupts a call that waits for a reply only if it is delivered to the
/// calling thread. True: this is another thread, and the signal was passed on.
bool passOn(int signal) {
    if (pthread_equal(pthread_self(), mainThread) != 0) {
        return false;
    }
    pthread_kill(mainThread, signal);
    return true;
}

/// Does nothing: the interruption itself ends a call.
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
        repeat(false);  // the caller knows now, and may have to send something to the server
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
