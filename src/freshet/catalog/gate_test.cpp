// SPDX-License-Identifier: Apache-2.0
/// The gate: shared by writers, exclusive for definition changes.
#include "freshet/catalog/gate.h"

#include "freshet/platform/thread.h"

#include <gtest/gtest.h>

#include <vector>

namespace freshet::catalog {
namespace {

TEST(Gate, ClosesBehindTheWritersInside) {
    Gate gate;
    sync::WaitToken ignored;
    ASSERT_TRUE(gate.enter(&ignored).isOk());
    ASSERT_TRUE(gate.enter(&ignored).isOk());
    sync::WaitToken empty;
    ASSERT_TRUE(gate.close(&empty).isWouldBlock());
    sync::WaitToken opened;
    ASSERT_TRUE(gate.enter(&opened).isWouldBlock());
    gate.leave();
    EXPECT_FALSE(empty.isDone());
    gate.leave();
    EXPECT_TRUE(empty.isDone());
    ASSERT_TRUE(gate.close(&empty).isOk());
    EXPECT_FALSE(opened.isDone());
    gate.open();
    EXPECT_TRUE(opened.isDone());
    EXPECT_TRUE(gate.enter(&opened).isOk());
    gate.leave();
}

TEST(Gate, RetiringTurnsEveryoneAway) {
    Gate gate;
    sync::WaitToken token;
    ASSERT_TRUE(gate.close(&token).isOk());
    sync::WaitToken waiting;
    ASSERT_TRUE(gate.enter(&waiting).isWouldBlock());
    EXPECT_FALSE(gate.isRetired());
    gate.retire();
    EXPECT_TRUE(gate.isRetired());
    EXPECT_TRUE(waiting.isDone());
    EXPECT_EQ(gate.enter(&waiting).code(), Code::kCancelled);
    EXPECT_EQ(gate.close(&token).code(), Code::kCancelled);
}

template <typename Call>
Status waiting(Call call) {
    sync::WaitToken token;
    Status status = call(&token);
    while (status.isWouldBlock()) {
        sync::blockOn(token);
        status = call(&token);
    }
    return status;
}

/// Plain variables that only the gate protects: TSan reports a race if it does not.
TEST(Gate, TheCloserIsAlone) {
    Gate gate;
    uint64_t definition = 0;
    constexpr int kWriters = 3;
    constexpr uint64_t kChanges = 300;
    sync::Atomic<int> torn{0};
    std::vector<platform::Thread> threads;
    for (int t = 0; t < kWriters; ++t) {
        threads.emplace_back("writer", [&] {
            for (int i = 0; i < 3'000; ++i) {
                ASSERT_TRUE(waiting([&](auto* token) { return gate.enter(token); }).isOk());
                if (definition % 2 != 0) {
                    torn.fetch_add(1, sync::kRelaxed);
                }
                gate.leave();
            }
        });
    }
    threads.emplace_back("definer", [&] {
        for (uint64_t i = 0; i < kChanges; ++i) {
            ASSERT_TRUE(waiting([&](auto* token) { return gate.close(token); }).isOk());
            ++definition;
            platform::yieldThread();
            ++definition;
            gate.open();
        }
    });
    threads.clear();
    EXPECT_EQ(definition, 2 * kChanges);
    EXPECT_EQ(torn.load(sync::kRelaxed), 0);
}

}  // namespace
}  // namespace freshet::catalog
