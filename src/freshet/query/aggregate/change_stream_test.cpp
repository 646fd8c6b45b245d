// SPDX-License-Identifier: Apache-2.0
/// Pipelines over a TailSource: what follows $changeStream, and from where a client can resume.
#include "freshet/query/aggregate.h"
#include "freshet/query/exec/test_support.h"
#include "freshet/query/tail_for_test.h"

#include <functional>

namespace freshet::query {
namespace {

constexpr size_t kLargeBytes = 9u << 20;  // two such fields do not fit into one document

class ChangeStreamTest : public ::testing::Test {
protected:
    struct Options {
        int32_t skipParts = 0;
        size_t from = 0;
        bool pauses = false;
    };
    StatusOr<std::unique_ptr<QueryCursor>> make(const std::string& stages, Options options) {
        AggregateRequest request;
        request.db = "db";
        request.pipeline = pipeline(stages);
        request.tail = std::make_unique<TailForTest>(list_, options.from, options.pauses);
        request.skipParts = options.skipParts;
        return makeAggregate(collection_.engine(), std::move(request));
    }
    StatusOr<std::unique_ptr<QueryCursor>> make(const std::string& stages) {
        return make(stages, {});
    }
    static bson::OwnedDocument pipeline(const std::string& stages) {
        const bson::OwnedDocument holder =
            json(R"({"v": [{"@changeStream": {}})" + (stages.empty() ? "" : ", " + stages) + "]}");
        return bson::OwnedDocument(holder.view().find("v").document());
    }
    void push(std::string_view fields) { list_->push(json(fields).view()); }
    void pushLarge(std::vector<std::string> names, size_t bytes = kLargeBytes) {
        bson::Builder fields;
        fields.add("op", "update");
        for (const std::string& name : names) {
            fields.add(name, std::string(bytes, 'x'));
        }
        list_->push(bson::OwnedDocument(fields.finish()).view());
    }
    /// What the cursor gives now, and how its last call has ended.
    static std::vector<std::string> read(QueryCursor& cursor, Status* end, size_t most = 1'000) {
        std::vector<std::string> found;
        Batch batch(most, 16u << 20);
        *end = cursor.next(&batch);
        while (end->isWouldBlock() && !cursor.awaitsData()) {
            sync::blockOn(cursor.token());
            *end = cursor.next(&batch);
        }
        const std::string bytes = batch.finishArray();
        for (const bson::Element& element : bson::Document(bytes)) {
            found.push_back(shown(element.document()));
        }
        return found;
    }
    static std::vector<std::string> read(QueryCursor& cursor, size_t most = 1'000) {
        Status end;
        std::vector<std::string> found = read(cursor, &end, most);
        EXPECT_TRUE(end.isOk() || end.isWouldBlock()) << end.toString();
        return found;
    }
    /// Long strings as their length.
    static std::string shown(bson::Document document) {
        bson::Builder builder;
        for (const bson::Element& field : document) {
            if (field.isString() && field.stringValue().size() > 100) {
                builder.add(field.name(), static_cast<int64_t>(field.stringValue().size()));
            } else {
                builder.add(field);
            }
        }
        return bson::toShellText(bson::Document(builder.finish()));
    }
    static std::string token(const QueryCursor& cursor) {
        return bson::toShellText(cursor.resumeToken().view());
    }
    Status errorOf(const std::string& stages) { return make(stages).status(); }
    /// The error of reading on.
    Status failure(const std::string& stages) { return failure(stages, {}); }
    Status failure(const std::string& stages, Options options) {
        auto cursor = make(stages, options);
        EXPECT_TRUE(cursor.isOk()) << cursor.status().toString();
        Status end;
        read(**cursor, &end);
        EXPECT_FALSE((*cursor)->awaitsData());
        return end;
    }

