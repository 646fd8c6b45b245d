// SPDX-License-Identifier: Apache-2.0
/// Events come again at each opening until their keeper no longer needs them, whatever checkpoints
/// and power cuts come in between.
#include "freshet/engine/event_keeper.h"
#include "freshet/engine/txn/store_test_support.h"

#include <vector>

namespace freshet::engine {
namespace {

/// Needs what was replayed, until told otherwise.
struct Keeper final : EventKeeper {
    void replayed(ByteView event, journal::Lsn lsn, int64_t wallMs) override {
        events.emplace_back(event);
        lsns.push_back(lsn);
        latestWallMs = std::max(latestWallMs, wallMs);
        needed = std::min(needed, lsn);
    }
    void checkpointBegins() override { ++checkpoints; }
    journal::Lsn neededFrom() override { return needed; }

    std::vector<std::string> events;
    std::vector<journal::Lsn> lsns;
    int64_t latestWallMs = 0;
    int checkpoints = 0;
    journal::Lsn needed = kNone;
};

class StoreEvents : public ::testing::Test {
protected:
    StoreEvents() { open(); }
    void open() {
        keepers_.push_back(std::make_unique<Keeper>());
        StoreOptions options = storeOptions(disk_);
        options.eventKeeper = keepers_.back().get();
        options.recordBytesMax = 64 << 10;
        store_ = openStore(options);
        tree_ = store_->tree(7);
    }
    void crash() {
        tree_.reset();
        disk_.crash();
        store_.reset();
        open();
    }
    Keeper& keeper() { return *keepers_.back(); }
    /// Commits the event with `puts` changes; returns an LSN from which on it is needed.
    journal::Lsn commit(const std::string& event, int puts = 1) {
        const journal::Lsn from = store_->journal().tailLsn();
        Txn txn(*store_);
        for (int i = 0; i < puts; ++i) {
            const std::string value(10'000, 'v');
            EXPECT_TRUE(waiting(txn, [&] {
                            return txn.put(*tree_, event + std::to_string(i), value);
                        }).isOk());
        }
        EXPECT_TRUE(txn.addEvent(event).isOk());
        EXPECT_TRUE(commitAndWait(txn).isOk());
        EXPECT_TRUE(waiting(txn, [&] { return txn.waitFor(Durability::kDurable); }).isOk());
        return from;
    }

    testing::MemoryFileSystem disk_;
    std::vector<std::unique_ptr<Keeper>> keepers_;  // each outlives its store
    std::unique_ptr<Store> store_;
    TreeRef tree_;
};

using Strings = std::vector<std::string>;

TEST_F(StoreEvents, ComeAgainInTheLogsOrderAfterACrash) {
    commit("one");
    commit("two");
    crash();
    EXPECT_EQ(keeper().events, (Strings{"one", "two"}));
    EXPECT_LT(keeper().lsns[0], keeper().lsns[1]);
    EXPECT_GT(keeper().latestWallMs, 0);
}

TEST_F(StoreEvents, ComeAgainAsLongAsTheyAreNeeded) {
    commit("stored");
    keeper().needed = commit("needed");
    commit("later");
    const int before = keeper().checkpoints;
    ASSERT_TRUE(store_->checkpointNow().isOk());
    EXPECT_EQ(keeper().checkpoints, before + 1);
    for (int i = 0; i < 3; ++i) {
        crash();  // the checkpoint of each opening must leave the log alone as well
        EXPECT_EQ(keeper().events, (Strings{"needed", "later"}));
        ASSERT_TRUE(store_->checkpointNow().isOk());
    }
    keeper().needed = EventKeeper::kNone;
    commit("more");
    ASSERT_TRUE(store_->checkpointNow().isOk());
    crash();
    EXPECT_EQ(keeper().events, Strings{});
}

TEST_F(StoreEvents, WhatWasReplayedTwiceIsAsItWas) {
    keeper().needed = commit("a", 3);
    commit("b", 3);
    Txn txn(*store_);
    ASSERT_TRUE(waiting(txn, [&] { return txn.erase(*tree_, "a1"); }).isOk());
    ASSERT_TRUE(commitAndWait(txn).isOk());
    ASSERT_TRUE(store_->checkpointNow().isOk());
    crash();
    Txn read(*store_);
    EXPECT_EQ(valueOf(read, *tree_, "a0").size(), 10'000u);
    EXPECT_EQ(valueOf(read, *tree_, "a1"), "<NotFound>");
    EXPECT_EQ(valueOf(read, *tree_, "b2").size(), 10'000u);
}

TEST_F(StoreEvents, OfAChainComeWithTheLsnOfItsFirstRecord) {
    const journal::Lsn from = commit("chain", 30);
    keeper().needed = from;
    ASSERT_TRUE(store_->checkpointNow().isOk());
    crash();
    ASSERT_FALSE(keeper().events.empty());
    EXPECT_EQ(keeper().events.back(), "chain");
    EXPECT_GE(keeper().lsns.back(), from);
    ASSERT_TRUE(store_->checkpointNow().isOk());
    crash();  // from that LSN on it is whole
    EXPECT_EQ(keeper().events, Strings{"chain"});
}

}  // namespace
}  // namespace freshet::engine
