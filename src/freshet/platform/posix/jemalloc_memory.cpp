// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/clock.h"
#include "freshet/platform/limits.h"
#include "freshet/platform/memory.h"
#include "freshet/platform/page_memory.h"
#include "freshet/platform/posix/huge_pages.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cstddef>
#include <string>

/// jemalloc's function; null where the program is not linked with it.
extern "C" int mallctl(const char* name,
                       void* old,
                       size_t* oldBytes,
                       void* fresh,
                       size_t freshBytes) __attribute__((weak));

namespace freshet::platform {
namespace {

// 4096 stands for all arenas together (MALLCTL_ARENAS_ALL).
constexpr const char* kFreedPages = "stats.arenas.4096.pdirty";
constexpr ssize_t kSoonMillis = 20;
constexpr const char* kPurgeAll = "arena.4096.purge";

template <typename T>
T readControl(const char* name) {
    T value{};
    size_t bytes = sizeof(value);
    mallctl(name, &value, &bytes, nullptr, 0);
    return value;
}

template <typename T>
void writeControl(const std::string& name, T value) {
    mallctl(name.c_str(), nullptr, nullptr, &value, sizeof(value));
}

/// An arena that keeps freed memory only for a moment; without that moment a script that makes an
/// array in each call takes four times as long. Threads share it.
unsigned makeHastyArena() {
    const auto arena = readControl<unsigned>("arenas.create");
    const std::string prefix = "arena." + std::to_string(arena);
    writeControl<ssize_t>(prefix + ".dirty_decay_ms", kSoonMillis);
    writeControl<ssize_t>(prefix + ".muzzy_decay_ms", 0);
    return arena;
}

/// The calling thread's counters, in jemalloc's memory.
struct ThreadCounters {
    ThreadCounters() {
        if (mallctl != nullptr) {
            allocated = readControl<const uint64_t*>("thread.allocatedp");
            freed = readControl<const uint64_t*>("thread.deallocatedp");
        }
    }
    const uint64_t* allocated = nullptr;
    const uint64_t* freed = nullptr;
};

}  // namespace

std::string_view allocatorName() {
    return mallctl != nullptr ? "jemalloc" : "system";
}

int64_t threadMemoryBytes() {
    static thread_local const ThreadCounters counters;
    return counters.allocated == nullptr
               ? 0
               : static_cast<int64_t>(*counters.allocated - *counters.freed) + threadSpareBytes();
}

uint64_t freedMemoryBytes() {
    if (mallctl == nullptr) {
        return 0;
    }
    uint64_t epoch = 1;  // statistics are updated when this is written
    mallctl("epoch", nullptr, nullptr, &epoch, sizeof(epoch));
    return readControl<size_t>(kFreedPages) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) +
           sparePageMemoryBytes();
}

void giveBackFreedMemory() {
    freeSparePageMemory();
    if (mallctl != nullptr) {
        mallctl(kPurgeAll, nullptr, nullptr, nullptr, 0);
    }
}

void returnFreedMemorySoon() {
    if (mallctl != nullptr) {
        static const unsigned arena = makeHastyArena();
        writeControl("thread.arena", arena);
    }
}

void setHugePages(bool wanted) {
    // jemalloc's options only affect memory that it has yet to map.
    ::prctl(PR_SET_THP_DISABLE, wanted ? 0 : 1, 0, 0, 0);
}

std::optional<uint64_t> hugePageNanos() {
    const uint64_t before = monotonicNanos();
    char* page = mapHugePages(kHugePageBytes);
    const uint64_t nanos = monotonicNanos() - before;
    if (page == nullptr) {
        return std::nullopt;
    }
    unmapHugePages(page, kHugePageBytes);
    return nanos;
}

}  // namespace freshet::platform
