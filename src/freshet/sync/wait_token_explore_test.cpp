// SPDX-License-Identifier: Apache-2.0
/// Arming a token against completing it, and the end of its shared state.
#include "freshet/sync/wait_token.h"
#include "freshet/testing/sim/explorer.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

namespace freshet::sync {
namespace {

using testing::check;
using testing::explore;
using testing::Model;

struct PlainWaiter : Waiter {
    int woken = 0;
    PlainWaiter() {
        wake = [](Waiter* self) {
            auto* waiter = static_cast<PlainWaiter*>(self);
            notePlainWrite(&waiter->woken);
            ++waiter->woken;
        };
    }
};

TEST(WaitTokenExplore, TheWaiterIsWokenOnceOrNotArmedAndSeesTheWork) {
    auto result = explore({.preemptions = 4, .staleLoads = 2}, [](Model& model) {
        struct State {
            PlainWaiter waiter;
            int work = 0;
            bool armed = false;
        };
        auto state = std::make_shared<State>();
        WaitToken token = WaitToken::create();
        model.thread([state, mine = std::optional(token)]() mutable {
            notePlainWrite(&state->waiter.woken);  // the waiter is made ready, then published
            state->armed = mine->arm(&state->waiter);
            if (!state->armed) {
                notePlainRead(&state->work);
                check(state->work == 1, "not armed: the work is visible");
            }
            mine.reset();
        });
        for (int i = 0; i < 2; ++i) {
            model.thread([state, first = i == 0, mine = std::optional(token)]() mutable {
                if (first) {
                    notePlainWrite(&state->work);
                    state->work = 1;
                    mine->complete();
                }
                mine.reset();
            });
        }
        model.finally(
            [state] { check(state->waiter.woken == (state->armed ? 1 : 0), "woken iff armed"); });
    });
    EXPECT_TRUE(result.passed() && result.complete) << result.report;
}

TEST(WaitTokenExplore, AWaiterTakenBackIsNotWokenAndOneThatIsNotIsWokenOnce) {
    auto result = explore({.preemptions = 4, .staleLoads = 2}, [](Model& model) {
        struct State {
            PlainWaiter waiter;
            bool armed = false;
            bool takenBack = false;
        };
        auto state = std::make_shared<State>();
        WaitToken token = WaitToken::create();
        model.thread([state, mine = std::optional(token)]() mutable {
            notePlainWrite(&state->waiter.woken);
            state->armed = mine->arm(&state->waiter);
            state->takenBack = state->armed && mine->disarm(&state->waiter);
            if (state->takenBack) {
                notePlainWrite(&state->waiter.woken);  // ours again
            }
            mine.reset();
        });
        model.thread([mine = std::optional(token)]() mutable {
            mine->complete();
            mine.reset();
        });
        model.finally([state] {
            const bool isDue = state->armed && !state->takenBack;
            check(state->waiter.woken == (isDue ? 1 : 0), "woken iff not taken back");
        });
    });
    EXPECT_TRUE(result.passed() && result.complete) << result.report;
}

}  // namespace
}  // namespace freshet::sync
