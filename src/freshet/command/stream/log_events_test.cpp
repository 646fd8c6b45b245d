// SPDX-License-Identifier: Apache-2.0
/// What commands do, as a reader of the log sees it: each change once, in order, with the documents
/// before and after.
#include "freshet/command/stream/log_events.h"

#include "freshet/command/run/fixture_test.h"

namespace freshet::command {
namespace {

class LogEventsTest : public CommandTest {
protected:
    journal::Journal& journal() { return store_->journal(); }
    /// A reader of what comes from now on.
    std::unique_ptr<LogEvents> fromNow() { return from(journal().tailLsn()); }
    std::unique_ptr<LogEvents> from(journal::Lsn lsn) {
        auto events = LogEvents::open(journal(), {.lsn = lsn});
        invariant(events.isOk());
        return std::move(*events);
    }
    /// One line for each event of what was done so far.
    std::vector<std::string> lines(LogEvents& events) {
        run(R"({"fsync": 1})", "admin");
        const journal::Lsn durable = journal().durableLsn();
        std::vector<std::string> found;
        for (;;) {
            const CommittedEvent* event = nullptr;
            const Status status = events.next(&event);
            if (status.isOk()) {
                found.push_back(line(*event));
            } else if (status.isWouldBlock() && events.isDry() && events.position() >= durable) {
                return found;
            } else if (status.isWouldBlock()) {
                sync::blockOn(events.token());
            } else {
                found.push_back(status.toString());
                return found;
            }
        }
    }
    static std::string jsonOf(bson::Document document) {
        std::string json = bson::toJson(document);
        std::erase(json, ' ');
        return json;
    }
    static std::string line(const CommittedEvent& committed) {
        static const char* const kNames[] = {"",
                                             "insert",
                                             "update",
                                             "replace",
                                             "delete",
                                             "create",
                                             "drop",
                                             "rename",
                                             "dropDatabase",
                                             "createIndexes",
                                             "dropIndexes",
                                             "modify",
                                             "transaction",
                                             "statement"};
        const catalog::Event& event = committed.event;
        std::string text = kNames[static_cast<size_t>(event.kind)];
        text += event.db.empty() ? "" : " " + event.ns();
        if (event.hasBefore()) {
            const auto before = catalog::beforeOf(event, committed.after);
            EXPECT_TRUE(before.isOk());
            text += " " + jsonOf(before->view());
        }
        if (!committed.after.isEmpty()) {
            text += " " + jsonOf(committed.after);
        } else if (event.kind == catalog::EventKind::kDelete) {
            text += " " + jsonOf(event.document);
        }
        return text + (committed.isLast ? "." : "");
    }
};

TEST_F(LogEventsTest, DocumentsAndDefinitionsInTheirOrder) {
    const auto events = fromNow();
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1, "b": "x"}, {"_id": 2}]})", "t");
    run(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": "longer"}}}]})", "t");
    run(R"({"update": "c", "updates": [{"q": {"_id": 2}, "u": {"z": 1}}]})", "t");
    run(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": "longer"}}}]})", "t");
    run(R"({"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}]})", "t");
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})", "t");
    run(R"({"renameCollection": "t.c", "to": "t.d"})", "admin");
    run(R"({"drop": "d"})", "t");
    EXPECT_EQ(lines(*events),
              (std::vector<std::string>{
                  "create t.c.",
                  R"(insert t.c {"_id":1,"a":1,"b":"x"}.)",
                  R"(insert t.c {"_id":2}.)",
                  R"(update t.c {"_id":1,"a":1,"b":"x"} {"_id":1,"a":"longer","b":"x"}.)",
                  R"(replace t.c {"_id":2,"z":1}.)",
                  R"(delete t.c {"_id":2}.)",
                  "createIndexes t.c.",
                  "rename t.c.",
                  "drop t.d."}));
}

const char* const kSession =
    R"("lsid": {"id": {"$uuid": "11111111-2222-3333-4444-555555555555"}}, )";

std::string inTransaction(const std::string& command, const std::string& more = "") {
    return "{" + command + ", " + kSession +
           R"("txnNumber": {"$numberLong": "1"}, "autocommit": false)" + more + "}";
}

