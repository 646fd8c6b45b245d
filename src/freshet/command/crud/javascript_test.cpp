// SPDX-License-Identifier: Apache-2.0
/// Commands with JavaScript, from request to reply: $where in every command that takes a filter,
/// $function, $accumulator, mapReduce, and what ends a script.
#include "freshet/command/run/fixture_test.h"
#include "freshet/platform/thread.h"

#include <algorithm>
#include <vector>

namespace freshet::command {
namespace {

class JavaScriptCommandTest : public CommandTest {
protected:
    JavaScriptCommandTest() {
        run(R"({"insert": "c", "documents": [
            {"_id": 1, "a": 1, "tags": ["x", "y"]}, {"_id": 2, "a": 2, "tags": ["y"]},
            {"_id": 3, "a": 3, "tags": []}]})");
    }
    /// Another client's request, on another thread.
    bson::OwnedDocument ask(std::string_view text) {
        sync::LocalExecutor executor;
        const std::unique_ptr<Connection> other = dispatcher_->connect(clientFacts(8));
        return bodyOf(executor.run(other->handle(message(request(text, "admin").view()))));
    }
    /// The id of the running find; 0: there is none.
    int64_t runningOperation() {
        const bson::OwnedDocument reply = ask(R"({"currentOp": 1, "op": "query"})");
        for (const bson::Element& one : reply.view().find("inprog").document()) {
            return one.document().find("opid").toInt64();
        }
        return 0;
    }
    static std::string wordCount(const std::string& rest) {
        return R"({"mapReduce": "c", "map": "function() { this.tags.forEach(t => emit(t, 1)); }",
                   "reduce": "function(key, values) { return Array.sum(values); }", )" +
               rest + "}";
    }
};

TEST_F(JavaScriptCommandTest, WhereInEveryCommand) {
    expectReplies({
        {R"({"find": "c", "filter": {"$where": "this.a > 1"}, "sort": {"_id": 1}})",
         R"({"ok": 1, "cursor": {"firstBatch": [{"_id": 2}, {"_id": 3}]}})"},
        {R"({"count": "c", "query": {"$where": "this.tags.length == 1"}})", R"({"n": 1, "ok": 1})"},
        {R"({"distinct": "c", "key": "a", "query": {"$where": "this.a != 2"}})",
         R"({"values": [1, 3], "ok": 1})"},
        {R"({"update": "c", "updates": [{"q": {"_id": 9}, "u": {"$set": {"b": 0}}},
            {"q": {"$where": "this.a < 3"}, "u": {"$set": {"b": 1}}, "multi": true}]})",
         R"({"n": 2, "nModified": 2, "ok": 1})"},
        {R"({"findAndModify": "c", "query": {"$where": "this.b == 1 && this.a == 2"},
             "update": {"$set": {"b": 5}}, "new": true})",
         R"({"value": {"_id": 2, "b": 5}, "ok": 1})"},
        {R"({"update": "c", "updates": [{"q": {"$where": "this.a == 77"}, "u": {"$set": {"_id": 77}},
            "upsert": true}]})",
         R"({"n": 1, "ok": 1})"},
        {R"({"delete": "c", "deletes": [{"q": {"$where": "this._id == 77"}, "limit": 0}]})",
         R"({"n": 1, "ok": 1})"},
        {R"({"explain": {"find": "c", "filter": {"$where": "this.a > 1"}},
             "verbosity": "executionStats"})",
         R"({"ok": 1, "executionStats": {"nReturned": 2}})"},
    });
}

TEST_F(JavaScriptCommandTest, WhereIsRefusedInPipelinesAndWhatIsKept) {
    expectReplies({
        {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"$where": "true"}}]})",
         R"({"ok": 0, "code": 2, "errmsg": "$where is not allowed in this context"})"},
        {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$limit": 1},
            {"$facet": {"f": [{"$match": {"$where": "true"}}]}}]})",
         R"({"ok": 0, "code": 2})"},
        {R"({"create": "v", "validator": {"$where": "true"}})", R"({"ok": 0, "code": 2})"},
        {R"({"create": "v", "validator": {"$expr": {"$function":
            {"body": "1", "args": [], "lang": "js"}}}})",
         R"({"ok": 0, "code": 4660800})"},
        {R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"tags.$[t]": 1}},
            "arrayFilters": [{"t": 1, "$where": "true"}]}]})",
         R"({"writeErrors": [{"index": 0}]})"},
        {R"({"update": "c", "updates": [{"q": {}, "u": {"$pull": {"tags": {"$where": "true"}}}}]})",
         R"({"writeErrors": [{"index": 0, "code": 2}]})"},
    });
}

