// SPDX-License-Identifier: Apache-2.0
/// Multi-document transactions as a client sees them: what a statement sees, what a commit or an
/// abort leaves, which errors end a transaction, and how many may be open.
#include "freshet/command/txn/transactions.h"

#include "freshet/command/run/fixture_test.h"

namespace freshet::command {
namespace {

class TransactionTest : public CommandTest {
protected:
    static constexpr const char* kTransient = R"("errorLabels": ["TransientTransactionError"])";

    /// The command as one of the session's transaction `number`.
    static std::string in(int number, std::string_view command, int session = 1) {
        const std::string text(command);
        return text.substr(0, text.rfind('}')) + R"(, "lsid": {"id": {"$binary": {"base64": ")" +
               std::string(1, static_cast<char>('A' + session)) +
               R"(AAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}}, "txnNumber": {"$numberLong": ")" +
               std::to_string(number) + R"("}, "autocommit": false})";
    }
    static std::string first(int number, std::string_view command, int session = 1) {
        const std::string text = in(number, command, session);
        return text.substr(0, text.rfind('}')) + R"(, "startTransaction": true})";
    }
    void expectCommit(int number, std::string_view reply = R"({"ok": 1})", int session = 1) {
        expectReply(in(number, R"({"commitTransaction": 1})", session), reply, "admin");
    }
    void expectAbort(int number, std::string_view reply = R"({"ok": 1})", int session = 1) {
        expectReply(in(number, R"({"abortTransaction": 1})", session), reply, "admin");
    }
    /// The collection's documents, in the order of their _id.
    std::string seen(const std::string& collection = "c") {
        return documentsOf(run(find(collection)));
    }
    std::string seenIn(int number, int session = 1) {
        return documentsOf(run(in(number, find("c"), session)));
    }
    static std::string find(const std::string& collection) {
        return R"({"find": ")" + collection + R"(", "sort": {"_id": 1}})";
    }
    static std::string documentsOf(const bson::OwnedDocument& reply) {
        const bson::Element batch = reply.view().findPath("cursor.firstBatch");
        if (!batch.isArray()) {
            return bson::toJson(reply.view());
        }
        std::string all;
        for (const bson::Element& document : batch.document()) {
            all += (all.empty() ? "" : " ") + bson::toShellText(document.document());
        }
        return all;
    }
    bool hasCollection(const std::string& name) { return catalog_->find("test", name) != nullptr; }
};

constexpr const char* kInsert1 = R"({"insert": "c", "documents": [{"_id": 1}]})";
constexpr const char* kInsert2 = R"({"insert": "c", "documents": [{"_id": 2}]})";

TEST_F(TransactionTest, IsSeenByItselfAndThenByAll) {
    run(kInsert1);
    expectReply(first(1, kInsert2), R"({"n": 1})");
    expectReply(
        in(1, R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"n": 7}}}]})"),
        R"({"n": 1, "nModified": 1})");
    EXPECT_EQ("{ _id: 1, n: 7 } { _id: 2 }", seenIn(1));
    EXPECT_EQ("{ _id: 1 }", seen());
    expectCommit(1);
    EXPECT_EQ("{ _id: 1, n: 7 } { _id: 2 }", seen());
    expectCommit(1);  // again, as after a lost reply
}

TEST_F(TransactionTest, ReadsOneSnapshot) {
    run(kInsert1);
    EXPECT_EQ("{ _id: 1 }", documentsOf(run(first(1, find("c")))));
    run(kInsert2);
    EXPECT_EQ("{ _id: 1 }", seenIn(1));
    expectReply(in(1, R"({"distinct": "c", "key": "_id"})"), R"({"values": [1]})");
    expectReply(in(1, R"({"aggregate": "c", "pipeline": [{"$count": "n"}], "cursor": {}})"),
                R"({"cursor": {"firstBatch": [{"n": 1}]}})");
    expectCommit(1);
    EXPECT_EQ("{ _id: 1 } { _id: 2 }", seen());
}

TEST_F(TransactionTest, AnAbortLeavesNothing) {
    run(kInsert1);
    run(first(1, kInsert2));
    run(in(1, R"({"insert": "made", "documents": [{}]})"));
    EXPECT_FALSE(hasCollection("made"));
    expectAbort(1);
    EXPECT_EQ("{ _id: 1 }", seen());
    EXPECT_FALSE(hasCollection("made"));
    expectReply(in(1, kInsert2), R"({"code": 251, "codeName": "NoSuchTransaction"})");
    expectAbort(1, R"({"code": 251})");
    expectCommit(1, R"({"code": 251, "errorLabels": ["TransientTransactionError"]})");
}