/// What a document gets and loses in one transaction is seen change by change, and the commit's
/// records of entries and of the session are not in the way.
TEST_F(LogEventsTest, ATransactionIsOneCommitWithAnEventAtItsEnd) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})", "t");
    const auto events = fromNow();
    run(inTransaction(R"("insert": "c", "documents": [{"_id": 2, "a": 1}])",
                      R"(, "startTransaction": true)"),
        "t");
    run(inTransaction(R"("update": "c", "updates": [{"q": {"_id": 2}, "u": {"$inc": {"a": 1}}}])"),
        "t");
    run(inTransaction(R"("update": "c", "updates": [{"q": {"_id": 2}, "u": {"$inc": {"a": 1}}}])"),
        "t");
    run(inTransaction(R"("delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}])"), "t");
    run(inTransaction(R"("commitTransaction": 1)"), "admin");
    EXPECT_EQ(lines(*events),
              (std::vector<std::string>{R"(insert t.c {"_id":2,"a":1})",
                                        R"(update t.c {"_id":2,"a":1} {"_id":2,"a":2})",
                                        R"(update t.c {"_id":2,"a":2} {"_id":2,"a":3})",
                                        R"(delete t.c {"_id":1})",
                                        "transaction."}));
}

TEST_F(LogEventsTest, AStatementOfARetryableWriteEndsItsCommit) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})", "t");
    const auto events = fromNow();
    run(R"({"insert": "c", "documents": [{"_id": 2}, {"_id": 3}],
            "lsid": {"id": {"$uuid": "11111111-2222-3333-4444-555555555555"}},
            "txnNumber": {"$numberLong": "1"}})",
        "t");
    EXPECT_EQ(
        lines(*events),
        (std::vector<std::string>{
            R"(insert t.c {"_id":2})", "statement.", R"(insert t.c {"_id":3})", "statement."}));
}

/// More than fits into a record: also where an event is in another record than its change.
TEST_F(LogEventsTest, AChainOfRecordsIsOneCommit) {
    recordBytesMax_ = 2000;
    close();
    open();
    run(R"({"create": "c"})", "t");
    const auto events = fromNow();
    std::vector<std::string> expected;
    for (int i = 0; i < 40; ++i) {
        const std::string document = "{\"_id\":" + std::to_string(i) + ",\"pad\":\"" +
                                     std::string(static_cast<size_t>(i * 13), 'p') + "\"}";
        run(inTransaction(R"("insert": "c", "documents": [)" + document + "]",
                          i == 0 ? R"(, "startTransaction": true)" : ""),
            "t");
        expected.push_back("insert t.c " + document);
    }
    run(R"({"insert": "other", "documents": [{"_id": 1}]})", "t");
    run(inTransaction(R"("commitTransaction": 1)"), "admin");
    expected.insert(expected.begin(), {"create t.other.", R"(insert t.other {"_id":1}.)"});
    expected.push_back("transaction.");
    EXPECT_EQ(lines(*events), expected);
}

TEST_F(LogEventsTest, WhatIsRolledBackHasNoEvents) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a", "unique": true}]})",
        "t");
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}]})", "t");
    const auto events = fromNow();
    run(inTransaction(R"("insert": "c", "documents": [{"_id": 2}])",
                      R"(, "startTransaction": true)"),
        "t");
    run(inTransaction(R"("abortTransaction": 1)"), "admin");
    run(R"({"insert": "c", "documents": [{"_id": 3, "a": 1}]})", "t");
    run(R"({"insert": "c", "documents": [{"_id": 4, "a": 2}]})", "t");
    EXPECT_EQ(lines(*events), (std::vector<std::string>{R"(insert t.c {"_id":4,"a":2}.)"}));
}

TEST_F(LogEventsTest, ServerCollectionsHaveNone) {
    const auto events = fromNow();
    run(R"({"insert": "c", "documents": [{"_id": 1}]})", "config");
    run(R"({"insert": "c", "documents": [{"_id": 1}]})", "local");
    run(R"({"insert": "c", "documents": [{"_id": 1}]})", "t");
    EXPECT_EQ(lines(*events),
              (std::vector<std::string>{"create t.c.", R"(insert t.c {"_id":1}.)"}));
}

TEST_F(LogEventsTest, AReaderGoesOnWhereAnotherHasBeenAlsoAfterACrash) {
    const journal::Lsn start = journal().tailLsn();
    run(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"j": true}})", "t");
    auto events = from(start);
    EXPECT_EQ(lines(*events).back(), R"(insert t.c {"_id":1}.)");
    const journal::Lsn here = events->position();
    events.reset();
    crash();
    run(R"({"insert": "c", "documents": [{"_id": 2}]})", "t");
    EXPECT_EQ(lines(*from(here)), (std::vector<std::string>{R"(insert t.c {"_id":2}.)"}));
    EXPECT_EQ(lines(*from(start)).front(), "create t.c.");
}

}  // namespace
}  // namespace freshet::command
