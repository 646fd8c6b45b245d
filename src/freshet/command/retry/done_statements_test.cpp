// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/retry/done_statements.h"

#include "freshet/bson/json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace freshet::command {
namespace {

/// {id: ""}: any document will do.
std::string session() {
    bson::Builder name;
    name.add("id", "s");
    return name.finish();
}

query::WriteResult oneChanged() {
    query::WriteResult result;
    result.matched = result.modified = 1;
    return result;
}

query::WriteResult upserted(int32_t id) {
    query::WriteResult result;
    result.upserted = true;
    bson::Builder document;
    document.add("_id", id);
    result.upsertedId = bson::OwnedDocument(document.finish());
    return result;
}

TEST(DoneStatements, AreRangesInWhateverOrderTheyAreDone) {
    std::vector<int32_t> numbers(200);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::mt19937 random(7);
    std::shuffle(numbers.begin(), numbers.end(), random);
    DoneStatements done(session());
    done.startNumber(5);
    for (size_t i = 0; i < numbers.size(); ++i) {
        ASSERT_FALSE(done.has(numbers[i]));
        done.add(numbers[i], oneChanged());
        for (size_t j = 0; j < numbers.size(); ++j) {
            ASSERT_EQ(done.has(numbers[j]), j <= i);
        }
    }
    const std::vector<bson::OwnedDocument> written = done.write(61'000);
    ASSERT_EQ(written.size(), 1u);
    EXPECT_EQ(bson::toJson(written[0].view()),
              bson::toJson(bson::fromJson(R"({"_id": {"id": "s"}, "txnNum": {"$numberLong": "5"},
                  "lastWriteDate": {"$date": {"$numberLong": "60000"}}, "results": [],
                  "done": [0, 199], "parts": 0})")
                               ->view()));
}

TEST(DoneStatements, WhatWasWrittenIsReadBack) {
    DoneStatements done(session());
    done.startNumber(1);
    done.add(3, oneChanged());
    query::WriteResult given = oneChanged();
    given.value = *bson::fromJson(R"({"_id": 1, "x": "y"})");
    done.add(9, given);
    done.add(10, upserted(77));
    const std::vector<bson::OwnedDocument> written = done.write(0);
    ASSERT_EQ(written.size(), 1u);

    DoneStatements again(session());
    again.read(written[0].view());
    StatementResults results;
    readResults(written[0].view(), &results);
    EXPECT_EQ(again.txnNumber(), 1);
    EXPECT_TRUE(again.has(3) && again.has(9) && again.has(10));
    EXPECT_FALSE(again.has(4));
    EXPECT_EQ(results.size(), 2u);
    EXPECT_EQ(bson::toJson(results[9].value->view()), bson::toJson(given.value->view()));
    EXPECT_TRUE(results[10].upserted);
    EXPECT_EQ(results[10].upsertedId.view().find("_id").toInt64(), 77);
    EXPECT_EQ(again.write(0)[0].bytes(), written[0].bytes());
}

TEST(DoneStatements, ManyResultsMoveToPartsAndNoneIsLost) {
    constexpr int32_t kStatements = 1000;
    DoneStatements done(session());
    done.startNumber(1);
    std::unordered_map<std::string, bson::OwnedDocument> stored;  // by _id
    size_t most = 0;
    for (int32_t i = 0; i < kStatements; ++i) {
        done.add(i, upserted(i));
        for (const bson::OwnedDocument& document : done.write(0)) {
            most = std::max(most, document.bytes().size());
            stored[std::string(document.view().find("_id").value())] = document;
        }
    }
    EXPECT_LT(most, 3 * DoneStatements::kResultBytesMax);
    EXPECT_GT(done.parts(), 3);
    EXPECT_EQ(stored.size(), static_cast<size_t>(done.parts()) + 1);
    StatementResults results;
    for (const auto& [id, document] : stored) {
        readResults(document.view(), &results);
    }
    ASSERT_EQ(results.size(), size_t{kStatements});
    for (int32_t i = 0; i < kStatements; ++i) {
        EXPECT_EQ(results[i].upsertedId.view().find("_id").toInt64(), i);
    }
    // The next number writes over them.
    const bson::OwnedDocument first = done.partId(0);
    done.startNumber(2);
    EXPECT_EQ(done.partId(0).bytes(), first.bytes());
    EXPECT_FALSE(done.has(0));
}

TEST(DoneStatements, WhatSomebodyElseWroteThereDoesNotCount) {
    for (const char* text : {R"({})",
                             R"({"txnNum": "1"})",
                             R"({"txnNum": {"$numberLong": "3"}, "done": 5, "results": "x"})",
                             R"({"txnNum": {"$numberLong": "3"}, "done": [1], "results": [1, {}]})",
                             R"({"txnNum": {"$numberLong": "3"}, "results": [{"stmtId": "a"}]})"}) {
        const bson::OwnedDocument stored = *bson::fromJson(text);
        DoneStatements done(session());
        done.read(stored.view());
        StatementResults results;
        readResults(stored.view(), &results);
        EXPECT_FALSE(done.has(1)) << text;
        EXPECT_TRUE(results.empty()) << text;
    }
}

}  // namespace
}  // namespace freshet::command
