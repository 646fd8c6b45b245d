// SPDX-License-Identifier: Apache-2.0
/// PostQueue under every schedule: nothing is lost, the taker never sleeps for ever, and the queue
/// may be destroyed as soon as everything posted has run.
#include "freshet/testing/sim/explorer.h"
#include "freshet/transport/tcp/post_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace freshet::transport {
namespace {

using testing::check;
using testing::explore;
using testing::ExploreOptions;
using testing::Model;

struct Numbered : sync::WorkItem {
    int poster = 0;
    int number = 0;
};

/// The eventfd: the kernel's, so it outlives the queue. `rung` counts wake-ups not yet taken.
struct World {
    std::unique_ptr<PostQueue> queue = std::make_unique<PostQueue>();
    sync::Atomic<uint64_t> eventfd{0};
    uint64_t rung = 0;
    std::vector<std::unique_ptr<Numbered>> items;
};

void post(World& world, Numbered* item) {
    if (world.queue->push(item)) {
        // A read-modify-write in the kernel, with the edges of a lock.
        check(world.eventfd.fetch_add(1, sync::kAcqRel) == 0, "at most one wake-up is pending");
        ++world.rung;
    }
}

void model(Model& model, int posters, int each) {
    auto world = std::make_shared<World>();
    for (int poster = 0; poster < posters; ++poster) {
        for (int i = 0; i < each; ++i) {
            auto item = std::make_unique<Numbered>();
            item->poster = poster;
            item->number = i;
            world->items.push_back(std::move(item));
        }
        model.thread([world, poster, each] {
            for (int i = 0; i < each; ++i) {
                post(*world, world->items[static_cast<size_t>(poster * each + i)].get());
            }
        });
    }
    model.thread([world, posters, each] {
        std::vector<int> last(static_cast<size_t>(posters), -1);
        int left = posters * each;
        while (left > 0) {
            testing::waitUntil([&] { return world->rung > 0; });
            --world->rung;
            check(world->eventfd.exchange(0, sync::kAcqRel) == 1, "the wake-up is there");
            sync::WorkItem* item = world->queue->takeAll();
            check(item != nullptr, "a wake-up brings work");
            while (item != nullptr) {
                auto* numbered = static_cast<Numbered*>(item);
                item = item->next;
                check(++last[static_cast<size_t>(numbered->poster)] == numbered->number,
                      "each poster's order");
                --left;
            }
        }
        world->queue.reset();  // the explorer reports any later touch, and any missing edge
    });
    model.finally([world] { check(world->rung == 0, "no wake-up without work is left"); });
}

TEST(PostQueue, TwoPostersEverySchedule) {
    ExploreOptions options;
    options.staleLoads = 1;
    auto result = explore(options, [](Model& m) { model(m, 2, 2); });
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_TRUE(result.complete);
}

TEST(PostQueue, ThreePostersRandomSchedules) {
    ExploreOptions options;
    options.mode = ExploreOptions::Mode::kRandom;
    options.executionsMax = 20'000;
    auto result = explore(options, [](Model& m) { model(m, 3, 3); });
    EXPECT_TRUE(result.passed()) << result.report;
}

}  // namespace
}  // namespace freshet::transport
