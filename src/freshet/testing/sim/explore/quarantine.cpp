// SPDX-License-Identifier: Apache-2.0
#ifdef FRESHET_EXPLORE
#include "freshet/testing/sim/explore/quarantine.h"

#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>

namespace freshet::testing {
namespace {

struct State {
    std::map<uintptr_t, void*> byEnd;  // last address of a block -> its start
};

State& state() {
    static thread_local State instance;
    return instance;
}

// Apart from State, so that a delete before or after its lifetime does not wake it.
thread_local bool keepBack = false;

void dispose(void* block) {
    if (!keepBack || block == nullptr) {
        std::free(block);
        return;
    }
    keepBack = false;
    uintptr_t start = reinterpret_cast<uintptr_t>(block);
    state().byEnd.emplace(start + malloc_usable_size(block) - 1, block);
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
    auto next = state().byEnd.lower_bound(reinterpret_cast<uintptr_t>(address));
    return next != state().byEnd.end() && next->second <= address;
}

void Quarantine::release() {
    for (const auto& [end, block] : state().byEnd) {
        std::free(block);
    }
    state().byEnd.clear();
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
