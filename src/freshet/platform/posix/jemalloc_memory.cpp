// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/memory.h"

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <string>

/// jemalloc's; null where the program is not linked with it.
extern "C" int mallctl(const char* name,
                       void* old,
                       size_t* oldBytes,
                       void* fresh,
                       size_t freshBytes) __attribute__((weak));

namespace freshet::platform {
namespace {

constexpr ssize_t kNeverMs = -1;
constexpr ssize_t kSoonMs = 1'000;
// 4096 is all arenas together (MALLCTL_ARENAS_ALL).
constexpr const char* kFreedPages = "stats.arenas.4096.pdirty";
constexpr const char* kDecayAll = "arena.4096.decay";

template <typename T>
T told(const char* name) {
    T value{};
    size_t bytes = sizeof(value);
    mallctl(name, &value, &bytes, nullptr, 0);
    return value;
}

}  // namespace

uint64_t freedMemoryBytes() {
    if (mallctl == nullptr) {
        return 0;
    }
    uint64_t epoch = 1;  // statistics are as of the last one
    mallctl("epoch", nullptr, nullptr, &epoch, sizeof(epoch));
    return told<size_t>(kFreedPages) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void keepFreedMemory(bool kept) {
    if (mallctl == nullptr) {
        return;
    }
    ssize_t decay = kept ? kNeverMs : kSoonMs;
    mallctl("arenas.dirty_decay_ms", nullptr, nullptr, &decay, sizeof(decay));
    for (unsigned i = 0; i < told<unsigned>("arenas.narenas"); ++i) {
        const std::string name = "arena." + std::to_string(i) + ".dirty_decay_ms";
        mallctl(name.c_str(), nullptr, nullptr, &decay, sizeof(decay));
    }
}

void giveBackOldMemory() {
    if (mallctl != nullptr) {
        mallctl(kDecayAll, nullptr, nullptr, nullptr, 0);
    }
}

}  // namespace freshet::platform