    using Texts = std::vector<std::string>;
    TestCollection collection_;
    std::shared_ptr<ListForTest> list_ = std::make_shared<ListForTest>();
};

TEST_F(ChangeStreamTest, GivesWhatComes) {
    auto cursor = make("");
    ASSERT_TRUE(cursor.isOk()) << cursor.status().toString();
    (*cursor)->attach();
    EXPECT_EQ(Texts(), read(**cursor));
    EXPECT_TRUE((*cursor)->awaitsData());
    EXPECT_FALSE((*cursor)->token().isDone());
    (*cursor)->detach();
    push(R"({"a": 1})");
    EXPECT_TRUE((*cursor)->token().isDone());
    push(R"({"a": 2})");
    (*cursor)->attach();
    EXPECT_EQ(Texts({R"({ _id: { _data: "1" }, a: 1 })", R"({ _id: { _data: "2" }, a: 2 })"}),
              read(**cursor));
    EXPECT_FALSE((*cursor)->isExhausted());
}

TEST_F(ChangeStreamTest, HoldsNoSnapshot) {
    auto cursor = make("");
    ASSERT_TRUE(cursor.isOk());
    (*cursor)->attach();
    const uint64_t before = collection_.engine().epochs().minReadTs();
    collection_.insertNumbers(1);
    EXPECT_GT(collection_.engine().epochs().minReadTs(), before);
}

TEST_F(ChangeStreamTest, EndsWithItsSource) {
    push(R"({"a": 1})");
    list_->end();
    auto cursor = make("");
    ASSERT_TRUE(cursor.isOk());
    EXPECT_EQ(1u, read(**cursor).size());
    EXPECT_TRUE((*cursor)->isExhausted());
    EXPECT_FALSE((*cursor)->awaitsData());
}

TEST_F(ChangeStreamTest, PassesTheSourcesErrorOn) {
    list_->fail(invalid(Reason::kChangeStreamHistoryLost, "gone"));
    const Status lost = failure("");
    EXPECT_EQ(Reason::kChangeStreamHistoryLost, lost.reason());
    EXPECT_EQ("gone", lost.text());
}

TEST_F(ChangeStreamTest, StagesTransformEvents) {
    for (int i = 0; i < 300; ++i) {  // more than one turn
        push(R"({"op": "insert", "n": )" + std::to_string(i) + "}");
    }
    const std::string stages = R"({"@match": {"n": {"@gte": 298}}}, {"@set": {"m": "$n"}},
        {"@addFields": {"k": 1}}, {"@unset": "op"}, {"@project": {"k": 0}},
        {"@replaceRoot": {"newRoot": {"@mergeObjects": ["$$ROOT", {"r": 1}]}}},
        {"@replaceWith": "$$ROOT"}, {"@redact": {"@cond": [{"@eq": ["$n", 299]}, "$$PRUNE",
        "$$KEEP"]}})";
    for (const bool pauses : {false, true}) {
        auto cursor = make(stages, {.pauses = pauses});
        ASSERT_TRUE(cursor.isOk()) << cursor.status().toString();
        EXPECT_EQ(Texts({R"({ _id: { _data: "299" }, n: 298, m: 298, r: 1 })"}), read(**cursor));
        EXPECT_TRUE((*cursor)->awaitsData());
        EXPECT_EQ(R"({ _data: "300" })", token(**cursor));
    }
}

TEST_F(ChangeStreamTest, PermitsFewStages) {
    for (const char* stage : {R"({"@group": {"_id": 1}})",
                              R"({"@sort": {"a": 1}})",
                              R"({"@limit": 1})",
                              R"({"@lookup": {"from": "c", "as": "x", "pipeline": []}})",
                              R"({"@unwind": "$a"})",
                              R"({"@out": "x"})",
                              R"({"@merge": "x"})",
                              R"({"@facet": {"a": []}})"}) {
        const Status refused = errorOf(R"({"@match": {}}, )" + std::string(stage));
        EXPECT_EQ(Reason::kIllegalOperation, refused.reason()) << stage;
        EXPECT_NE(std::string::npos,
                  refused.text().find(" is not permitted in a $changeStream pipeline"))
            << refused.text();
    }
    EXPECT_EQ("$group is not permitted in a $changeStream pipeline",
              errorOf(R"({"@group": {"_id": 1}})").text());
    EXPECT_EQ(location(40602), errorOf(R"({"@changeStream": {}})").reason());
    EXPECT_EQ(Reason::kIllegalOperation,
              checkChangeStream(pipeline(R"({"@out": "x"})").view()).reason());
    EXPECT_TRUE(isChangeStream(pipeline("").view()));
    EXPECT_FALSE(isChangeStream(json(R"({"0": {"@match": {}}})").view()));
    EXPECT_FALSE(isChangeStream(json(R"({"0": {}})").view()));
    EXPECT_FALSE(isChangeStream(json(R"({"0": 1})").view()));
    EXPECT_FALSE(isChangeStream(bson::Document()));
}

TEST_F(ChangeStreamTest, IsForTheOuterPipelineOnly) {
    AggregateRequest request;
    request.db = "db";
    const bson::OwnedDocument holder =
        json(R"({"v": [{"@unionWith": {"coll": "c", "pipeline": [{"@changeStream": {}}]}}]})");
    request.pipeline = bson::OwnedDocument(holder.view().find("v").document());
    EXPECT_EQ(location(51047),
              makeAggregate(collection_.engine(), std::move(request)).status().reason());
}

TEST_F(ChangeStreamTest, KeepsTheResumeToken) {
    push(R"({"a": 1})");
    const Status removed = failure(R"({"@project": {"_id": 0}})");
    EXPECT_EQ(Reason::kChangeStreamFatalError, removed.reason());
    EXPECT_EQ(
        "Encountered an event whose _id field, which contains the resume token, was modified by "
        "the pipeline. Modifying the _id field of an event makes it impossible to resume the "
        "stream from that point. Only transformations that retain the unmodified _id field are "
        "allowed. Expected: { _id: { _data: \"1\" } } but found: {}",
        removed.text());
    const Status changed = failure(R"({"@set": {"_id": "x"}})");
    EXPECT_EQ(Reason::kChangeStreamFatalError, changed.reason());
    EXPECT_TRUE(changed.text().ends_with(R"( but found: { _id: "x" })")) << changed.text();
    // It may come back.
    auto cursor = make(R"({"@set": {"b": "$_id"}}, {"@unset": "_id"}, {"@set": {"_id": "$b"}},
                          {"@unset": "b"})");
    ASSERT_TRUE(cursor.isOk());
    EXPECT_EQ(Texts({R"({ a: 1, _id: { _data: "1" } })"}), read(**cursor));
}

TEST_F(ChangeStreamTest, ResumesBehindTheLastDocumentOfTheBatch) {
    auto cursor = make(R"({"@match": {"a": {"@ne": 0}}})", {.from = 0});
    ASSERT_TRUE(cursor.isOk());
    EXPECT_EQ(R"({ _data: "0" })", token(**cursor));
    for (const char* event : {R"({"a": 1})", R"({"a": 0})", R"({"a": 2})", R"({"a": 3})"}) {
        push(event);
    }
    list_->pass();
    EXPECT_EQ(2u, read(**cursor, 2).size());
    EXPECT_EQ(R"({ _data: "3" })", token(**cursor));
    EXPECT_EQ(1u, read(**cursor, 2).size());
    EXPECT_TRUE((*cursor)->awaitsData());
    EXPECT_EQ(R"({ _data: "5" })", token(**cursor));
    push(R"({"a": 0})");
    EXPECT_EQ(0u, read(**cursor, 2).size());
    EXPECT_EQ(R"({ _data: "6" })", token(**cursor));
}

TEST_F(ChangeStreamTest, ResumesBeforeADocumentThatIsHeldBack) {
    auto cursor = make("");
    ASSERT_TRUE(cursor.isOk());
    pushLarge({"a"});
    pushLarge({"b"});
    EXPECT_EQ(1u, read(**cursor).size());
    EXPECT_EQ(R"({ _data: "1" })", token(**cursor));
    EXPECT_GT((*cursor)->heldBytes(), kLargeBytes);
    EXPECT_EQ(1u, read(**cursor).size());
    EXPECT_EQ(R"({ _data: "2" })", token(**cursor));
}

TEST_F(ChangeStreamTest, RefusesEventsThatAreTooLarge) {
    pushLarge({"a", "b"});
    const Status large = failure("");
    EXPECT_EQ(Reason::kBsonObjectTooLarge, large.reason());
    EXPECT_EQ(
        "BSONObj size: 18874427 (0x120003B) is invalid. Size must be between 0 and 16793600(16MB) "
        "First element: _id: { _data: \"1\" }",
        large.text());
    auto cursor = make(R"({"@unset": "b"})");
    ASSERT_TRUE(cursor.isOk());
    EXPECT_EQ(1u, read(**cursor).size());
}

constexpr const char* kSplit = R"({"@changeStreamSplitLargeEvent": {}})";

TEST_F(ChangeStreamTest, SplitsLargeEvents) {
    push(R"({"a": 1})");
    pushLarge({"b", "a", "c"});
    push(R"({"a": 2})");
    auto cursor = make(R"({"@set": {"z": 1}}, )" + std::string(kSplit));
    ASSERT_TRUE(cursor.isOk()) << cursor.status().toString();
    // Smaller fields first, then by name; a large one beside them if it fits.
    const std::vector<Texts> parts{
        {R"({ _id: { _data: "1" }, a: 1, z: 1 })",
         R"({ _id: { _data: "2", part: 0 }, splitEvent: { fragment: 1, of: 3 }, z: 1, op: "update")"
         R"(, a: 9437184 })"},
        {R"({ _id: { _data: "2", part: 1 }, splitEvent: { fragment: 2, of: 3 }, b: 9437184 })"},
        {R"({ _id: { _data: "2", part: 2 }, splitEvent: { fragment: 3, of: 3 }, c: 9437184 })",
         R"({ _id: { _data: "3" }, a: 2, z: 1 })"}};
    EXPECT_EQ(parts[0], read(**cursor));
    EXPECT_EQ(R"({ _data: "2", part: 0 })", token(**cursor));
    EXPECT_EQ(parts[1], read(**cursor, 1));
    EXPECT_EQ(R"({ _data: "2", part: 1 })", token(**cursor));
    EXPECT_EQ(parts[2], read(**cursor));
    EXPECT_EQ(R"({ _data: "3" })", token(**cursor));
    EXPECT_TRUE((*cursor)->awaitsData());
}

TEST_F(ChangeStreamTest, ResumesWithinASplitEvent) {
    pushLarge({"a", "b"});
    push(R"({"a": 2})");
    const std::string next = R"({ _id: { _data: "2" }, a: 2 })";
    auto second = make(kSplit, {.skipParts = 1});
    ASSERT_TRUE(second.isOk());
    EXPECT_EQ(
        Texts(
            {R"({ _id: { _data: "1", part: 1 }, splitEvent: { fragment: 2, of: 2 }, b: 9437184 })",
             next}),
        read(**second));
    auto none = make(kSplit, {.skipParts = 2});
    ASSERT_TRUE(none.isOk());
    EXPECT_EQ(Texts({next}), read(**none));
}

TEST_F(ChangeStreamTest, DoesNotResumeWithinAnotherSplit) {
    pushLarge({"a", "b"});
    const auto expect = [this](const std::string& stages, int32_t skipParts, const char* text) {
        const Status status = failure(stages, {.skipParts = skipParts});
        EXPECT_EQ(Reason::kChangeStreamFatalError, status.reason());
        EXPECT_TRUE(status.text().starts_with(text)) << status.text();
    };
    expect(kSplit, 3, "Attempted to resume from a split event, but the resumed stream produced");
    expect(R"({"@unset": "a"}, )" + std::string(kSplit),
           1,
           "Attempted to resume from a split event fragment, but the event in the resumed stream "
           "was not large enough to be split");
    push(R"({"x": 1})");
    expect(R"({"@match": {"x": 1}}, )" + std::string(kSplit),
           1,
           "cannot resume stream; the resume token was not found. { _data: \"2\" }");
    const Status missing = make("", {.skipParts = 1}).status();
    EXPECT_EQ(Reason::kChangeStreamFatalError, missing.reason());
    EXPECT_EQ(
        "To resume from a split event, the $changeStream pipeline must include a "
        "$changeStreamSplitLargeEvent stage",
        missing.text());
}

TEST_F(ChangeStreamTest, ChecksWhatCannotBeSplit) {
    pushLarge({"a"}, 17u << 20);
    const Status one = failure(kSplit);
    EXPECT_EQ(location(7182500), one.reason());
    EXPECT_TRUE(one.text().starts_with("Splitting change event failed: fragment size 1782"))
        << one.text();
    const Status empty = failure(R"({"@replaceWith": {"_id": "$a"}}, )" + std::string(kSplit));
    EXPECT_EQ(location(7182502), empty.reason());
    EXPECT_EQ(Reason::kChangeStreamFatalError,
              failure(R"({"@replaceWith": {"x": 1}}, )" + std::string(kSplit)).reason());
}

TEST_F(ChangeStreamTest, TheSplitStageHasItsPlace) {
    EXPECT_EQ(location(7182802), errorOf(kSplit + std::string(R"(, {"@match": {}})")).reason());
    EXPECT_EQ(location(7182802), errorOf(kSplit + std::string(", ") + kSplit).reason());
    EXPECT_EQ(location(7182800), errorOf(R"({"@changeStreamSplitLargeEvent": 1})").reason());
    EXPECT_EQ(location(7182800), errorOf(R"({"@changeStreamSplitLargeEvent": {"a": 1}})").reason());
    AggregateRequest request;
    request.db = "db";
    const bson::OwnedDocument holder = json(R"({"v": [)" + std::string(kSplit) + "]}");
    request.pipeline = bson::OwnedDocument(holder.view().find("v").document());
    request.collection = collection_.get();
    const Status alone = makeAggregate(collection_.engine(), std::move(request)).status();
    EXPECT_EQ(Reason::kIllegalOperation, alone.reason());
    EXPECT_EQ("$changeStreamSplitLargeEvent can only be used in a $changeStream pipeline",
              alone.text());
}

}  // namespace
}  // namespace freshet::query