TEST_F(JavaScriptCommandTest, ErrorsOfScripts) {
    expectReply(R"({"setParameter": 1, "internalQueryJavaScriptFnTimeoutMillis": 1000})",
                R"({"ok": 1})",
                "admin");
    expectReplies({
        {R"({"find": "c", "filter": {"$where": "nothing.at.all"}})",
         R"({"ok": 0, "code": 139, "codeName": "JSInterpreterFailure"})"},
        {R"({"delete": "c", "deletes": [{"q": {"$where": "throw 'x'"}, "limit": 0}]})",
         R"({"ok": 1, "n": 0, "writeErrors": [{"index": 0, "code": 139}]})"},
        {R"({"find": "c", "filter": {"$where": "while (true) {}"}, "maxTimeMS": 50})",
         R"({"ok": 0, "code": 50})"},
        {R"({"find": "c", "filter": {"$where": "while (true) {}"}})",
         R"({"ok": 0, "code": 11601})"},
        {R"({"find": "c", "filter": {"$where": "this.a == 1"}})",
         R"({"ok": 1, "cursor": {"firstBatch": [{"_id": 1}]}})"},
    });
}

TEST_F(JavaScriptCommandTest, CursorsGoOn) {
    const bson::OwnedDocument first = run(
        R"({"find": "c", "filter": {"$where": "this.a > 0"}, "sort": {"_id": 1}, "batchSize": 1})");
    const int64_t id = first.view().find("cursor").document().find("id").toInt64();
    ASSERT_NE(0, id);
    bson::Builder more;
    more.add("getMore", id).add("collection", "c").add("$db", "test");
    const bson::OwnedDocument body(more.finish());
    const bson::OwnedDocument next = bodyOf(exchange(message(body.view())));
    EXPECT_EQ("",
              missingFrom(next.view(),
                          json(R"({"cursor": {"id": 0, "nextBatch":
        [{"_id": 2}, {"_id": 3}]}})")
                              .view()))
        << bson::toJson(next.view());
}

TEST_F(JavaScriptCommandTest, FunctionAndAccumulator) {
    expectReplies({
        {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$sort": {"_id": 1}},
            {"$project": {"twice": {"$function": {"body": "function(a) { return a * 2; }",
                                                   "args": ["$a"], "lang": "js"}}}}]})",
         R"({"cursor": {"firstBatch": [{"twice": 2}, {"twice": 4}, {"twice": 6}]}})"},
        {R"({"find": "c", "filter": {"$expr": {"$function":
            {"body": "function(t) { return t.length == 0; }", "args": ["$tags"], "lang": "js"}}}})",
         R"({"cursor": {"firstBatch": [{"_id": 3}]}})"},
        {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$group": {"_id": null, "mean":
            {"$accumulator": {
                "init": "function(from) { return {n: from, sum: 0}; }", "initArgs": [0],
                "accumulate": "function(s, a) { s.n++; s.sum += a; return s; }",
                "accumulateArgs": ["$a"],
                "merge": "function(s, t) { return {n: s.n + t.n, sum: s.sum + t.sum}; }",
                "finalize": "function(s) { return s.sum / s.n; }", "lang": "js"}}}}]})",
         R"({"cursor": {"firstBatch": [{"_id": null, "mean": 2}]}})"},
        {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$group": {"_id": null, "x":
            {"$accumulator": {"init": "function() {}", "accumulate": "function() {}",
                "accumulateArgs": [], "merge": "function() {}",
                "finalize": "function() { throw 'at the end'; }", "lang": "js"}}}}]})",
         R"({"ok": 0, "code": 139})"},
    });
}

TEST_F(JavaScriptCommandTest, MapReduce) {
    expectReplies({
        {wordCount(R"("out": {"inline": 1})"),
         R"({"ok": 1, "results": [{"_id": "x", "value": 1}, {"_id": "y", "value": 2}]})"},
        {wordCount(R"("out": {"inline": 1}, "query": {"a": 1}, "sort": {"_id": 1}, "limit": 1,
                      "scope": {"more": 10}, "jsMode": true,
                      "finalize": "function(key, value) { return value + more; }")"),
         R"({"ok": 1, "results": [{"_id": "x", "value": 11}, {"_id": "y", "value": 11}]})"},
        {wordCount(R"("out": "counts")"), R"({"ok": 1, "result": "counts"})"},
        {wordCount(R"("out": {"reduce": "counts"})"), R"({"ok": 1, "result": "counts"})"},
        {R"({"find": "counts", "filter": {}, "sort": {"_id": 1}})",
         R"({"cursor": {"firstBatch": [{"_id": "x", "value": 2}, {"_id": "y", "value": 4}]}})"},
        {wordCount(R"("out": {"merge": "counts"}, "query": {"a": 1})"), R"({"ok": 1})"},
        {R"({"find": "counts", "filter": {}, "sort": {"_id": 1}})",
         R"({"cursor": {"firstBatch": [{"_id": "x", "value": 1}, {"_id": "y", "value": 1}]}})"},
        {wordCount(R"("out": {"replace": "counts", "db": "other"})"),
         R"({"ok": 1, "result": {"db": "other", "collection": "counts"}})"},
    });
}

