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

/// Cores this process may run on, at least 1 (by the affinity mask, not just the machine's cores).
unsigned coreCount();
/// Pins the calling thread to the `index`-th core it may run on. Best effort.
void pinToCore(unsigned index);
/// Permanently gives the calling thread the lowest priority (nice level 19) and short time slices,
/// so that a thread that wakes need not wait for it. Best effort.
void standBack();
/// Permanently gives the calling thread a third of the share that other threads get of a busy
/// processor, in short time slices: for work that a client waits for but that should not slow
/// others down. Best effort.
void giveWay();
/// Permanently gives the calling thread short time slices that come soon after it wakes: for a
/// thread that mostly waits and that many threads wait for. Best effort (Linux 6.12 and later).
void stepForward();
/// Length of the calling thread's time slice while others wait, in nanoseconds; 0: the system does
/// not report it (before Linux 6.12). A system call.
uint64_t turnNanos();
/// Sets that length. For a thread that yields by itself, at moments that suit it better than
/// preemption. Best effort.
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
/// Resident set of this process in bytes; 0 when the system does not report it.
uint64_t residentBytes();
/// Memory of the machine in bytes; 0 when the system does not report it.
uint64_t machineMemoryBytes();

}  // namespace freshet::platform