TEST_F(TransactionTest, WhatItCommitsSurvivesAPowerCutAndWhatIsOpenDoesNot) {
    run(first(1, kInsert1));
    run(in(1, R"({"createIndexes": "made", "indexes": [{"key": {"a": 1}, "name": "a"}]})"));
    run(in(1, R"({"insert": "made", "documents": [{"_id": 1, "a": [1, 2]}]})"));
    expectCommit(1);
    run(first(1, R"({"insert": "open", "documents": [{"_id": 1}]})", 2));
    run(in(1, kInsert2, 2));
    crash();
    EXPECT_EQ("{ _id: 1 }", seen());
    EXPECT_EQ("{ _id: 1, a: [ 1, 2 ] }", seen("made"));
    expectReply(R"({"find": "made", "filter": {"a": 2}, "hint": "a"})",
                R"({"cursor": {"firstBatch": [{"_id": 1}]}})");
    EXPECT_FALSE(hasCollection("open"));
    expectCommit(1);  // its session's document says so
    expectCommit(1, R"({"code": 251})", 2);
    expectReply(first(1, kInsert2), R"({"code": 225, "codeName": "TransactionTooOld"})");
}

TEST_F(TransactionTest, OfTwoWritersOneIsFirst) {
    run(kInsert1);
    const std::string add =
        R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}]})";
    expectReply(first(1, add), R"({"nModified": 1})");
    expectReply(first(1, add, 2),
                R"({"code": 112, "codeName": "WriteConflict",
                    "errorLabels": ["TransientTransactionError"]})");
    expectReply(in(1, find("c"), 2), R"({"code": 251})");
    expectCommit(1);
    // A snapshot from before a commit cannot write over it either.
    run(first(2, find("c")));
    run(add);
    expectReply(in(2, add), R"({"code": 112})");
    EXPECT_EQ("{ _id: 1, n: 2 }", seen());
}

TEST_F(TransactionTest, AnErrorOfAStatementEndsIt) {
    run(kInsert1);
    run(first(1, kInsert2));
    expectReply(in(1, R"({"insert": "c", "documents": [{"_id": 3}, {"_id": 1}, {"_id": 4}],
                         "ordered": false})"),
                R"({"n": 1, "writeErrors": [{"index": 1, "code": 11000}], "ok": 1})");
    expectCommit(1, R"({"code": 251})");
    run(first(2, kInsert2));
    expectReply(in(2, R"({"find": "c", "filter": {"$bad": 1}})"), R"({"code": 2})");
    expectReply(in(2, find("c")), R"({"code": 251})");
    EXPECT_EQ("{ _id: 1 }", seen());
}

TEST_F(TransactionTest, ADuplicateThatIsNewerThanTheSnapshotIsAConflict) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"u": 1}, "name": "u", "unique": true}]})");
    run(first(1, find("c")));
    run(R"({"insert": "c", "documents": [{"_id": 9, "u": 1}]})");
    expectReply(in(1, R"({"insert": "c", "documents": [{"_id": 1, "u": 1}]})"),
                R"({"code": 112, "errorLabels": ["TransientTransactionError"]})");
    run(first(2, find("c")));
    expectReply(in(2, R"({"insert": "c", "documents": [{"_id": 1, "u": 1}]})"),
                R"({"writeErrors": [{"code": 11000}]})");
}

TEST_F(TransactionTest, ADefinitionThatChangesMeanwhileEndsIt) {
    run(kInsert1);
    run(first(1, kInsert2));
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
    expectCommit(1, R"({"code": 112, "errorLabels": ["TransientTransactionError"]})");
    run(first(2, find("other")));
    run(R"({"dropIndexes": "c", "index": "a"})");
    expectReply(in(2, find("c")),
                R"({"code": 246, "codeName": "SnapshotUnavailable",
                    "errorLabels": ["TransientTransactionError"]})");
    run(first(3, find("other")));
    run(R"({"drop": "c"})");
    expectReply(in(3, R"({"aggregate": "other", "pipeline": [{"$lookup": {
                    "from": "c", "localField": "a", "foreignField": "a", "as": "x"}}],
                    "cursor": {}})"),
                R"({"code": 246})");
    EXPECT_EQ("", seen());
}