TEST_F(JavaScriptCommandTest, MapReduceIsChecked) {
    expectReplies({
        {R"({"mapReduce": "c", "reduce": "1", "out": {"inline": 1}})", R"({"code": 40414})"},
        {R"({"mapReduce": "c", "map": 1, "reduce": "1", "out": {"inline": 1}})", R"({"code": 2})"},
        {wordCount(R"("out": {})"), R"({"code": 13522})"},
        {wordCount(R"("out": 1)"), R"({"code": 13606})"},
        {wordCount(R"("out": {"replace": "x", "db": "admin"})"), R"({"code": 115})"},
        {wordCount(R"("out": "x", "writeConcern": {"w": 1})"), R"({"ok": 1})"},
        {wordCount(R"("out": {"merge": "x", "nonAtomic": false})"), R"({"code": 15895})"},
        {R"({"mapReduce": "c", "map": "function() { emit(1); }", "reduce": "1",
             "out": {"inline": 1}})",
         R"({"code": 139})"},
        {R"({"mapReduce": "absent", "map": "1", "reduce": "1", "out": {"inline": 1}})",
         R"({"ok": 1, "results": []})"},
    });
}

/// Finds of clients at an address of their own, each on a thread of its own.
class ScriptLineTest : public JavaScriptCommandTest {
protected:
    void start(const std::string& address,
               std::string_view text,
               sync::Atomic<bool>* isAnswered = nullptr) {
        const uint64_t number = 100 + threads_.size();
        threads_.emplace_back("client", [this, address, number, text, isAnswered] {
            ClientFacts client = clientFacts(number);
            client.remote = address + ":1";
            sync::LocalExecutor executor;
            const std::unique_ptr<Connection> connection = dispatcher_->connect(client);
            executor.run(connection->handle(message(request(text).view())));
            if (isAnswered != nullptr) {
                isAnswered->store(true, sync::kRelaxed);  // only the flag itself counts
            }
        });
    }
    std::vector<int64_t> running() {
        const bson::OwnedDocument reply = ask(R"({"currentOp": 1, "op": "query"})");
        std::vector<int64_t> ids;
        for (const bson::Element& one : reply.view().find("inprog").document()) {
            ids.push_back(one.document().find("opid").toInt64());
        }
        return ids;
    }
    void waitFor(size_t operations) {
        while (running().size() != operations) {
            platform::yieldThread();
        }
    }
    void kill(int64_t id) { ask(R"({"killOp": 1, "op": )" + std::to_string(id) + "}"); }

    std::vector<platform::Thread> threads_;
};

TEST_F(ScriptLineTest, OneClientsScriptsDoNotKeepAnotherOneWaiting) {
    constexpr size_t kThreads = 8;
    constexpr size_t kMore = 4;
    constexpr std::string_view kEndless =
        R"({"find": "c", "filter": {"$where": "while (true) {}"}})";
    for (size_t i = 0; i < kThreads; ++i) {
        start("10.0.0.1", kEndless);
    }
    waitFor(kThreads);
    const std::vector<int64_t> first = running();
    for (size_t i = 0; i < kMore; ++i) {
        start("10.0.0.1", kEndless);
    }
    waitFor(kThreads + kMore);
    sync::Atomic<bool> isAnswered{false};
    start("10.0.0.2", R"({"find": "c", "filter": {"$where": "true"}})", &isAnswered);
    waitFor(kThreads + kMore + 1);
    kill(first[0]);
    while (!isAnswered.load(sync::kRelaxed)) {  // as above
        platform::yieldThread();
    }
    const auto isRunning = [this](int64_t id) {
        const std::vector<int64_t> all = running();
        return std::find(all.begin(), all.end(), id) != all.end();
    };
    while (isRunning(first[0])) {  // its script has ended, its reply may be on its way
        platform::yieldThread();
    }
    EXPECT_EQ(kThreads + kMore - 1, running().size())
        << "the thread goes to the other client before those who came before it";
    for (std::vector<int64_t> left = running(); !left.empty(); left = running()) {
        for (const int64_t id : left) {
            kill(id);
        }
    }
    threads_.clear();
}

TEST_F(JavaScriptCommandTest, KillOpAndShutdownEndAnEndlessScript) {
    for (const bool byShutdown : {false, true}) {
        platform::Thread killer("killer", [this, byShutdown] {
            if (byShutdown) {
                // Shut down once it runs: begun before the shutdown, ended by it.
                while (runningOperation() == 0) {
                    platform::yieldThread();
                }
                dispatcher_->beginShutdown();
                return;
            }
            int64_t id = 0;
            while ((id = runningOperation()) == 0) {
                platform::yieldThread();
            }
            ask(R"({"killOp": 1, "op": )" + std::to_string(id) + "}");
        });
        expectReply(R"({"find": "c", "filter": {"$where": "while (true) {}"}})",
                    byShutdown ? R"({"ok": 0, "code": 11600})" : R"({"ok": 0, "code": 11601})");
        killer.join();
    }
}

}  // namespace
}  // namespace freshet::command
