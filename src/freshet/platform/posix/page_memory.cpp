// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/page_memory.h"

#include "freshet/base/sanitizer.h"

#include <array>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace freshet::platform {
namespace {

/// Sizes of leaves' images; larger ones are few.
constexpr size_t kUnitsMax = 4;
/// About what the eviction frees at once, and little compared with a relevant memory ceiling.
constexpr uint64_t kSpareBytesMax = 4u << 20;
/// A sanitizer must see each use of freed memory.
constexpr bool kKeeps = !kIsAddressSanitized;

constexpr std::align_val_t kAlignment{kPageMemoryUnit};

class Spares {
public:
    char* take(size_t units) {
        std::lock_guard<std::mutex> guard(mutex_);
        std::vector<char*>& spares = byUnits_[units - 1];
        if (spares.empty()) {
            return nullptr;
        }
        char* memory = spares.back();
        spares.pop_back();
        bytes_ -= units * kPageMemoryUnit;
        return memory;
    }
    /// False: enough are kept, or the mutex is taken. The caller may be freeing on its way to a
    /// page, where no thread waits for another.
    bool keep(char* memory, size_t units) {
        std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (!lock.owns_lock() || bytes_ >= kSpareBytesMax) {
            return false;
        }
        byUnits_[units - 1].push_back(memory);
        bytes_ += units * kPageMemoryUnit;
        return true;
    }
    uint64_t bytes() {
        std::lock_guard<std::mutex> guard(mutex_);
        return bytes_;
    }
    void freeAll() {
        std::array<std::vector<char*>, kUnitsMax> spares;
        {
            std::lock_guard<std::mutex> guard(mutex_);
            std::swap(spares, byUnits_);
            bytes_ = 0;
        }
        for (const std::vector<char*>& ofOneSize : spares) {
            for (char* memory : ofOneSize) {
                ::operator delete(memory, kAlignment);
            }
        }
    }

private:
    std::mutex mutex_;
    std::array<std::vector<char*>, kUnitsMax> byUnits_;  // guarded by mutex_
    uint64_t bytes_ = 0;                                 // guarded by mutex_
};

Spares& spares() {
    static Spares* const ofProcess = new Spares;  // pages may be freed while the process ends
    return *ofProcess;
}

/// Bytes that this thread has taken from the spares minus those it has put there: the allocator
/// does not see such memory change threads.
thread_local int64_t fromSpares = 0;

bool isKept(size_t units) {
    return kKeeps && units <= kUnitsMax;
}

}  // namespace

char* takePageMemory(size_t bytes) {
    const size_t units = bytes / kPageMemoryUnit;
    if (char* memory = isKept(units) ? spares().take(units) : nullptr) {
        fromSpares += static_cast<int64_t>(bytes);
        return memory;
    }
    return static_cast<char*>(::operator new(bytes, kAlignment));
}

void freePageMemory(char* memory, size_t bytes) {
    const size_t units = bytes / kPageMemoryUnit;
    if (!isKept(units) || !spares().keep(memory, units)) {
        ::operator delete(memory, kAlignment);
    } else {
        fromSpares -= static_cast<int64_t>(bytes);
    }
}

int64_t threadSpareBytes() {
    return fromSpares;
}

uint64_t sparePageMemoryBytes() {
    return spares().bytes();
}

void freeSparePageMemory() {
    spares().freeAll();
}

}  // namespace freshet::platform
