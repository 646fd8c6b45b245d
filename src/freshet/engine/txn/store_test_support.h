// SPDX-License-Identifier: Apache-2.0
/// For the engine's tests: stores on a disk in memory, waiting on plain threads, seeds.
#pragma once

#include "freshet/engine/store.h"
#include "freshet/engine/tree/tree_check.h"
#include "freshet/engine/txn/store_core.h"
#include "freshet/sync/atomic.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <random>
#include <string>

namespace freshet::engine {

using freshet::testing::testSeed;

inline StoreOptions storeOptions(testing::MemoryFileSystem& disk) {
    StoreOptions options;
    options.files = &disk;
    options.directory = "/db";
    options.journalSegmentBytesMax = 4u << 20;
    options.onFatal = [](const Status&) {};
    return options;
}

inline std::unique_ptr<Store> openStore(const StoreOptions& options) {
    auto store = Store::open(options);
    EXPECT_TRUE(store.isOk()) << store.status().toString();
    return store.isOk() ? std::move(store).value() : nullptr;
}

inline std::unique_ptr<Store> openStore(testing::MemoryFileSystem& disk) {
    return openStore(storeOptions(disk));
}

/// Calls until it no longer would block.
template <typename Call>
Status waiting(Txn& txn, Call call) {
    Status status = call();
    while (status.isWouldBlock()) {
        sync::blockOn(txn.token());
        status = call();
    }
    return status;
}

inline Status commitAndWait(Txn& txn) {
    return waiting(txn, [&] { return txn.commit(); });
}

inline std::string valueOf(Txn& txn, Tree& tree, ByteView key) {
    std::string value;
    const Status status = waiting(txn, [&] { return txn.get(tree, key, &value); });
    return status.isOk() ? value : "<" + std::string(codeName(status.code())) + ">";
}

inline void put(Store& store, Tree& tree, ByteView key, ByteView value) {
    Txn txn(store);
    ASSERT_TRUE(waiting(txn, [&] { return txn.put(tree, key, value); }).isOk());
    ASSERT_TRUE(commitAndWait(txn).isOk());
}

/// put(), and on stable storage.
inline void putDurably(Store& store, Tree& tree, ByteView key, ByteView value) {
    Txn txn(store);
    ASSERT_TRUE(waiting(txn, [&] { return txn.put(tree, key, value); }).isOk());
    ASSERT_TRUE(commitAndWait(txn).isOk());
    ASSERT_TRUE(waiting(txn, [&] { return txn.waitFor(Durability::kDurable); }).isOk());
}

inline void erase(Store& store, Tree& tree, ByteView key) {
    Txn txn(store);
    ASSERT_TRUE(waiting(txn, [&] { return txn.erase(tree, key); }).isOk());
    ASSERT_TRUE(commitAndWait(txn).isOk());
}

/// Counts at its end, also when an assertion has ended the function: others wait for that.
class CountsAtEnd {
public:
    explicit CountsAtEnd(sync::Atomic<uint32_t>& count) : count_(count) {}
    ~CountsAtEnd() { count_.fetch_add(1, sync::kRelease); }
    CountsAtEnd(const CountsAtEnd&) = delete;
    CountsAtEnd& operator=(const CountsAtEnd&) = delete;

private:
    sync::Atomic<uint32_t>& count_;
};

/// Holds the journal's threads in each flush until released. They make no segments meanwhile, so a
/// record larger than the remaining room has to wait in its middle.
class HeldJournal {
public:
    HeldJournal(testing::MemoryFileSystem& disk, Store& store, Tree& tree) {
        disk.faults().setBeforeSync([entered = entered_, gate = gate_] {
            entered.complete();
            gate->wait();
        });
        Txn txn(store);
        EXPECT_TRUE(waiting(txn, [&] { return txn.put(tree, "first", "flush"); }).isOk());
        EXPECT_TRUE(commitAndWait(txn).isOk());
        EXPECT_TRUE(txn.waitFor(Durability::kDurable).isWouldBlock());
        sync::blockOn(entered_);
    }
    ~HeldJournal() { release(); }
    void release() {
        if (!gate_->try_wait()) {
            gate_->count_down();
        }
    }

private:
    const sync::WaitToken entered_ = sync::WaitToken::create();
    const std::shared_ptr<std::latch> gate_ = std::make_shared<std::latch>(1);
};

inline TreeShape shapeOf(Store& store, const TreeRef& tree) {
    sync::Slice slice(store.epochs());
    return checkTree(tree->pages());
}

}  // namespace freshet::engine
