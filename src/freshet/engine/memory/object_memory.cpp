// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/memory/object_memory.h"

#include "freshet/base/sanitizer.h"

#include <new>

namespace freshet::engine {
namespace {

#ifdef FRESHET_EXPLORE
// To the operating system all of the explorer's threads are one thread.
constexpr bool kKeeps = false;
#else
constexpr bool kKeeps = !kIsAddressSanitized;
#endif
constexpr size_t kStep = 32;
constexpr size_t kClasses = 36;  // objects up to 1,152 bytes: a version with its value, or a page

struct Spare {
    Spare* next;
};

/// Without a constructor or destructor, so that access costs nothing.
struct Spares {
    Spare* free[kClasses];
    size_t bytes;
    bool isWatched;  // a Watch empties them when the thread ends
};
constinit thread_local Spares spares{};

/// Empties the thread's spares.
struct Watch {
    ~Watch() {
        for (Spare*& first : spares.free) {
            while (Spare* spare = first) {
                first = spare->next;
                ::operator delete(spare);
            }
        }
        spares.bytes = kSpareObjectBytesMax;  // what is given back after this is not kept
    }
};

void watchThisThread() {
    thread_local Watch watch;
    spares.isWatched = true;
}

}  // namespace

void* takeObjectMemory(size_t bytes) {
    const size_t kind = (bytes - 1) / kStep;
    if (!kKeeps || kind >= kClasses) {
        return ::operator new(bytes);
    }
    Spares& mine = spares;
    const size_t room = (kind + 1) * kStep;
    if (Spare* spare = mine.free[kind]) {
        mine.free[kind] = spare->next;
        mine.bytes -= room;
        return spare;
    }
    return ::operator new(room);
}

void giveObjectMemory(void* memory, size_t bytes) noexcept {
    const size_t kind = (bytes - 1) / kStep;
    const size_t room = (kind + 1) * kStep;
    Spares& mine = spares;
    if (!kKeeps || kind >= kClasses || mine.bytes + room > kSpareObjectBytesMax) {
        ::operator delete(memory);
        return;
    }
    if (!mine.isWatched) [[unlikely]] {
        watchThisThread();
    }
    mine.free[kind] = new (memory) Spare{mine.free[kind]};
    mine.bytes += room;
}

}  // namespace freshet::engine
