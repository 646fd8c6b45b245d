// SPDX-License-Identifier: Apache-2.0
#ifdef FRESHET_EXPLORE
#include "freshet/testing/sim/explore/quarantine.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

namespace freshet::testing {
namespace {

/// Deleted blocks, and marks that show that most addresses are in none of them: a bit for each 16
/// bytes, the least that an allocator gives, of an address modulo 4 MiB.
class Kept {
public:
    void add(void* block) {
        const auto start = reinterpret_cast<uintptr_t>(block);
        const uintptr_t end = start + malloc_usable_size(block);
        blocks_.push_back({start, end});
        for (uintptr_t grain = start / kGrainBytes; grain * kGrainBytes < end; ++grain) {
            marks_[grain / 64 % kWords] |= UINT64_C(1) << (grain % 64);
        }
    }

    bool holds(const void* address) const {
        const auto at = reinterpret_cast<uintptr_t>(address);
        const uintptr_t grain = at / kGrainBytes;
        return ((marks_[grain / 64 % kWords] >> (grain % 64)) & 1) != 0 &&
               std::any_of(blocks_.begin(), blocks_.end(), [at](const Block& block) {
                   return block.start <= at && at < block.end;
               });
    }

    void free() {
        for (const Block& block : blocks_) {
            std::free(reinterpret_cast<void*>(block.start));
        }
        blocks_.clear();
        marks_.fill(0);
    }

private:
    struct Block {
        uintptr_t start;
        uintptr_t end;
    };
    static constexpr uintptr_t kGrainBytes = 16;
    static constexpr size_t kWords = (4 << 20) / kGrainBytes / 64;

    std::vector<Block> blocks_;
    std::array<uint64_t, kWords> marks_{};
};

Kept& kept() {
    static thread_local Kept instance;
    return instance;
}

// Separate from Kept, so that a delete before or after its lifetime does not create it.
thread_local bool keepBack = false;

void dispose(void* block) {
    if (!keepBack || block == nullptr) {
        std::free(block);
        return;
    }
    keepBack = false;
    kept().add(block);
    keepBack = true;
}

}  // namespace

void Quarantine::resume() {
    keepBack = true;
}

void Quarantine::pause() {
    keepBack = false;
}

bool Quarantine::holds(const void* address) {
    return kept().holds(address);
}

void Quarantine::release() {
    kept().free();
}

}  // namespace freshet::testing

using freshet::testing::dispose;

void operator delete(void* block) noexcept {
    dispose(block);
}
void operator delete(void* block, size_t) noexcept {
    dispose(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
    dispose(block);
}
void operator delete(void* block, size_t, std::align_val_t) noexcept {
    dispose(block);
}
void operator delete[](void* block) noexcept {
    dispose(block);
}
void operator delete[](void* block, size_t) noexcept {
    dispose(block);
}
void operator delete[](void* block, std::align_val_t) noexcept {
    dispose(block);
}
void operator delete[](void* block, size_t, std::align_val_t) noexcept {
    dispose(block);
}
#endif
