// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/page_memory.h"

#include "freshet/base/sanitizer.h"
#include "freshet/platform/memory.h"
#include "freshet/platform/thread.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace freshet::platform {
namespace {

constexpr size_t kImage = 4 * kPageMemoryUnit;

TEST(PageMemory, IsAlignedAndNotShared) {
    std::set<char*> taken;
    for (size_t units = 1; units <= 40; ++units) {
        char* memory = takePageMemory(units * kPageMemoryUnit);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % kPageMemoryUnit, 0u);
        std::memset(memory, static_cast<int>(units), units * kPageMemoryUnit);
        EXPECT_TRUE(taken.insert(memory).second);
        for (char* other : taken) {
            const auto size = static_cast<size_t>(*other) * kPageMemoryUnit;
            EXPECT_EQ(other[size - 1], *other);
        }
    }
    for (char* memory : taken) {
        freePageMemory(memory, static_cast<size_t>(*memory) * kPageMemoryUnit);
    }
}

TEST(PageMemory, WhatIsKeptIsBoundedAndGoesBack) {
    freeSparePageMemory();
    EXPECT_EQ(sparePageMemoryBytes(), 0u);
    std::vector<char*> taken;
    for (int i = 0; i < 1000; ++i) {
        taken.push_back(takePageMemory(kImage));
    }
    for (char* memory : taken) {
        freePageMemory(memory, kImage);
    }
    if (!kIsAddressSanitized) {
        EXPECT_GT(sparePageMemoryBytes(), 0u);
    }
    EXPECT_LE(sparePageMemoryBytes(), (4u << 20) + kImage);
    giveBackFreedMemory();
    EXPECT_EQ(sparePageMemoryBytes(), 0u);
}

TEST(PageMemory, ManyThreadsTakeAndFree) {
    std::vector<Thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back("test", [t] {
            for (int i = 0; i < 5000; ++i) {
                const size_t bytes = (1 + (i + t) % 5) * kPageMemoryUnit;
                char* memory = takePageMemory(bytes);
                memory[0] = memory[bytes - 1] = static_cast<char>(t);
                ASSERT_EQ(memory[0], static_cast<char>(t));
                ASSERT_EQ(memory[bytes - 1], static_cast<char>(t));
                freePageMemory(memory, bytes);
            }
        });
    }
}

TEST(HugePages, HaveACostWhereThereAreSome) {
    setHugePages(false);
    EXPECT_FALSE(hugePageNanos().has_value());
    setHugePages(true);
    if (const std::optional<uint64_t> nanos = hugePageNanos()) {
        EXPECT_GT(*nanos, 0u);
    }
}

}  // namespace
}  // namespace freshet::platform
