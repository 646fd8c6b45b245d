// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/clock.h"
#include "freshet/platform/limits.h"
#include "freshet/platform/thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>

namespace freshet::platform {
namespace {

uint64_t nanosOf(clockid_t id) {
    timespec now;
    ::clock_gettime(id, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

/// The kernel's scheduling statistics of the calling thread, kept open while it lives.
class SchedulerAccount {
public:
    SchedulerAccount() : fd_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}
    ~SchedulerAccount() {
        if (fd_ >= 0) {
            ::close(fd_);
        }
    }
    SchedulerAccount(const SchedulerAccount&) = delete;
    SchedulerAccount& operator=(const SchedulerAccount&) = delete;
    /// The second of its three numbers.
    uint64_t runDelayNanos() const {
        char text[80] = {};
        unsigned long long delay = 0;
        const bool known = fd_ >= 0 && ::pread(fd_, text, sizeof(text) - 1, 0) > 0 &&
                           std::sscanf(text, "%*u %llu", &delay) == 1;
        return known ? delay : 0;
    }

private:
    const int fd_;
};

/// Sets every thread's stack, libraries' threads included, whatever ulimit says: recursion over
/// documents and scripts is bounded by levels and bytes that fit into it.
bool setStackBytes() {
    constexpr size_t kStackBytes = size_t{8} << 20;
    ::pthread_attr_t attributes;
    if (::pthread_attr_init(&attributes) == 0) {
        ::pthread_attr_setstacksize(&attributes, kStackBytes);
        ::pthread_setattr_default_np(&attributes);
        ::pthread_attr_destroy(&attributes);
    }
    return true;
}

}  // namespace

uint64_t monotonicNanos() {
    return nanosOf(CLOCK_MONOTONIC);
}

int64_t wallMillis() {
    return static_cast<int64_t>(nanosOf(CLOCK_REALTIME) / 1'000'000u);
}

uint64_t coarseNanos() {
    return nanosOf(CLOCK_MONOTONIC_COARSE);
}

uint64_t processCpuMicros() {
    return nanosOf(CLOCK_PROCESS_CPUTIME_ID) / 1'000u;
}

uint64_t threadCpuNanos() {
    return nanosOf(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t threadRunDelayNanos() {
    static thread_local const SchedulerAccount account;
    return account.runDelayNanos();
}

Thread::Thread(const std::string& name, std::function<void()> body) {
    static const bool isSet = setStackBytes();
    static_cast<void>(isSet);
    thread_ = std::thread([name = name.substr(0, 15), body = std::move(body)] {
        ::pthread_setname_np(::pthread_self(), name.c_str());
        body();
    });
}

Thread::~Thread() {
    join();
}

Thread& Thread::operator=(Thread&& other) noexcept {
    join();
    thread_ = std::move(other.thread_);
    return *this;
}

void Thread::join() {
    if (thread_.joinable()) {
        thread_.join();
    }
}

unsigned coreCount() {
    cpu_set_t set;
    CPU_ZERO(&set);
    // Of the main thread, which is never pinned: the caller may be.
    if (::sched_getaffinity(::getpid(), sizeof(set), &set) != 0) {
        return 1;
    }
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : static_cast<unsigned>(count);
}

void pinToCore(unsigned index) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        return;
    }
    unsigned seen = 0;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &allowed) && seen++ == index) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(core, &one);
            ::pthread_setaffinity_np(::pthread_self(), sizeof(one), &one);
            return;
        }
    }
}

namespace {

/// sched_attr of <linux/sched/types.h>, which cannot be included beside <sched.h>.
struct SchedulingAttributes {
    uint32_t size = sizeof(SchedulingAttributes);
    uint32_t policy = SCHED_OTHER;
    uint64_t flags = 0;
    int32_t nice = 0;
    uint32_t priority = 0;
    uint64_t sliceNanos = 0;
    uint64_t deadline = 0;
    uint64_t period = 0;
};

/// Attributes of the calling thread; false: unknown, or its policy does not share by weight.
bool get(SchedulingAttributes* attributes) {
    return ::syscall(SYS_sched_getattr, 0, attributes, sizeof(*attributes), 0) == 0 &&
           attributes->policy == SCHED_OTHER;
}

/// Sets the calling thread's weight, as nice(1) numbers it, and the shortest possible time slices.
void takeShortTurns(int32_t nice) {
    SchedulingAttributes attributes;
    attributes.nice = nice;
    attributes.sliceNanos = 100'000;  // the shortest that is accepted
    ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

void standBack() {
    // A thread that wakes during a time slice waits for its end, which is 3 ms and more by default.
    takeShortTurns(19);
}

void giveWay() {
    takeShortTurns(5);
}

void stepForward() {
    takeShortTurns(0);
}

uint64_t turnNanos() {
    SchedulingAttributes attributes;
    return get(&attributes) ? attributes.sliceNanos : 0;
}

void setTurnNanos(uint64_t nanos) {
    SchedulingAttributes attributes;
    if (get(&attributes)) {
        attributes.sliceNanos = nanos;
        ::syscall(SYS_sched_setattr, 0, &attributes, 0);
    }
}

void yieldThread() {
    ::sched_yield();
}

void sleepMillis(uint64_t ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

void sleepUntilNanos(uint64_t due) {
    timespec when;
    when.tv_sec = static_cast<time_t>(due / 1'000'000'000u);
    when.tv_nsec = static_cast<long>(due % 1'000'000'000u);
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) == EINTR) {
    }
}

uint64_t randomSeed() {
    uint64_t seed = 0;
    if (::getrandom(&seed, sizeof(seed), 0) != static_cast<ssize_t>(sizeof(seed))) {
        seed = monotonicNanos();
    }
    return seed;
}

std::string hostName() {
    char name[256] = {};
    return ::gethostname(name, sizeof(name) - 1) == 0 ? std::string(name)
                                                      : std::string("localhost");
}

int64_t processId() {
    return ::getpid();
}

uint64_t machineMemoryBytes() {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long bytes = ::sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(bytes) : 0;
}

namespace {

/// In pages; zeros when the system does not tell.
struct MemoryPages {
    uint64_t total = 0;
    uint64_t resident = 0;
};

MemoryPages memoryPages() {
    MemoryPages pages;
    if (FILE* file = std::fopen("/proc/self/statm", "r")) {
        const int read = std::fscanf(file, "%lu %lu", &pages.total, &pages.resident);
        std::fclose(file);
        if (read != 2) {
            return {};
        }
    }
    return pages;
}

}  // namespace

uint64_t residentBytes() {
    return memoryPages().resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

uint64_t virtualBytes() {
    return memoryPages().total * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace freshet::platform
