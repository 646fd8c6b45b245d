// SPDX-License-Identifier: Apache-2.0
/// The limit on the age of transactions (StoreOptions::transactionMillisMax).
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/thread.h"

namespace freshet::engine {
namespace {

class StoreAge : public ::testing::Test {
protected:
    void open(uint64_t transactionMillisMax) {
        StoreOptions options = storeOptions(disk_);
        options.transactionMillisMax = transactionMillisMax;
        store_ = openStore(options);
        tree_ = store_->tree(2);
    }
    Status put(Txn& txn, ByteView key, ByteView value) {
        return waiting(txn, [&] { return txn.put(*tree_, key, value); });
    }
    std::string committed(ByteView key) {
        Txn txn(*store_);
        return valueOf(txn, *tree_, key);
    }
    static void expectEnded(const Status& status) {
        EXPECT_EQ(status.code(), Code::kConflict) << status.toString();
        EXPECT_EQ(status.reason(), Reason::kTransactionEnded) << status.toString();
    }

    testing::MemoryFileSystem disk_;
    std::unique_ptr<Store> store_;
    TreeRef tree_;
};

TEST_F(StoreAge, WaitersForAnOldTransactionGoOn) {
    open(50);
    Txn sleeper(*store_, OnConflict::kFail);
    ASSERT_TRUE(put(sleeper, "wanted", "sleeper").isOk());
    {
        Txn writer(*store_);
        ASSERT_TRUE(put(writer, "other", "x").isOk());
        // Without the limit it would wait for ever: the sleeper never calls.
        const Status status = put(writer, "wanted", "writer");
        ASSERT_TRUE(status.isOk()) << status.toString();
        ASSERT_TRUE(commitAndWait(writer).isOk());
    }
    EXPECT_EQ(committed("wanted"), "writer");

    std::string value;
    expectEnded(waiting(sleeper, [&] { return sleeper.get(*tree_, "wanted", &value); }));
    expectEnded(put(sleeper, "more", "sleeper"));
    expectEnded(commitAndWait(sleeper));
    sleeper.begin();
    ASSERT_TRUE(put(sleeper, "wanted", "again").isOk());
    ASSERT_TRUE(commitAndWait(sleeper).isOk());
    EXPECT_EQ(committed("wanted"), "again");
    EXPECT_EQ(committed("more"), "<NotFound>");
}

TEST_F(StoreAge, ReadersAndSingleOperationsDoNotEnd) {
    open(1);
    Txn operation(*store_, OnConflict::kWait);
    ASSERT_TRUE(put(operation, "operation", "x").isOk());
    Txn reader(*store_, OnConflict::kFail);
    EXPECT_EQ(valueOf(reader, *tree_, "operation"), "<NotFound>");
    // When this one has ended, they could have ended as well.
    Txn sleeper(*store_, OnConflict::kFail);
    ASSERT_TRUE(put(sleeper, "wanted", "sleeper").isOk());
    engine::put(*store_, *tree_, "wanted", "writer");

    EXPECT_EQ(valueOf(reader, *tree_, "wanted"), "<NotFound>");
    EXPECT_EQ(valueOf(operation, *tree_, "operation"), "x");
    EXPECT_TRUE(commitAndWait(operation).isOk());
    EXPECT_EQ(committed("operation"), "x");
}

TEST_F(StoreAge, AReaderWithALimitEnds) {
    open(0);
    engine::put(*store_, *tree_, "k", "old");
    for (const OnConflict onConflict : {OnConflict::kFail, OnConflict::kWait}) {
        Txn reader(*store_, onConflict);
        ASSERT_TRUE(reader.endAfter(20).isOk());
        EXPECT_FALSE(reader.hasWrites());
        engine::put(*store_, *tree_, "k", "new");
        Status status;
        std::string value;
        while (status.isOk()) {
            status = waiting(reader, [&] { return reader.get(*tree_, "k", &value); });
            EXPECT_EQ(value, "old") << "its own snapshot, until the end";
            platform::yieldThread();
        }
        expectEnded(status);
        Cursor cursor(reader, tree_);
        expectEnded(waiting(reader, [&] { return cursor.first(); }));
        expectEnded(commitAndWait(reader));

        reader.begin();
        EXPECT_EQ(valueOf(reader, *tree_, "k"), "new") << "the limit went with the transaction";
        EXPECT_TRUE(commitAndWait(reader).isOk());
        engine::put(*store_, *tree_, "k", "old");
    }
}

TEST_F(StoreAge, ALimitReplacesTheStoresAndTheOneBefore) {
    open(1);
    Txn unlimited(*store_, OnConflict::kFail);
    ASSERT_TRUE(unlimited.endAfter(1).isOk());
    ASSERT_TRUE(unlimited.endAfter(0).isOk());
    ASSERT_TRUE(put(unlimited, "mine", "x").isOk());
    Txn later(*store_, OnConflict::kFail);
    ASSERT_TRUE(put(later, "later", "x").isOk());
    ASSERT_TRUE(later.endAfter(600'000).isOk());
    // When this one has ended, they could have ended as well.
    Txn sleeper(*store_, OnConflict::kFail);
    ASSERT_TRUE(put(sleeper, "wanted", "sleeper").isOk());
    engine::put(*store_, *tree_, "wanted", "writer");

    EXPECT_TRUE(commitAndWait(unlimited).isOk());
    EXPECT_TRUE(commitAndWait(later).isOk());
    EXPECT_EQ(committed("mine") + committed("later"), "xx");
}

}  // namespace
}  // namespace freshet::engine
