// SPDX-License-Identifier: Apache-2.0
/// Changing one document and returning it, validators, distinct values, what explain counts.
#include "freshet/platform/thread.h"
#include "freshet/query/exec/test_support.h"

#include <gtest/gtest.h>

#include <set>

namespace freshet::query {
namespace {

std::string shown(const std::optional<bson::OwnedDocument>& value) {
    return value.has_value() ? bson::toShellText(value->view()) : "none";
}

UpdateRequest oneUpdate(std::string_view filter, std::string_view update, Returning returning) {
    UpdateRequest request;
    request.filter = doc(filter);
    request.update = doc(update);
    request.returning = returning;
    return request;
}

TEST(Returning, GivesTheDocumentBeforeOrAfter) {
    TestCollection c;
    ASSERT_TRUE(c.insert(R"({"_id": 1, "a": 1})").isOk());
    auto result = c.update(oneUpdate(R"({"a": 1})", R"({"$inc": {"a": 1}})", Returning::kBefore));
    ASSERT_TRUE(result.isOk());
    EXPECT_EQ(shown(result->value), "{ _id: 1, a: 1 }");
    UpdateRequest request = oneUpdate("{}", R"({"$inc": {"a": 1}})", Returning::kAfter);
    request.projection = doc(R"({"_id": 0, "a": 1})");
    result = c.update(std::move(request));
    ASSERT_TRUE(result.isOk());
    EXPECT_EQ(shown(result->value), "{ a: 3 }");
    result = c.update(oneUpdate(R"({"a": 9})", R"({"$inc": {"a": 1}})", Returning::kAfter));
    ASSERT_TRUE(result.isOk());
    EXPECT_EQ(shown(result->value), "none");
    request = oneUpdate(R"({"_id": 7})", R"({"$set": {"a": 1}})", Returning::kAfter);
    request.upsert = true;
    result = c.update(std::move(request));
    ASSERT_TRUE(result.isOk());
    EXPECT_TRUE(result->upserted);
    EXPECT_EQ(shown(result->value), "{ _id: 7, a: 1 }");
}

TEST(Returning, TakesTheFirstOfTheOrder) {
    TestCollection c;
    c.insertNumbers(5);
    DeleteRequest request;
    request.justOne = true;
    request.sort = doc(R"({"a": -1})");
    request.returning = Returning::kBefore;
    auto op = makeDelete(c.engine(), c.get(), std::move(request));
    ASSERT_TRUE(op.isOk());
    ASSERT_TRUE(driven(**op).isOk());
    EXPECT_EQ(shown((*op)->result().value), "{ _id: 4, a: 4 }");
    EXPECT_EQ(c.find("{}").size(), 4u);
}

/// Workers take jobs from a queue: no two get the same one.
TEST(Returning, EveryClaimIsAnothers) {
    TestCollection c;
    constexpr int kJobs = 200;
    c.insertNumbers(kJobs);
    std::vector<std::vector<std::string>> claimed(4);
    std::vector<platform::Thread> workers;
    for (auto& mine : claimed) {
        workers.emplace_back("worker", [&] {
            for (;;) {
                auto result = c.update(oneUpdate(
                    R"({"taken": null})", R"({"$set": {"taken": true}})", Returning::kAfter));
                ASSERT_TRUE(result.isOk()) << result.status().toString();
                if (!result->value.has_value()) {
                    return;
                }
                mine.push_back(shown(result->value));
            }
        });
    }
    for (platform::Thread& worker : workers) {
        worker.join();
    }
    std::set<std::string> all;
    size_t count = 0;
    for (const auto& mine : claimed) {
        all.insert(mine.begin(), mine.end());
        count += mine.size();
    }
    EXPECT_EQ(count, size_t{kJobs});
    EXPECT_EQ(all.size(), size_t{kJobs});
}

TEST(PipelineUpdate, ComputesFromTheDocument) {
    TestCollection c;
    ASSERT_TRUE(c.insert(R"({"_id": 1, "a": 2, "b": 3})").isOk());
    UpdateRequest request = oneUpdate("{}", "{}", Returning::kAfter);
    request.isPipeline = true;
    const auto stages = doc(R"({"p": [{"$set": {"c": {"$add": ["$a", "$b"]}}}, {"$unset": "b"}]})");
    request.update = bson::OwnedDocument(stages.view().find("p").document());
    auto result = c.update(std::move(request));
    ASSERT_TRUE(result.isOk()) << result.status().toString();
    EXPECT_EQ(shown(result->value), "{ _id: 1, a: 2, c: 5 }");
    const auto wrong = doc(R"({"p": [{"$set": {"_id": 2}}]})");
    request = UpdateRequest();
    request.isPipeline = true;
    request.update = bson::OwnedDocument(wrong.view().find("p").document());
    EXPECT_EQ(c.update(std::move(request)).status().reason(), Reason::kImmutableField);
}

constexpr int kMany = 5'000;  // several snapshots of a scan

std::unique_ptr<WriteOp> incrementAll(TestCollection& c, std::string_view filter) {
    UpdateRequest request = oneUpdate(filter, R"({"$inc": {"a": 10000}})", Returning::kNothing);
    request.multi = true;
    auto op = makeUpdate(c.engine(), c.get(), std::move(request));
    EXPECT_TRUE(op.isOk());
    return std::move(*op);
}

TEST(UpdateMany, ChangesEachDocumentOnceAlsoWhenTheIndexShowsItAgain) {
    TestCollection c;
    c.insertNumbers(kMany);
    c.addIndex(R"({"a": 1})");
    const auto op = incrementAll(c, R"({"a": {"$gte": 0}})");
    ASSERT_TRUE(driven(*op).isOk());
    EXPECT_EQ(op->work().plan.kind, "IXSCAN");
    EXPECT_EQ(op->result().modified, kMany);
    EXPECT_EQ(c.find(R"({"a": {"$gte": 10000, "$lt": 20000}})").size(), size_t{kMany});
}

TEST(UpdateMany, HoldsNoSnapshotFromItsBeginningToItsEnd) {
    for (const char* filter : {"{}", R"({"a": {"$gte": 0}})"}) {
        TestCollection c;
        c.insertNumbers(kMany);
        c.addIndex(R"({"a": 1})");
        const auto op = incrementAll(c, filter);
        std::set<uint64_t> oldest;
        Status status = op->run();
        while (status.isWouldBlock()) {
            oldest.insert(c.engine().epochs().minReadTs());
            sync::blockOn(op->token());
            status = op->run();
        }
        ASSERT_TRUE(status.isOk()) << status.toString();
        EXPECT_GE(oldest.size(), 4U) << filter;
    }
}

class Validated : public ::testing::Test {
protected:
    void make(std::string_view options) {
        c_.change(c_.catalog().dropCollection("db", "c"));
        c_.change(c_.catalog().createCollection("db", "c", doc(options), false));
    }
    TestCollection c_;
};

TEST_F(Validated, RefusesWhatDoesNotMatch) {
    make(R"({"validator": {"a": {"$gt": 0}}})");
    auto op = makeInsert(c_.engine(), c_.get(), doc(R"({"_id": 1, "a": 0})").view());
    ASSERT_TRUE(op.isOk());
    const Status refused = driven(**op);
    EXPECT_EQ(refused.reason(), Reason::kDocumentValidationFailure);
    EXPECT_EQ(refused.text(), "Document failed validation");
    EXPECT_EQ(bson::toShellText((*op)->errorInfo().view()),
              "{ errInfo: { failingDocumentId: 1, details: { operatorName: \"$gt\", specifiedAs: { "
              "a: { $gt: 0 } }, reason: \"comparison failed\", consideredValue: 0 } } }");
    ASSERT_TRUE(c_.insert(R"({"_id": 1, "a": 1})").isOk());
    EXPECT_EQ(c_.update("{}", R"({"$set": {"a": -1}})").status().reason(),
              Reason::kDocumentValidationFailure);
    EXPECT_EQ(c_.update(R"({"_id": 2})", R"({"$set": {"b": 1}})", false, true).status().reason(),
              Reason::kDocumentValidationFailure);
    UpdateRequest request = oneUpdate("{}", R"({"$set": {"a": -1}})", Returning::kNothing);
    request.options.bypassValidation = true;
    EXPECT_TRUE(c_.update(std::move(request)).isOk());
}

TEST_F(Validated, IsAsStrictAsAsked) {
    make(R"({"validator": {"a": 1}, "validationAction": "warn"})");
    EXPECT_TRUE(c_.insert(R"({"_id": 1})").isOk());
    make(R"({"validator": {"a": 1}, "validationLevel": "off"})");
    EXPECT_TRUE(c_.insert(R"({"_id": 1})").isOk());
    make(R"({"validator": {"a": 1}, "validationLevel": "moderate"})");
    auto bad = makeInsert(c_.engine(), c_.get(), doc(R"({"_id": 1})").view(), {true, false});
    ASSERT_TRUE(driven(**bad).isOk());
    ASSERT_TRUE(c_.insert(R"({"_id": 2, "a": 1})").isOk());
    EXPECT_TRUE(c_.update(R"({"_id": 1})", R"({"$set": {"b": 1}})").isOk());
    EXPECT_EQ(c_.update(R"({"_id": 2})", R"({"$set": {"a": 2}})").status().reason(),
              Reason::kDocumentValidationFailure);
}

std::string distinct(TestCollection& c, std::string_view path, std::string_view filter = "{}") {
    FindRequest request;
    request.filter = doc(filter);
    auto op = DistinctOp::make(c.engine(), c.get(), std::move(request), path);
    EXPECT_TRUE(op.isOk() && driven(**op).isOk());
    const std::string values = (*op)->takeValues();
    bson::Builder builder;
    builder.addArray("v", bson::Document(values));
    const bson::OwnedDocument holder(builder.finish());
    return bson::toShellText(*holder.view().begin());
}

TEST(Distinct, GivesEachValueOnce) {
    TestCollection c;
    for (const char* document : {R"({"a": 1, "s": [{"x": 1}, {"x": 2}]})",
                                 R"({"a": 1.0})",
                                 R"({"a": [1, 2, [3]]})",
                                 R"({"a": null})",
                                 R"({"a": []})",
                                 R"({"b": 1})"}) {
        ASSERT_TRUE(c.insert(document).isOk());
    }
    EXPECT_EQ(distinct(c, "a"), "[ 1, 2, [ 3 ], null ]");
    EXPECT_EQ(distinct(c, "s.x"), "[ 1, 2 ]");
    EXPECT_EQ(distinct(c, "s.1.x"), "[ 2 ]");
    EXPECT_EQ(distinct(c, "a", R"({"a": 2})"), "[ 1, 2, [ 3 ] ]");
    EXPECT_EQ(distinct(c, "nosuch"), "[]");
}

TEST(Timestamps, AreFilledWhereTheyAreEmpty) {
    TestCollection c;
    bson::Builder builder;
    builder.add("_id", 1).add("t", bson::Timestamp{0}).add("u", bson::Timestamp{5});
    {
        auto sub = builder.object("s");
        sub.add("t", bson::Timestamp{0});
    }
    const bson::OwnedDocument document(builder.finish());
    ASSERT_TRUE(c.insert(document.view()).isOk());
    auto found = c.find(FindRequest());
    ASSERT_TRUE(found.isOk());
    const bson::Document stored = found->at(0).view();
    EXPECT_GT(stored.find("t").timestampValue() >> 32, 1'000'000'000u);
    EXPECT_EQ(stored.find("u").timestampValue(), 5u);
    EXPECT_EQ(stored.findPath("s.t").timestampValue(), 0u);
}

TEST(Explain, CountsWhatWasLookedAt) {
    TestCollection c;
    c.insertNumbers(50);
    c.addIndex(R"({"a": 1})");
    FindRequest request;
    request.filter = doc(R"({"a": {"$gte": 40}, "_id": {"$mod": [2, 0]}})");
    auto cursor = makeFind(c.engine(), c.get(), std::move(request));
    ASSERT_TRUE(cursor.isOk());
    (*cursor)->attach();
    Documents out;
    ASSERT_TRUE(nextBatch(**cursor, 100, &out).isOk());
    const bson::OwnedDocument run = (*cursor)->describeExecution(0);
    (*cursor)->detach();
    EXPECT_EQ(run.view().find("nReturned").toInt64(), 5);
    EXPECT_EQ(run.view().find("totalKeysExamined").toInt64(), 10);
    EXPECT_EQ(run.view().find("totalDocsExamined").toInt64(), 10);
    EXPECT_EQ(run.view().findPath("executionStages.stage").stringValue(), "FETCH");
    EXPECT_EQ(bson::toShellText(run.view().findPath("executionStages.inputStage.indexBounds")),
              "{ a: [ \"[40, inf]\" ] }");
}

TEST(Find, ReadsBetweenKeys) {
    TestCollection c;
    c.insertNumbers(20);
    c.addIndex(R"({"a": 1})");
    FindRequest request;
    request.hint = doc(R"({"a": 1})");
    request.min = doc(R"({"a": 5})");
    request.max = doc(R"({"a": 8})");
    auto found = c.find(request);
    ASSERT_TRUE(found.isOk()) << found.status().toString();
    EXPECT_EQ(
        asText(*found),
        (std::vector<std::string>{"{ _id: 5, a: 5 }", "{ _id: 6, a: 6 }", "{ _id: 7, a: 7 }"}));
    request.returnsKey = true;
    request.showsRecordId = true;  // not returned with a key
    EXPECT_EQ(asText(*c.find(request)),
              (std::vector<std::string>{"{ a: 5 }", "{ a: 6 }", "{ a: 7 }"}));
    request.hint = bson::OwnedDocument();
    EXPECT_EQ(c.find(request).status().reason(), location(51173));
    request.hint = doc(R"({"_id": 1})");
    EXPECT_EQ(c.find(request).status().reason(), location(51174));
}

TEST(Expiry, DeletesWhatIsPastItsTime) {
    TestCollection c;
    catalog::IndexRequest index;
    index.key = doc(R"({"t": 1})");
    index.spec = doc(R"({"expireAfterSeconds": 10})");
    catalog::IndexCounts counts;
    c.change(c.catalog().createIndexes("db", "c", {index}, &counts));
    for (int64_t seconds : {100, 200, 300}) {
        bson::Builder builder;
        builder.add("_id", seconds).add("t", bson::Date{seconds * 1000});
        ASSERT_TRUE(c.insert(bson::OwnedDocument(builder.finish()).view()).isOk());
    }
    ASSERT_TRUE(c.insert(R"({"_id": 1, "t": 5})").isOk());
    auto op = makeDelete(c.engine(), c.get(), expiryOf(*c.get()->findIndex("t_1"), 210'000));
    ASSERT_TRUE(op.isOk()) << op.status().toString();
    ASSERT_TRUE(driven(**op).isOk());
    EXPECT_EQ((*op)->result().matched, 2);
    EXPECT_EQ(c.find("{}").size(), 2u);
}

}  // namespace
}  // namespace freshet::query
