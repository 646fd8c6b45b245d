// SPDX-License-Identifier: Apache-2.0
/// The explorer against known mistakes: it must find each, and pass the corrected version.
#include "freshet/sync/atomic.h"
#include "freshet/sync/mutex.h"
#include "freshet/testing/sim/explorer.h"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>

namespace freshet::testing {
namespace {

using sync::Atomic;
using sync::kAcqRel;
using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;
using sync::kSeqCst;

ExploreResult counting(bool atomically, ExploreOptions options = {}) {
    return explore(options, [atomically](Model& model) {
        auto count = std::make_shared<Atomic<uint32_t>>(0);
        for (int i = 0; i < 3; ++i) {
            model.thread([count, atomically] {
                if (atomically) {
                    count->fetch_add(1, kRelaxed);
                } else {
                    count->store(count->load(kRelaxed) + 1, kRelaxed);
                }
            });
        }
        model.finally([count] { check(count->load(kRelaxed) == 3, "three"); });
    });
}

TEST(Explorer, FindsALostUpdate) {
    auto result = counting(false);
    EXPECT_EQ(result.failure, "check failed: three");
    EXPECT_TRUE(counting(true).passed());
    EXPECT_TRUE(counting(true).complete);
}

TEST(Explorer, AReportedScheduleReplaysTheFailureAtOnce) {
    ExploreOptions options;
    options.mode = ExploreOptions::Mode::kRandom;
    options.executionsMax = 1'000;
    for (auto mode : {ExploreOptions::Mode::kExhaustive, ExploreOptions::Mode::kRandom}) {
        options.mode = mode;
        options.replay.clear();
        auto result = counting(false, options);
        ASSERT_FALSE(result.passed());
        options.replay = result.schedule;
        auto again = counting(false, options);
        EXPECT_EQ(again.failure, result.failure);
        EXPECT_EQ(again.executions, 1u);
        EXPECT_EQ(again.schedule, result.schedule);
    }
}

/// Store buffering: may both threads miss the other's store?
ExploreResult dekker(bool fenced, unsigned staleLoads) {
    ExploreOptions options;
    options.staleLoads = staleLoads;
    return explore(options, [fenced](Model& model) {
        struct State {
            Atomic<uint32_t> wants[2]{};
            uint32_t sees[2] = {1, 1};
        };
        auto state = std::make_shared<State>();
        for (int i = 0; i < 2; ++i) {
            model.thread([state, i, fenced] {
                state->wants[i].store(1, kRelaxed);
                if (fenced) {
                    sync::heavyFence();
                }
                state->sees[i] = state->wants[1 - i].load(kRelaxed);
            });
        }
        model.finally([state] { check(state->sees[0] + state->sees[1] != 0, "one sees"); });
    });
}

TEST(Explorer, FindsDekkerWithoutAFenceInStaleMode) {
    EXPECT_TRUE(dekker(false, 0).passed());
    EXPECT_EQ(dekker(false, 1).failure, "check failed: one sees");
    auto fixed = dekker(true, 2);
    EXPECT_TRUE(fixed.passed()) << fixed.report;
    EXPECT_TRUE(fixed.complete);
}

struct Node {
    Atomic<uint32_t> value{0};
    int plain = 0;
};

ExploreResult publishing(std::memory_order order, bool throughAtomic) {
    return explore({}, [order, throughAtomic](Model& model) {
        struct State {
            Atomic<Node*> head{nullptr};
            std::unique_ptr<Node> node;
        };
        auto state = std::make_shared<State>();
        model.thread([state, order] {
            state->node = std::make_unique<Node>();
            state->node->value.store(7, kRelaxed);
            sync::notePlainWrite(&state->node->plain);
            state->node->plain = 7;
            state->head.store(state->node.get(), order);
        });
        model.thread([state, throughAtomic] {
            if (Node* node = state->head.load(kAcquire)) {
                if (throughAtomic) {
                    check(node->value.load(kRelaxed) == 7, "initialised");
                } else {
                    sync::notePlainRead(&node->plain);
                    check(node->plain == 7, "initialised");
                }
            }
        });
    });
}

TEST(Explorer, FindsAPublicationWithARelaxedStore) {
    EXPECT_NE(publishing(kRelaxed, true).failure.find("constructed"), std::string::npos);
    EXPECT_NE(publishing(kRelaxed, false).failure.find("reads plain memory"), std::string::npos);
    EXPECT_TRUE(publishing(kRelease, true).passed());
    EXPECT_TRUE(publishing(kRelease, false).passed());
}

/// Message passing by relaxed operations and fences, and by a release sequence.
TEST(Explorer, UnderstandsFencesAndReleaseSequences) {
    for (bool fenced : {true, false}) {
        auto result = explore({.staleLoads = 2}, [fenced](Model& model) {
            struct State {
                Atomic<uint32_t> flag{0};
                int data = 0;
            };
            auto state = std::make_shared<State>();
            model.thread([state, fenced] {
                sync::notePlainWrite(&state->data);
                if (fenced) {
                    sync::heavyFence();
                }
                state->flag.store(1, fenced ? kRelaxed : kRelease);
            });
            model.thread([state] {
                uint32_t expected = 1;
                state->flag.compare_exchange_strong(expected, 2, kRelaxed);
            });
            model.thread([state, fenced] {
                uint32_t seen = state->flag.load(fenced ? kRelaxed : kAcquire);
                if (fenced) {
                    sync::heavyFence();
                }
                if (seen == 2) {
                    sync::notePlainRead(&state->data);
                }
            });
        });
        EXPECT_TRUE(result.passed()) << result.report;
    }
}

/// Independent reads of independent writes: seq_cst loads agree on an order, acquire loads need
/// not.
ExploreResult iriw(std::memory_order order) {
    return explore({.preemptions = 4, .staleLoads = 2}, [order](Model& model) {
        struct State {
            Atomic<uint32_t> x{0};
            Atomic<uint32_t> y{0};
            uint32_t seen[4] = {};
        };
        auto state = std::make_shared<State>();
        std::memory_order storeOrder = order == kSeqCst ? kSeqCst : kRelease;
        model.thread([state, order = storeOrder] { state->x.store(1, order); });
        model.thread([state, order = storeOrder] { state->y.store(1, order); });
        model.thread([state, order] {
            state->seen[0] = state->x.load(order);
            state->seen[1] = state->y.load(order);
        });
        model.thread([state, order] {
            state->seen[2] = state->y.load(order);
            state->seen[3] = state->x.load(order);
        });
        model.finally([state] {
            check(!(state->seen[0] == 1 && state->seen[1] == 0 && state->seen[2] == 1 &&
                    state->seen[3] == 0),
                  "one order");
        });
    });
}

TEST(Explorer, SeqCstIsStrongerThanAcquire) {
    EXPECT_FALSE(iriw(kAcquire).passed());
    auto result = iriw(kSeqCst);
    EXPECT_TRUE(result.passed()) << result.report;
}

TEST(Explorer, FindsAUseAfterFree) {
    auto result = explore({}, [](Model& model) {
        auto head = std::make_shared<Atomic<Node*>>(new Node);
        model.thread([head] {
            Node* node = head->exchange(nullptr, kAcqRel);
            delete node;
        });
        model.thread([head] {
            if (Node* node = head->load(kAcquire)) {
                node->value.load(kRelaxed);
            }
        });
    });
    // Either order of the two accesses is reported: used after the end, or ended without an edge.
    EXPECT_FALSE(result.passed());
    EXPECT_NE(result.report.find("FRESHET_SCHEDULE"), std::string::npos);
}

TEST(Explorer, FindsADeadlock) {
    auto crossed = [](bool crossing) {
        return explore({}, [crossing](Model& model) {
            struct State {
                sync::Mutex a;
                sync::Mutex b;
            };
            auto state = std::make_shared<State>();
            for (bool second : {false, true}) {
                model.thread([state, swapped = second && crossing] {
                    std::lock_guard<sync::Mutex> outer(swapped ? state->b : state->a);
                    std::lock_guard<sync::Mutex> inner(swapped ? state->a : state->b);
                });
            }
        });
    };
    EXPECT_NE(crossed(true).failure.find("deadlock"), std::string::npos);
    EXPECT_TRUE(crossed(false).passed());
}

TEST(Explorer, AMutexOrdersWhatItGuards) {
    auto counted = [](bool locked) {
        return explore({}, [locked](Model& model) {
            struct State {
                sync::Mutex mutex;
                int count = 0;
            };
            auto state = std::make_shared<State>();
            for (int i = 0; i < 2; ++i) {
                model.thread([state, locked] {
                    std::unique_lock<sync::Mutex> lock(state->mutex, std::defer_lock);
                    if (locked) {
                        lock.lock();
                    }
                    sync::notePlainWrite(&state->count);
                    ++state->count;
                });
            }
        });
    };
    EXPECT_TRUE(counted(true).passed());
    EXPECT_NE(counted(false).failure.find("race"), std::string::npos);
}

TEST(Explorer, ALoopThatYieldsIsNotALivelockUnlessItIsOne) {
    auto waiting = [](bool set) {
        return explore({.stepsMax = 500}, [set](Model& model) {
            auto flag = std::make_shared<Atomic<bool>>(false);
            model.thread([flag, set] { flag->store(set, kRelease); });
            for (int i = 0; i < 2; ++i) {
                model.thread([flag] {
                    while (!flag->load(kAcquire)) {
                        sync::exploreYield();
                    }
                });
            }
        });
    };
    auto good = waiting(true);
    EXPECT_TRUE(good.passed()) << good.report;
    EXPECT_NE(waiting(false).failure.find("livelock"), std::string::npos);
}

TEST(Explorer, WaitUntilBlocksAndAnUninterruptedScopeIsNotCut) {
    auto result = explore({}, [](Model& model) {
        struct State {
            Atomic<uint32_t> word{0};
            bool go = false;
        };
        auto state = std::make_shared<State>();
        model.thread([state] {
            waitUntil([state] { return state->go; });
            Uninterrupted scope;
            uint32_t before = state->word.load(kRelaxed);
            state->word.store(before + 1, kRelaxed);
        });
        model.thread([state] {
            state->go = true;
            state->word.fetch_add(1, kRelaxed);
        });
        model.finally([state] { check(state->word.load(kRelaxed) == 2, "two"); });
    });
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_GT(result.executions, 1u);
}

}  // namespace
}  // namespace freshet::testing
