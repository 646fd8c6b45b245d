// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/transfer_memory.h"

#include "freshet/base/sanitizer.h"
#include "freshet/platform/posix/huge_pages.h"

#include <bitset>
#include <cstdint>
#include <mutex>

namespace freshet::platform {
namespace {

constexpr size_t kPageBytes = 4096;
/// About the size of a leaf's image.
constexpr size_t kUnitBytes = 16u << 10;
constexpr size_t kUnits = 2 * kHugePageBytes / kUnitBytes;

size_t unitsOf(size_t bytes) {
    return (bytes + kUnitBytes - 1) / kUnitBytes;
}

class Pool {
public:
    Pool() : begin_(mapHugePages(kUnits * kUnitBytes)) {
        if (begin_ != nullptr) {
            poison(begin_, kUnits * kUnitBytes);
        }
    }

    /// Null: none is free.
    char* take(size_t bytes) {
        if (begin_ == nullptr || bytes > kTransferBytesMax) {
            return nullptr;
        }
        const size_t units = unitsOf(bytes);
        std::lock_guard<std::mutex> guard(mutex_);
        const size_t at = units == 1 ? firstFree() : lastFree(units);
        if (at == kUnits) {
            return nullptr;
        }
        set(at, units, true);
        char* memory = begin_ + at * kUnitBytes;
        unpoison(memory, bytes);
        return memory;
    }
    void give(const char* memory, size_t bytes) {
        poison(memory, bytes);
        std::lock_guard<std::mutex> guard(mutex_);
        set(static_cast<size_t>(memory - begin_) / kUnitBytes, unitsOf(bytes), false);
    }
    bool has(const char* memory) const {
        const auto at = reinterpret_cast<uintptr_t>(memory);
        const auto begin = reinterpret_cast<uintptr_t>(begin_);
        return begin != 0 && at >= begin && at - begin < kUnits * kUnitBytes;
    }

private:
    size_t firstFree() const {
        size_t at = 0;
        while (at < kUnits && used_[at]) {
            ++at;
        }
        return at;
    }
    /// From the other end, so that reads, which are small and many, leave space for large pieces.
    size_t lastFree(size_t units) const {
        size_t run = 0;
        for (size_t at = kUnits; at-- > 0;) {
            run = used_[at] ? 0 : run + 1;
            if (run == units) {
                return at;
            }
        }
        return kUnits;
    }
    void set(size_t at, size_t units, bool used) {
        for (size_t end = at + units; at < end; ++at) {
            used_[at] = used;
        }
    }

    char* const begin_;  // null: the system gives no huge pages
    std::mutex mutex_;
    std::bitset<kUnits> used_;  // guarded by mutex_
};

Pool& pool() {
    static Pool* const ofProcess = new Pool;  // transfers may go on while the process ends
    return *ofProcess;
}

}  // namespace

TransferPiece::TransferPiece(size_t bytes)
    : data_(pool().take(bytes)), bytes_(data_ == nullptr ? 0 : bytes) {}

TransferPiece::~TransferPiece() {
    if (data_ != nullptr) {
        pool().give(data_, bytes_);
    }
}

bool TransferPiece::isOnePiece(const char* memory, size_t bytes) {
    return bytes <= kPageBytes || pool().has(memory);
}

void prepareTransferMemory() {
    pool();
}

}  // namespace freshet::platform
