// SPDX-License-Identifier: Apache-2.0
/// find, count and aggregate as a caller of the room sees them.
#include "freshet/query/aggregate.h"
#include "freshet/query/exec/row.h"
#include "freshet/query/exec/test_support.h"

#include <gtest/gtest.h>

namespace freshet::query {
namespace {

using Texts = std::vector<std::string>;

std::unique_ptr<QueryCursor> cursorOver(TestCollection& collection, FindRequest request) {
    auto cursor = makeFind(collection.engine(), collection.get(), std::move(request));
    EXPECT_TRUE(cursor.isOk()) << cursor.status().toString();
    return std::move(cursor).value();
}

TEST(Find, FiltersSortsSkipsLimitsAndProjects) {
    TestCollection c;
    c.insertNumbers(10);
    FindRequest request;
    request.filter = doc(R"({"a": {"$gte": 2}})");
    request.sort = doc(R"({"a": -1})");
    request.projection = doc(R"({"_id": 0})");
    request.skip = 1;
    request.limit = 3;
    auto found = c.find(std::move(request));
    ASSERT_TRUE(found.isOk()) << found.status().toString();
    EXPECT_EQ(asText(*found), (Texts{"{ a: 8 }", "{ a: 7 }", "{ a: 6 }"}));
}

TEST(Find, SortsOnDiskWhatDoesNotFitIntoMemory) {
    TestCollection c;
    c.insertNumbers(1000);
    MemoryLimits limits;
    limits.sort = 5'000;
    testing::MemoryFileSystem disk;
    SpillSpace space(disk, "/tmp", [&limits] { return limits; });
    for (const int64_t limit : {0, 600}) {
        FindRequest request;
        request.sort = doc(R"({"a": -1})");
        request.limit = limit;
        request.spill = &space;
        auto cursor = cursorOver(c, std::move(request));
        auto found = drained(*cursor, 70);  // detached between two batches
        ASSERT_TRUE(found.isOk()) << found.status().toString();
        ASSERT_EQ(found->size(), limit == 0 ? 1000u : 600u);
        for (size_t i = 0; i < found->size(); ++i) {
            ASSERT_EQ((*found)[i].view().find("a").toInt64(), static_cast<int64_t>(999 - i));
        }
        EXPECT_GT(cursor->work().spills, 2);
        EXPECT_GT(cursor->work().spilledBytes, 0);
        const std::string explained = bson::toCanonicalJson(cursor->describeExecution(1).view());
        EXPECT_NE(explained.find("\"usedDisk\" : true"), std::string::npos) << explained;
    }
    FindRequest request;
    request.sort = doc(R"({"a": -1})");
    request.spill = &space;
    request.allowDiskUse = false;
    const Status refused = c.find(std::move(request)).status();
    EXPECT_EQ(refused.reason(), Reason::kMemoryLimitNoDiskUse);
    EXPECT_EQ(refused.text(),
              "Sort exceeded memory limit of 5000 bytes, but did not opt in to external sorting.");
}

TEST(Find, WithoutACollectionIsEmptyButChecked) {
    TestCollection c;
    FindRequest good;
    good.sort = doc(R"({"a": 1})");
    auto cursor = makeFind(c.engine(), nullptr, std::move(good));
    ASSERT_TRUE(cursor.isOk());
    auto found = drained(**cursor);
    ASSERT_TRUE(found.isOk());
    EXPECT_TRUE(found->empty());
    FindRequest bad;
    bad.filter = doc(R"({"a": {"$nope": 1}})");
    EXPECT_EQ(makeFind(c.engine(), nullptr, std::move(bad)).status().reason(), Reason::kBadValue);
}

TEST(Find, GoesOnWhereItStoppedWhateverHappenedBetween) {
    TestCollection c;
    c.addIndex(R"({"a": 1})");
    c.insertNumbers(10);
    for (const char* hint : {R"({"$natural": 1})", R"({"a": 1})"}) {
        FindRequest request;
        request.hint = doc(hint);
        auto cursor = cursorOver(c, std::move(request));
        Documents seen;
        cursor->attach();
        ASSERT_TRUE(nextBatch(*cursor, 4, &seen).isOk());
        cursor->detach();
        ASSERT_EQ(seen.size(), 4u);
        ASSERT_TRUE(c.remove(R"({"a": {"$in": [3, 4]}})").isOk());  // its position, and the next
        cursor->attach();
        ASSERT_TRUE(nextBatch(*cursor, 100, &seen).isOk());
        cursor->detach();
        EXPECT_TRUE(cursor->isExhausted());
        EXPECT_EQ(seen.size(), 9u);
        ASSERT_TRUE(c.insert(R"({"_id": 3, "a": 3})").isOk());
        ASSERT_TRUE(c.insert(R"({"_id": 4, "a": 4})").isOk());
        ASSERT_TRUE(c.remove("{}").isOk());
        c.insertNumbers(10);
    }
}

TEST(Find, ReadsOneSnapshotWhileAttached) {
    TestCollection c;
    c.insertNumbers(5);
    auto cursor = cursorOver(c, {});
    Documents seen;
    cursor->attach();
    ASSERT_TRUE(nextBatch(*cursor, 2, &seen).isOk());
    ASSERT_TRUE(c.remove("{}").isOk());
    ASSERT_TRUE(nextBatch(*cursor, 10, &seen).isOk());
    EXPECT_EQ(seen.size(), 5u);
    cursor->detach();
}

TEST(Find, LetsOthersRun) {
    TestCollection c;
    c.insertNumbers(2 * kDocumentsPerTurn);
    FindRequest request;
    request.filter = doc(R"({"a": -1})");
    auto cursor = cursorOver(c, std::move(request));
    cursor->attach();
    Batch batch(10, 1'000);
    ASSERT_TRUE(cursor->next(&batch).isWouldBlock());
    EXPECT_TRUE(cursor->token().isDone());
    cursor->detach();
}

TEST(Find, ByOneIdGivesTheDocumentOnceOrNothing) {
    TestCollection c;
    c.insertNumbers(5);
    ASSERT_TRUE(c.insert(R"({"_id": "3", "a": "text"})").isOk());
    auto found = [&](std::string_view filter, int64_t limit) {
        FindRequest request;
        request.filter = doc(filter);
        request.limit = limit;
        auto cursor = cursorOver(c, std::move(request));
        auto documents = drained(*cursor, 1);
        EXPECT_TRUE(documents.isOk()) << documents.status().toString();
        const bool isThere = !documents->empty();
        EXPECT_EQ(cursor->work().docsExamined, isThere ? 1 : 0);
        EXPECT_EQ(cursor->work().plan.kind, "IDHACK");
        const std::string plan = bson::toShellText(cursor->describeExecution(0).view());
        EXPECT_EQ(plan.find("LIMIT") != std::string::npos, limit != 0) << plan;
        return asText(*documents);
    };
    EXPECT_EQ(found(R"({"_id": 3})", 0), Texts{"{ _id: 3, a: 3 }"});
    EXPECT_EQ(found(R"({"_id": 3.0})", 1), Texts{"{ _id: 3, a: 3 }"});  // numbers of any type
    EXPECT_EQ(found(R"({"_id": "3"})", 1), Texts{"{ _id: \"3\", a: \"text\" }"});
    EXPECT_EQ(found(R"({"_id": 7})", 0), Texts{});
    EXPECT_EQ(found(R"({"_id": true})", 0), Texts{});
}

TEST(Find, ByOneIdKeepsToTheBatchAndToTheCollection) {
    TestCollection c;
    c.insertNumbers(2);
    FindRequest request;
    request.filter = doc(R"({"_id": 1})");
    auto cursor = cursorOver(c, request);
    cursor->attach();
    Batch none(0, 1'000);
    ASSERT_TRUE(cursor->next(&none).isOk());
    EXPECT_FALSE(cursor->isExhausted());
    cursor->detach();
    auto rest = drained(*cursor);
    ASSERT_TRUE(rest.isOk());
    EXPECT_EQ(asText(*rest), Texts{"{ _id: 1, a: 1 }"});

    auto late = cursorOver(c, request);
    c.change(c.catalog().dropCollection("db", "c"));
    EXPECT_EQ(drained(*late).status().reason(), Reason::kQueryPlanKilled);
}

TEST(Find, EndsWhenWhatItReadsIsDropped) {
    TestCollection c;
    c.addIndex(R"({"a": 1})");
    c.insertNumbers(10);
    FindRequest byIndex;
    byIndex.hint = doc(R"({"a": 1})");
    auto overIndex = cursorOver(c, std::move(byIndex));
    auto overAll = cursorOver(c, {});
    Documents seen;
    for (auto* cursor : {overIndex.get(), overAll.get()}) {
        cursor->attach();
        ASSERT_TRUE(nextBatch(*cursor, 2, &seen).isOk());
        cursor->detach();
    }
    c.dropIndex("a_1");
    overIndex->attach();
    EXPECT_EQ(nextBatch(*overIndex, 2, &seen).reason(), Reason::kQueryPlanKilled);
    overIndex->detach();
    overAll->attach();
    EXPECT_TRUE(nextBatch(*overAll, 2, &seen).isOk());
    overAll->detach();
    c.change(c.catalog().dropCollection("db", "c"));
    overAll->attach();
    EXPECT_EQ(nextBatch(*overAll, 2, &seen).reason(), Reason::kQueryPlanKilled);
    overAll->detach();
}

/// The plan is made before the index meets its first array, the snapshot is taken afterwards.
TEST(Find, SeesArraysThatCameBetweenPlanAndSnapshot) {
    TestCollection c;
    c.addIndex(R"({"a": 1})");
    FindRequest request;
    request.filter = doc(R"({"a": {"$gt": 5, "$lt": 10}})");
    auto cursor = cursorOver(c, std::move(request));
    ASSERT_TRUE(c.insert(R"({"_id": 1, "a": [1, 20]})").isOk());
    auto found = drained(*cursor);
    ASSERT_TRUE(found.isOk());
    EXPECT_EQ(found->size(), 1u);
}

TEST(Batch, KeepsItsBoundsAndTheFirstAlwaysFits) {
    bson::OwnedDocument document = doc(R"({"a": 1})");
    Batch byBytes(100, 30);
    EXPECT_TRUE(byBytes.add(document.view()));
    EXPECT_TRUE(byBytes.add(document.view()) == false);
    EXPECT_TRUE(byBytes.isFull());
    Batch byCount(2, 1'000);
    EXPECT_TRUE(byCount.add(document.view()));
    EXPECT_TRUE(byCount.add(document.view()));
    EXPECT_FALSE(byCount.add(document.view()));
    std::string array = byCount.finishArray();
    ASSERT_TRUE(bson::Document::parse(array).isOk());
    EXPECT_EQ(bson::Document(array).fieldCount(), 2);
    Batch tiny(100, 1);
    EXPECT_TRUE(tiny.add(document.view()));
    EXPECT_FALSE(tiny.isFull());
}

TEST(Batch, ADocumentThatDoesNotFitComesNext) {
    TestCollection c;
    c.insertNumbers(7);
    auto cursor = cursorOver(c, {});
    size_t total = 0;
    for (int round = 0; round < 20 && !cursor->isExhausted(); ++round) {
        cursor->attach();
        Batch batch(100, 60);  // two documents and a bit
        Status status = cursor->next(&batch);
        while (status.isWouldBlock()) {
            sync::blockOn(cursor->token());
            status = cursor->next(&batch);
        }
        ASSERT_TRUE(status.isOk()) << status.toString();
        EXPECT_LE(batch.count(), 2u);
        total += batch.count();
        cursor->detach();
    }
    EXPECT_EQ(total, 7u);
}

TEST(Count, CountsWhatMatches) {
    TestCollection c;
    c.insertNumbers(300);
    auto count = [&](std::string_view filter, int64_t skip = 0, int64_t limit = 0) {
        FindRequest request;
        request.filter = doc(filter);
        request.skip = skip;
        request.limit = limit;
        auto op = CountOp::make(c.engine(), c.get(), std::move(request));
        EXPECT_TRUE(op.isOk());
        EXPECT_TRUE(driven(**op).isOk());
        return (*op)->count();
    };
    EXPECT_EQ(count("{}"), 300);
    EXPECT_EQ(count(R"({"a": {"$lt": 5}})"), 5);
    EXPECT_EQ(count("{}", 10), 290);
    EXPECT_EQ(count("{}", 10, 20), 20);
    EXPECT_EQ(count("{}", 290, 20), 10);
}

/// Enough documents for many leaves, so that whole pages are skipped.
class Counting : public ::testing::Test {
protected:
    static constexpr int kAll = 4'000;
    Counting() {
        c.addIndex(R"({"a": 1})");
        c.insertNumbers(kAll);
        EXPECT_TRUE(c.engine().checkpointNow().isOk());
        bson::OwnedDocument later = doc(R"({"_id": -1, "a": 1000})");  // after its page's image
        EXPECT_TRUE(c.insert(later.view()).isOk());
    }
    /// Like a driver's countDocuments().
    Texts piped(std::string_view filter, int skip, int limit) {
        bson::Builder builder;
        {
            bson::Builder stages = builder.array("p");
            stages.push(wrapped("$match", doc(filter)).view());
            stages.push(doc("{\"$skip\": " + std::to_string(skip) + "}").view());
            if (limit > 0) {
                stages.push(doc("{\"$limit\": " + std::to_string(limit) + "}").view());
            }
            stages.push(doc(R"({"$group": {"_id": 1, "n": {"$sum": 1}}})").view());
        }
        const bson::OwnedDocument holder(builder.finish());
        AggregateRequest request;
        request.collection = c.get();
        request.pipeline = bson::OwnedDocument(holder.view().find("p").document());
        auto cursor = makeAggregate(c.engine(), std::move(request));
        EXPECT_TRUE(cursor.isOk()) << cursor.status().toString();
        auto found = drained(**cursor, 3);
        EXPECT_TRUE(found.isOk()) << found.status().toString();
        return asText(*found);
    }
    FindRequest asked(std::string_view filter, int skip, int limit) {
        FindRequest request;
        request.filter = doc(filter);
        request.skip = skip;
        request.limit = limit;
        return request;
    }
    int64_t counted(std::string_view filter, int skip, int limit) {
        auto op = CountOp::make(c.engine(), c.get(), asked(filter, skip, limit));
        EXPECT_TRUE(op.isOk());
        EXPECT_TRUE(driven(**op).isOk());
        return (*op)->count();
    }
    int64_t found(std::string_view filter, int skip, int limit) {
        auto cursor = makeFind(c.engine(), c.get(), asked(filter, skip, limit));
        EXPECT_TRUE(cursor.isOk());
        auto documents = drained(**cursor, 500);
        EXPECT_TRUE(documents.isOk());
        return static_cast<int64_t>(documents->size());
    }
    static bson::OwnedDocument wrapped(const char* name, const bson::OwnedDocument& inner) {
        bson::Builder builder;
        builder.add(name, inner.view());
        return bson::OwnedDocument(builder.finish());
    }

    TestCollection c;
};

TEST_F(Counting, AgreesWithWhatFindGives) {
    for (const char* filter : {"{}",
                               R"({"a": {"$gte": 700, "$lt": 3100}})",
                               R"({"a": 1000})",
                               R"({"a": {"$in": [5, 1000, 2222, 9999]}})",
                               R"({"a": {"$gte": 700}, "_id": {"$lt": 900}})",
                               R"({"a": {"$gt": 5000}})"}) {
        for (const auto& [skip, limit] : std::vector<std::pair<int, int>>{
                 {0, 0}, {1, 0}, {300, 1500}, {1999, 0}, {2400, 7}, {9000, 0}, {0, 1}}) {
            const int64_t expected = found(filter, skip, limit);
            EXPECT_EQ(counted(filter, skip, limit), expected) << filter << skip << limit;
            const Texts number{"{ _id: 1, n: " + std::to_string(expected) + " }"};
            EXPECT_EQ(piped(filter, skip, limit), expected == 0 ? Texts{} : number) << filter;
        }
    }
    EXPECT_EQ(counted("{}", 0, 0), kAll + 1);
}

TEST_F(Counting, SkippedDocumentsComeInOrderFromBothWays) {
    for (const char* filter : {"{}", R"({"a": {"$gte": 0}})"}) {
        for (const int skip : {1, 999, 1'003, kAll}) {
            auto cursor = makeFind(c.engine(), c.get(), asked(filter, skip, 1));
            ASSERT_TRUE(cursor.isOk());
            auto documents = drained(**cursor);
            ASSERT_TRUE(documents.isOk());
            ASSERT_EQ(documents->size(), 1u) << filter << skip;
            // The late document is last in record order; in the index it follows {a: 1000}.
            const bool isByIndex = std::string_view(filter) != "{}";
            const int expected = isByIndex ? skip - (skip > 1'001) : skip == kAll ? 1'000 : skip;
            EXPECT_EQ((*documents)[0].view().find("a").toInt64(), expected) << filter << skip;
        }
    }
}

TEST_F(Counting, AMultikeyIndexCountsDocumentsAndNotEntries) {
    ASSERT_TRUE(c.insert(R"({"_id": -2, "a": [1, 2, 3, 4, 5000]})").isOk());
    EXPECT_EQ(counted(R"({"a": {"$gte": 0}})", 0, 0), kAll + 2);
    EXPECT_EQ(piped(R"({"a": {"$gte": 0}})", 0, 0),
              Texts{"{ _id: 1, n: " + std::to_string(kAll + 2) + " }"});
}

TEST(Aggregate, RunsStagesBehindTheScan) {
    TestCollection c;
    c.addIndex(R"({"a": 1})");
    c.insertNumbers(20);
    auto run = [&](std::string_view json, catalog::CollectionRef collection) {
        bson::OwnedDocument holder = doc(json);
        AggregateRequest request;
        request.collection = std::move(collection);
        request.pipeline = bson::OwnedDocument(holder.view().find("p").document());
        auto cursor = makeAggregate(c.engine(), std::move(request));
        EXPECT_TRUE(cursor.isOk()) << cursor.status().toString();
        auto found = drained(**cursor, 3);
        EXPECT_TRUE(found.isOk()) << found.status().toString();
        return asText(*found);
    };
    EXPECT_EQ(
        run(R"({"p": [{"$match": {"a": {"$gte": 10}}}, {"$sort": {"a": -1}}, {"$limit": 2}]})",
            c.get()),
        (Texts{"{ _id: 19, a: 19 }", "{ _id: 18, a: 18 }"}));
    EXPECT_EQ(run(R"({"p": [{"$match": {"a": {"$lt": 7}}},
                            {"$group": {"_id": null, "n": {"$sum": "$a"}}}]})",
                  c.get()),
              Texts{"{ _id: null, n: 21 }"});
    EXPECT_EQ(run(R"({"p": [{"$skip": 3}, {"$limit": 4}, {"$count": "n"}]})", c.get()),
              Texts{"{ n: 4 }"});
    EXPECT_EQ(run(R"({"p": [{"$group": {"_id": null, "n": {"$sum": 1}}}]})", nullptr), Texts{});
}

}  // namespace
}  // namespace freshet::query
