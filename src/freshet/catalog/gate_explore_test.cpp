// SPDX-License-Identifier: Apache-2.0
/// The gate under every schedule: a change that has it alone is alone, and no waiter is lost.
#include "freshet/catalog/gate.h"
#include "freshet/sync/atomic.h"
#include "freshet/testing/sim/explorer.h"

#include <gtest/gtest.h>

namespace freshet::catalog {
namespace {

using testing::check;
using testing::ExploreOptions;
using testing::Model;
using testing::waitUntil;

/// What the gate protects; the explorer reports a race if it does not.
struct Guarded {
    Gate gate;
    uint64_t definition = 0;
    uint64_t written[2] = {};
};

/// The model's blockOn(): parks the virtual thread until the token is complete.
void park(const sync::WaitToken& token) {
    struct Parked : sync::Waiter {
        bool woken = false;
    };
    Parked parked;
    parked.wake = [](sync::Waiter* self) { static_cast<Parked*>(self)->woken = true; };
    if (token.arm(&parked)) {
        waitUntil([&] { return parked.woken; });
    }
}

template <typename Call>
Status waiting(Call call) {
    sync::WaitToken token;
    Status status = call(&token);
    while (status.isWouldBlock()) {
        park(token);
        status = call(&token);
    }
    return status;
}

void writeOnce(Guarded& guarded, int writer) {
    Status status = waiting([&](auto* token) { return guarded.gate.enter(token); });
    if (!status.isOk()) {
        check(status.code() == Code::kCancelled, "only a retired gate refuses");
        return;
    }
    sync::notePlainRead(&guarded.definition);
    check(guarded.definition % 2 == 0, "no change is half done");
    sync::notePlainWrite(&guarded.written[writer]);
    ++guarded.written[writer];
    guarded.gate.leave();
}

void changeOnce(Guarded& guarded, bool retires) {
    Status status = waiting([&](auto* token) { return guarded.gate.close(token); });
    check(status.isOk(), "the only closer gets the gate");
    sync::notePlainRead(&guarded.written[0]);
    sync::notePlainRead(&guarded.written[1]);
    sync::notePlainWrite(&guarded.definition);
    guarded.definition += 2;
    retires ? guarded.gate.retire() : guarded.gate.open();
}

ExploreOptions bounded() {
    ExploreOptions options;
    options.preemptions = 3;
    options.staleLoads = 1;
    return options;
}

TEST(GateExplore, WritersAndAChange) {
    auto result = testing::explore(bounded(), [](Model& model) {
        auto guarded = std::make_shared<Guarded>();
        for (int writer = 0; writer < 2; ++writer) {
            model.thread([guarded, writer] { writeOnce(*guarded, writer); });
        }
        model.thread([guarded] { changeOnce(*guarded, false); });
        model.finally([guarded] {
            check(guarded->written[0] == 1 && guarded->written[1] == 1, "everyone got in");
        });
    });
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_GT(result.executions, 100u);
}

TEST(GateExplore, AWriterMeetsTheEnd) {
    auto result = testing::explore(bounded(), [](Model& model) {
        auto guarded = std::make_shared<Guarded>();
        model.thread([guarded] {
            writeOnce(*guarded, 0);
            writeOnce(*guarded, 0);
        });
        model.thread([guarded] { changeOnce(*guarded, true); });
        model.finally([guarded] { check(guarded->gate.isRetired(), "it is retired"); });
    });
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_GT(result.executions, 50u);
}

TEST(GateExplore, AChangeThatGivesUpLetsWritersIn) {
    auto result = testing::explore(bounded(), [](Model& model) {
        auto guarded = std::make_shared<Guarded>();
        for (int writer = 0; writer < 2; ++writer) {
            model.thread([guarded, writer] { writeOnce(*guarded, writer); });
        }
        model.thread([guarded] {
            sync::WaitToken token;
            Status status = guarded->gate.close(&token);
            check(status.isOk() || status.isWouldBlock(), "alone, or told to wait");
            guarded->gate.open();  // in either case
        });
        model.finally([guarded] {
            check(guarded->written[0] == 1 && guarded->written[1] == 1, "everyone got in");
        });
    });
    EXPECT_TRUE(result.passed()) << result.report;
}

}  // namespace
}  // namespace freshet::catalog