TEST_F(TransactionTest, OfTwoThatCreateACollectionOneIsFirst) {
    run(first(1, R"({"create": "made"})"));
    expectReply(in(1, R"({"create": "made"})"), R"({"code": 48, "codeName": "NamespaceExists"})");
    run(first(2, R"({"insert": "made", "documents": [{"_id": 1}]})"));
    run(first(1, R"({"insert": "made", "documents": [{"_id": 2}]})", 2));
    expectCommit(2);
    expectCommit(1, R"({"code": 112, "errorLabels": ["TransientTransactionError"]})", 2);
    EXPECT_EQ("{ _id: 1 }", seen("made"));
}

TEST_F(TransactionTest, IndexesAreForCollectionsThatItHasMade) {
    const std::string index =
        R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a", "unique": true}]})";
    expectReply(first(1, index),
                R"({"numIndexesBefore": 1, "numIndexesAfter": 2,
                    "createdCollectionAutomatically": true})");
    run(in(1, R"({"insert": "c", "documents": [{"_id": 1, "a": 1}]})"));
    expectReply(in(1, R"({"insert": "c", "documents": [{"_id": 2, "a": 1}]})"),
                R"({"writeErrors": [{"code": 11000}]})");
    run(kInsert1);
    expectReply(first(2, index),
                R"({"code": 263, "codeName": "OperationNotSupportedInTransaction"})");
    run(index);
    expectReply(first(3, index), R"({"note": "all indexes already exist"})");
}

TEST_F(TransactionTest, ACursorBelongsToIt) {
    run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})");
    const bson::OwnedDocument reply = run(first(1, R"({"find": "c", "batchSize": 1})"));
    const std::string id = std::to_string(reply.view().findPath("cursor.id").toInt64());
    const std::string more =
        R"({"getMore": {"$numberLong": ")" + id + R"("}, "collection": "c", "batchSize": 1})";
    run(R"({"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}]})");
    expectReply(in(1, more), R"({"cursor": {"nextBatch": [{"_id": 2}]}})");
    const std::string outside = in(1, more);
    expectReply(outside.substr(0, outside.find(R"(, "txnNumber")")) + "}", R"({"code": 50740})");
    expectCommit(1);
    run(first(2, find("c")));
    expectReply(in(2, more), R"({"code": 43, "codeName": "CursorNotFound"})");
}

TEST_F(TransactionTest, NumbersOnlyRise) {
    run(first(5, kInsert1));
    expectReply(first(4, kInsert2), R"({"code": 225, "codeName": "TransactionTooOld"})");
    expectReply(first(5, kInsert2),
                R"({"code": 117, "codeName": "ConflictingOperationInProgress"})");
    expectReply(in(6, kInsert2), R"({"code": 251, "errorLabels": ["TransientTransactionError"]})");
    run(first(6, kInsert2));  // takes the place of the one before
    expectCommit(6);
    EXPECT_EQ("{ _id: 2 }", seen());
    expectReply(in(6, kInsert1), R"({"code": 256, "codeName": "TransactionCommitted"})");
    // A retryable write's number counts in the same way.
    run(first(7, kInsert1));
    const std::string retryable = in(8, R"({"insert": "c", "documents": [{"_id": 8}]})");
    expectReply(retryable.substr(0, retryable.find(R"(, "autocommit")")) + "}", R"({"n": 1})");
    expectReply(in(7, kInsert1), R"({"code": 251})");
    expectReply(first(8, kInsert1), R"({"code": 225})");
}

TEST_F(TransactionTest, WhatCannotBeInOneIsRefused) {
    const auto with = [](std::string_view command, std::string_view field) {
        return std::string(command.substr(0, command.rfind('}'))) + ", " + std::string(field) + "}";
    };
    const std::string start = first(1, kInsert1);
    const std::string plain = in(1, kInsert1);
    const std::string bare = plain.substr(0, plain.find(R"(, "autocommit")"));
    expectReplies({
        {first(1, R"({"count": "c"})"), R"({"code": 263})"},
        {first(1, R"({"drop": "c"})"), R"({"code": 263})"},
        {first(1, R"({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {}})"),
         R"({"code": 263})"},
        {bare + R"(, "autocommit": true})", R"({"code": 72, "codeName": "InvalidOptions"})"},
        {bare + R"(, "startTransaction": true})", R"({"code": 72})"},
        {bare + R"(, "autocommit": false, "startTransaction": false})", R"({"code": 72})"},
        {bare + R"(, "autocommit": "no"})", R"({"code": 14})"},
        {with(start, R"("writeConcern": {"w": 1})"), R"({"code": 72})"},
        {with(start, R"("readConcern": {"level": "linearizable"})"), R"({"code": 72})"},
        {with(first(2, kInsert1), R"("readConcern": {"level": "snapshot"})"), R"({"n": 1})"},
        {with(in(2, kInsert2), R"("readConcern": {"level": "local"})"), R"({"code": 72})"},
    });
    expectReply(first(3, find("c")), R"({"code": 263})", "config");
    expectReply(first(3, find("c")), R"({"code": 263})", "local");
    expectReply(first(3, find("c")), R"({"code": 263})", "admin");
    expectReply(
        R"({"commitTransaction": 1})", R"({"code": 125, "codeName": "CommandFailed"})", "admin");
    expectReply(in(1, R"({"commitTransaction": 1})"), R"({"code": 13})", "test");
    EXPECT_EQ("", seen());
}

