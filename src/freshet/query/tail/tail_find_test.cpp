// SPDX-License-Identifier: Apache-2.0
/// find over a source whose documents are still coming.
#include "freshet/query/exec/test_support.h"
#include "freshet/query/tail_for_test.h"

namespace freshet::query {
namespace {

class TailFindTest : public ::testing::Test {
protected:
    using Texts = std::vector<std::string>;
    StatusOr<std::unique_ptr<QueryCursor>> make(FindRequest request,
                                                bool endsWhenDry = false,
                                                bool pauses = false) {
        return makeTailFind(collection_.engine(),
                            std::move(request),
                            std::make_unique<TailForTest>(list_, 0, pauses),
                            endsWhenDry);
    }
    static FindRequest request(std::string_view filter, std::string_view projection = "{}") {
        FindRequest made;
        made.filter = doc(filter);
        made.projection = doc(projection);
        return made;
    }
    void pushNumbers(int from, int count) {
        for (int i = from; i < from + count; ++i) {
            list_->push(doc(R"({"n": )" + std::to_string(i) + "}").view());
        }
    }
    static Texts read(QueryCursor& cursor, size_t most = 1'000) {
        Batch batch(most, 16u << 20);
        cursor.attach();
        Status status = cursor.next(&batch);
        while (status.isWouldBlock() && !cursor.awaitsData()) {
            sync::blockOn(cursor.token());
            status = cursor.next(&batch);
        }
        cursor.detach();
        EXPECT_TRUE(status.isOk() || status.isWouldBlock()) << status.toString();
        const std::string bytes = batch.finishArray();
        Texts found;
        for (const bson::Element& element : bson::Document(bytes)) {
            found.push_back(bson::toShellText(element.document()));
        }
        return found;
    }

    TestCollection collection_;
    std::shared_ptr<ListForTest> list_ = std::make_shared<ListForTest>();
};

TEST_F(TailFindTest, FollowsItsSource) {
    auto cursor = make(request(R"({"n": {"$gte": 2}})", R"({"_id": 0})"));
    ASSERT_TRUE(cursor.isOk()) << cursor.status().toString();
    EXPECT_EQ(Texts(), read(**cursor));
    EXPECT_TRUE((*cursor)->awaitsData());
    pushNumbers(0, 4);
    EXPECT_TRUE((*cursor)->token().isDone());
    EXPECT_EQ(Texts({"{ n: 2 }"}), read(**cursor, 1));
    EXPECT_EQ(Texts({"{ n: 3 }"}), read(**cursor));
    EXPECT_TRUE((*cursor)->awaitsData());
    EXPECT_FALSE((*cursor)->isExhausted());
    EXPECT_EQ(4, (*cursor)->work().docsExamined);
    list_->end();
    EXPECT_EQ(Texts(), read(**cursor));
    EXPECT_TRUE((*cursor)->isExhausted());
}

TEST_F(TailFindTest, EndsWhenDryIfTold) {
    for (const bool pauses : {false, true}) {
        pushNumbers(0, 300);
        auto cursor = make(request(R"({"n": 299})"), true, pauses);
        ASSERT_TRUE(cursor.isOk());
        EXPECT_FALSE(read(**cursor).empty());
        EXPECT_TRUE((*cursor)->isExhausted());
        EXPECT_FALSE((*cursor)->awaitsData());
    }
}

TEST_F(TailFindTest, SkipsAndLimits) {
    pushNumbers(0, 10);
    FindRequest some = request(R"({"n": {"$gt": 2}})", R"({"_id": 0})");
    some.skip = 1;
    some.limit = 2;
    some.sort = doc(R"({"$natural": 1})");
    auto cursor = make(std::move(some));
    ASSERT_TRUE(cursor.isOk()) << cursor.status().toString();
    EXPECT_EQ(Texts({"{ n: 4 }", "{ n: 5 }"}), read(**cursor));
    EXPECT_TRUE((*cursor)->isExhausted());
}

TEST_F(TailFindTest, HoldsBackWhatDoesNotFit) {
    for (int i = 0; i < 2; ++i) {
        bson::Builder fields;
        fields.add("x", std::string(9u << 20, 'x'));
        list_->push(bson::OwnedDocument(fields.finish()).view());
    }
    auto cursor = make(request("{}"), true);
    ASSERT_TRUE(cursor.isOk());
    EXPECT_EQ(1u, read(**cursor).size());
    EXPECT_FALSE((*cursor)->isExhausted());
    EXPECT_GT((*cursor)->heldBytes(), 9u << 20);
    EXPECT_EQ(1u, read(**cursor).size());
    EXPECT_TRUE((*cursor)->isExhausted() || read(**cursor).empty());
}

TEST_F(TailFindTest, RefusesOtherOrders) {
    FindRequest sorted;
    sorted.sort = doc(R"({"n": 1})");
    const Status tail = make(std::move(sorted)).status();
    EXPECT_EQ(Reason::kBadValue, tail.reason());
    EXPECT_EQ("cannot use tailable option with a sort other than {$natural: 1}", tail.text());
    FindRequest backwards;
    backwards.hint = doc(R"({"$natural": -1})");
    EXPECT_EQ(Code::kUnsupported, make(std::move(backwards), true).status().code());
    FindRequest ids;
    ids.showsRecordId = true;
    EXPECT_EQ(Code::kUnsupported, make(std::move(ids)).status().code());
    EXPECT_EQ(Code::kInvalid, make(request(R"({"$nope": 1})")).status().code());
}

TEST_F(TailFindTest, PassesTheSourcesErrorOn) {
    list_->fail(Status(Code::kIo, "broken"));
    auto cursor = make(request("{}"));
    ASSERT_TRUE(cursor.isOk());
    Batch batch(1, 1'000);
    EXPECT_EQ(Code::kIo, (*cursor)->next(&batch).code());
}

}  // namespace
}  // namespace freshet::query
