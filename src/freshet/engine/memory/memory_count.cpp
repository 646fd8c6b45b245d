// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/memory/memory_count.h"

#include "freshet/sync/atomic.h"

#ifndef FRESHET_EXPLORE
namespace freshet::engine {
namespace {

constexpr int64_t kKeptByThread = 16 * 1024;

/// The threads' sums. Written by: each thread now and then. Read by: any.
/// [memory.add], [memory.read] relaxed: only a threshold depends on it.
constinit sync::Atomic<int64_t> total{0};

struct Kept {
    ~Kept() { total.fetch_add(bytes, sync::kRelaxed); }
    int64_t bytes = 0;
    int64_t ever = 0;  // since the thread's start
};
thread_local Kept kept;

}  // namespace

void MemoryCount::change(int64_t bytes) {
    kept.bytes += bytes;
    kept.ever += bytes;
    if (kept.bytes > kKeptByThread || kept.bytes < -kKeptByThread) {
        total.fetch_add(kept.bytes, sync::kRelaxed);  // [memory.add]
        kept.bytes = 0;
    }
}

int64_t MemoryCount::threadBytes() {
    return kept.ever;
}

uint64_t MemoryCount::bytes() {
    const int64_t sum = total.load(sync::kRelaxed);  // [memory.read]
    return sum > 0 ? static_cast<uint64_t>(sum) : 0;
}

}  // namespace freshet::engine
#endif