TEST_F(TransactionTest, TheEndOfItsSessionEndsIt) {
    const std::string session =
        R"([{"id": {"$binary": {"base64": "BAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}}])";
    for (const char* command : {"endSessions", "killSessions"}) {
        static int number = 0;
        run(first(++number, kInsert1));
        expectReply(R"({")" + std::string(command) + R"(": )" + session + "}", R"({"ok": 1})");
        expectCommit(number, R"({"code": 251})");
    }
    EXPECT_EQ("", seen());
}

// The table itself.

class TransactionsTest : public TransactionTest {
protected:
    Transactions::Ref make() { return std::make_shared<query::Transaction>(*catalog_); }
};

TEST_F(TransactionsTest, AtTheBoundTheUserWithTheMostLosesOne) {
    Transactions transactions(nullptr, 3);
    const auto start = [&](const char* session, const char* holder) {
        transactions.start(session, 1, make(), {holder, 1}, 0);
        return transactions.giveBack(session);
    };
    EXPECT_TRUE(start("greedy1", "greedy").empty());
    EXPECT_TRUE(start("modest", "modest").empty());
    EXPECT_TRUE(start("greedy2", "greedy").empty());
    const auto aborted = start("greedy3", "greedy");
    ASSERT_EQ(1U, aborted.size());
    EXPECT_EQ("greedy1", aborted[0].session);
    EXPECT_EQ(Transactions::State::kAborted, transactions.known("greedy1").state);
    EXPECT_EQ(Transactions::State::kInProgress, transactions.known("modest").state);
    EXPECT_EQ(1U, transactions.counts().abortedForRoom);
    EXPECT_EQ(3U, transactions.counts().open);
}

TEST_F(TransactionsTest, MemoryIsBoundedToo) {
    sync::MemoryPool pool(64u << 20);
    Transactions transactions(&pool);
    run(kInsert1);
    const catalog::CollectionRef collection = catalog_->find("test", "c");
    const auto start = [&](const char* session, size_t bytes) {
        Transactions::Ref made = make();
        made->noteWrite(collection, bytes);
        transactions.start(session, 1, made, {"user", 1}, 0);
        return transactions.giveBack(session);
    };
    EXPECT_TRUE(start("small", 1000).empty());
    EXPECT_TRUE(start("large", pool.shareMax() / 2).empty());
    const auto aborted = start("larger", pool.shareMax() / 3 * 2);
    ASSERT_EQ(1U, aborted.size());
    EXPECT_EQ(Transactions::State::kInProgress, transactions.known("small").state);
    EXPECT_LE(pool.used(), pool.shareMax() + sync::MemoryHold::kUnitBytes);
}

TEST_F(TransactionsTest, OneInUseIsAbortedWhenItsStatementEnds) {
    Transactions transactions;
    transactions.start("s", 1, make(), {"user", 1}, 0);
    transactions.giveBack("s");
    ASSERT_NE(nullptr, transactions.take("s"));
    const auto all = [](const std::string&, const Transactions::Known&) { return true; };
    EXPECT_TRUE(transactions.abortIf(all).empty());
    EXPECT_EQ(Transactions::State::kInProgress, transactions.known("s").state);
    EXPECT_EQ(1U, transactions.giveBack("s").size());
    EXPECT_EQ(Transactions::State::kAborted, transactions.known("s").state);
    EXPECT_EQ(nullptr, transactions.take("s"));
    transactions.forget(UINT64_MAX);
    EXPECT_EQ(-1, transactions.known("s").number);
}

}  // namespace
}  // namespace freshet::command
