// SPDX-License-Identifier: Apache-2.0
/// Threads, cores, process identity and randomness from the operating system.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace freshet::platform {

/// A joinable thread with a name (15 characters are kept). Joins when destroyed.
class Thread {
public:
    Thread() = default;
    Thread(const std::string& name, std::function<void()> body);
    ~Thread();
    Thread(Thread&&) noexcept = default;
    Thread& operator=(Thread&& other) noexcept;
    void join();
    bool joinable() const { return thread_.joinable(); }

private:
    std::thread thread_;
};

/// Cores this process may run on, at least 1 (affinity mask and not just what the machine has).
unsigned coreCount();
/// Pins the calling thread to the `index`-th core it may run on. Best effort.
void pinToCore(unsigned index);
/// Gives the calling thread, for good, less of the processor than others when it is short (what
/// nice(1) calls 19), in short turns, so that who wakes need not wait. Best effort.
void standBack();
/// Gives the calling thread, for good, a third of what others get when the processor is short, in
/// short turns: for work that others should not feel, but that is somebody's. Best effort.
void giveWay();
/// Gives the calling thread, for good, short turns that come soon: for one that mostly waits, and
/// that many wait for. Best effort (Linux 6.12 and later).
void stepForward();
/// How long the calling thread may compute while others wait, in nanoseconds; 0: the system does
/// not tell (before Linux 6.12). A system call.
uint64_t turnNanos();
/// Changes that. For a thread that will give way by itself, at moments that suit it better than
/// those at which it would be stopped. Best effort.
void setTurnNanos(uint64_t nanos);
/// Lets another thread run.
void yieldThread();
/// Blocks the calling thread. For background threads and tests' peers, never on a reactor.
void sleepMillis(uint64_t ms);
/// As sleepMillis, until monotonicNanos() has reached `due`.
void sleepUntilNanos(uint64_t due);
/// 64 bits from the kernel's generator.
uint64_t randomSeed();
std::string hostName();
int64_t processId();
/// Resident set of this process in bytes; 0 when the system does not tell.
uint64_t residentBytes();
/// Memory of the machine in bytes; 0 when the system does not tell.
uint64_t machineMemoryBytes();

}  // namespace freshet::platform
