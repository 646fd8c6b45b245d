// SPDX-License-Identifier: Apache-2.0
/// From which place on records need the log, what of them is stored and forgotten, and what they
/// are after a crash.
#include "freshet/command/retry/session_records.h"

#include "freshet/command/retry/statement_event.h"

#include <gtest/gtest.h>

namespace freshet::command {
namespace {

constexpr journal::Lsn kNone = engine::EventKeeper::kNone;

std::string session(int number) {
    bson::Builder name;
    name.add("id", int32_t{number});
    return name.finish();
}

query::WriteResult one() {
    query::WriteResult result;
    result.matched = result.modified = 1;
    return result;
}

class SessionRecordsTest : public ::testing::Test {
protected:
    SessionRecords::Use use(int number = 1) {
        SessionRecords::Use use = records_.find(session(number));
        return use ? std::move(use)
                   : records_.add(session(number), DoneStatements(session(number)));
    }
    void doStatement(int number, int64_t txnNumber, int32_t statement, journal::Lsn lsn) {
        SessionRecords::Use its = use(number);
        its.beginCommit(lsn);
        its.hasDone(txnNumber, statement, one(), 61'000);
    }
    std::vector<SessionRecords::ToStore> take() {
        std::vector<SessionRecords::ToStore> all;
        for (size_t shard = 0; shard < SessionRecords::kShards; ++shard) {
            for (SessionRecords::ToStore& taken : records_.takeUnstored(shard, &hasOthers_)) {
                all.push_back(std::move(taken));
            }
        }
        return all;
    }
    void replay(int number, int64_t txnNumber, int32_t statement, journal::Lsn lsn) {
        records_.replayed(statementEvent(session(number), txnNumber, statement, one()), lsn, 1'000);
    }
    /// Whether the session's record has the statement.
    bool has(int number, int32_t statement) {
        EarlierStatements earlier;
        for (const bson::OwnedDocument& document : use(number).copy().write(0)) {
            earlier.read(document.view());
        }
        return earlier.find(statement).has_value();
    }

    SessionRecords records_;
    bool hasOthers_ = false;
};

TEST_F(SessionRecordsTest, TheLogIsNeededFromBeforeACommitUntilItIsStored) {
    EXPECT_EQ(records_.neededFrom(), kNone);
    {
        SessionRecords::Use its = use();
        its.beginCommit(100);
        EXPECT_EQ(records_.neededFrom(), 100u);
        its.hasFailed();
        EXPECT_EQ(records_.neededFrom(), kNone);
    }
    doStatement(1, 1, 0, 200);
    doStatement(2, 1, 0, 300);
    doStatement(1, 1, 1, 400);
    EXPECT_EQ(records_.neededFrom(), 200u);
    const auto taken = take();
    ASSERT_EQ(taken.size(), 2u);
    EXPECT_EQ(records_.neededFrom(), 200u) << "it is not stored yet";
    EXPECT_TRUE(take().empty());
    EXPECT_TRUE(hasOthers_);
    for (const SessionRecords::ToStore& one : taken) {
        records_.storingEnded(one, true);
    }
    EXPECT_EQ(records_.neededFrom(), kNone);
    EXPECT_TRUE(take().empty());
}

TEST_F(SessionRecordsTest, WhatIsDoneWhileOthersAreStoredIsStoredTheNextTime) {
    doStatement(1, 1, 0, 200);
    auto taken = take();
    ASSERT_EQ(taken.size(), 1u);
    doStatement(1, 2, 0, 500);
    records_.storingEnded(taken[0], true);
    EXPECT_EQ(records_.neededFrom(), 500u);
    taken = take();
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].txnNumber, 2);
    records_.storingEnded(taken[0], false);
    EXPECT_EQ(records_.neededFrom(), 500u) << "it could not be stored";
    ASSERT_EQ(take().size(), 1u);
}

TEST_F(SessionRecordsTest, PartsThatAreStoredLeaveMemory) {
    query::WriteResult large = one();
    bson::Builder value;
    value.add("text", std::string(10'000, 'x'));
    large.value = bson::OwnedDocument(value.finish());
    for (int32_t statement = 0; statement < 5; ++statement) {
        SessionRecords::Use its = use();
        its.beginCommit(100);
        its.hasDone(1, statement, large, 0);
    }
    const size_t before = use().copy().heldBytes();
    const auto taken = take();
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].documents.size(), 5u);
    EXPECT_EQ(taken[0].parts, 4);
    doStatement(1, 1, 9, 300);  // a part more, which is not in the documents
    records_.storingEnded(taken[0], true);
    const DoneStatements left = use().copy();
    EXPECT_EQ(left.parts(), 4);
    EXPECT_LT(left.heldBytes(), before / 2);
    const auto next = take();
    ASSERT_EQ(next.size(), 1u);
    EXPECT_EQ(next[0].parts, 5);
    EXPECT_EQ(next[0].documents.size(), 2u);
}

TEST_F(SessionRecordsTest, OnlyWhatIsStoredAndNotInUseIsForgotten) {
    doStatement(1, 1, 0, 200);
    records_.forgetStored();
    EXPECT_EQ(records_.countForTest(), 1u);
    for (const SessionRecords::ToStore& one : take()) {
        records_.storingEnded(one, true);
    }
    {
        const SessionRecords::Use its = use();
        records_.forgetStored();
        EXPECT_EQ(records_.countForTest(), 1u);
    }
    records_.forgetStored(61'000);
    EXPECT_EQ(records_.countForTest(), 1u) << "it is newer";
    records_.forgetStored(61'001);
    EXPECT_EQ(records_.countForTest(), 0u);
    use(2);  // a session that has done nothing
    EXPECT_EQ(records_.countForTest(), 0u);
}

TEST_F(SessionRecordsTest, WithoutMemoryEachIsStoredAtOnce) {
    int calls = 0;
    records_.setWaker([&calls] { ++calls; });
    records_.setBytesMax(0);
    SessionRecords::Use its = use();
    its.beginCommit(100);
    EXPECT_TRUE(its.hasDone(1, 0, one(), 0));
    EXPECT_EQ(calls, 1);
    const auto taken = records_.takeUnstored(session(1));
    ASSERT_TRUE(taken.has_value());
    records_.storingEnded(*taken, true);
    its = {};
    EXPECT_EQ(records_.countForTest(), 0u);
    records_.setBytesMax(1 << 20);
    use().beginCommit(1);
    EXPECT_FALSE(use().hasCommittedTransaction(2, 0));
}

TEST_F(SessionRecordsTest, WhatIsReplayedIsMergedWithWhatIsStored) {
    // Statements 0 and 1 were stored; 1 and 2 are in the log.
    DoneStatements stored(session(1));
    stored.startNumber(7);
    stored.add(0, one());
    stored.add(1, one());
    EarlierStatements earlier;
    earlier.read(DoneStatements(stored).write(0).back().view());
    replay(1, 6, 0, 100);
    replay(1, 7, 1, 200);
    replay(1, 7, 2, 300);
    replay(2, 1, 5, 250);
    EXPECT_EQ(records_.neededFrom(), 100u);
    EXPECT_TRUE(take().empty()) << "what is stored would be overwritten";
    EXPECT_EQ(records_.replayedSessions().size(), 2u);
    records_.merge(session(1), stored, earlier);
    records_.merge(session(2), DoneStatements(session(2)), {});
    EXPECT_EQ(use().txnNumber(), 7);
    EXPECT_TRUE(has(1, 0));
    EXPECT_TRUE(has(1, 1));
    EXPECT_TRUE(has(1, 2));
    EXPECT_FALSE(has(1, 3));
    EXPECT_TRUE(has(2, 5));
    EXPECT_EQ(take().size(), 2u);
}

TEST_F(SessionRecordsTest, ANewerNumberCountsWhetherItIsStoredOrReplayed) {
    DoneStatements stored(session(1));
    stored.startTransaction(9);
    replay(1, 8, 0, 100);
    records_.merge(session(1), stored, {});
    EXPECT_EQ(use(1).txnNumber(), 9);
    EXPECT_TRUE(use(1).isTransaction());
    records_.replayed(transactionEvent(session(2), 10), 200, 1'000);
    records_.merge(session(2), DoneStatements(session(2)), {});
    EXPECT_EQ(use(2).txnNumber(), 10);
    EXPECT_TRUE(use(2).isTransaction());
}

TEST_F(SessionRecordsTest, OtherEventsAndOldOnesDoNotCount) {
    records_.replayed("", 100, 1'000);
    records_.replayed("\15 no event", 100, 1'000);
    std::string other;
    catalog::encodeDefinition(
        catalog::EventKind::kDropDatabase, "db", {}, {}, bson::Document(), &other);
    records_.replayed(other, 100, 1'000);
    EXPECT_EQ(records_.countForTest(), 0u);
    replay(1, 1, 0, 100);
    records_.forgetReplayed(1'001);
    EXPECT_EQ(records_.neededFrom(), kNone);
}

}  // namespace
}  // namespace freshet::command
