// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/retry/done_statements.h"

#include "freshet/bson/json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
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

/// Everything that is stored for a session, by _id, after the writes.
struct Stored {
    std::map<std::string, bson::OwnedDocument> documents;
    size_t most = 0;  // bytes of the largest

    void write(DoneStatements* done) {
        for (const bson::OwnedDocument& document : done->write(61'000)) {
            most = std::max(most, document.bytes().size());
            documents[std::string(document.view().find("_id").value())] = document;
        }
    }
    EarlierStatements read() const {
        EarlierStatements earlier;
        for (const auto& [id, document] : documents) {
            earlier.read(document.view());
        }
        return earlier;
    }
};

TEST(DoneStatements, AreRangesInWhateverOrderTheyAreDone) {
    std::vector<int32_t> numbers(100);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::mt19937 random(7);
    std::shuffle(numbers.begin(), numbers.end(), random);
    DoneStatements done(session());
    done.startNumber(5);
    Stored stored;
    for (size_t i = 0; i < numbers.size(); ++i) {
        ASSERT_FALSE(stored.read().find(numbers[i]).has_value());
        done.add(numbers[i], oneChanged());
        stored.write(&done);
        const EarlierStatements earlier = stored.read();
        for (size_t j = 0; j < numbers.size(); ++j) {
            ASSERT_EQ(earlier.find(numbers[j]).has_value(), j <= i);
        }
    }
    ASSERT_EQ(stored.documents.size(), 1u);
    EXPECT_EQ(bson::toJson(stored.documents.begin()->second.view()),
              bson::toJson(bson::fromJson(R"({"_id": {"id": "s"}, "txnNum": {"$numberLong": "5"},
                  "lastWriteDate": {"$date": {"$numberLong": "60000"}}, "done": [0, 99],
                  "results": [], "parts": 0})")
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

    EarlierStatements earlier;
    earlier.read(written[0].view());
    EXPECT_EQ(earlier.find(3)->matched, 1);
    EXPECT_FALSE(earlier.find(4).has_value());
    EXPECT_EQ(bson::toJson(earlier.find(9)->value->view()), bson::toJson(given.value->view()));
    EXPECT_TRUE(earlier.find(10)->upserted);
    EXPECT_EQ(earlier.find(10)->upsertedId.view().find("_id").toInt64(), 77);
    DoneStatements again(session());
    again.read(written[0].view());
    EXPECT_EQ(again.txnNumber(), 1);
    EXPECT_EQ(again.write(0)[0].bytes(), written[0].bytes());
}

TEST(DoneStatements, MuchToTellMovesToPartsAndNothingIsLost) {
    constexpr int32_t kStatements = 1000;
    DoneStatements done(session());
    done.startNumber(1);
    Stored stored;
    for (int32_t i = 0; i < kStatements; ++i) {
        done.add(i, upserted(i));
        stored.write(&done);
    }
    for (int32_t i = 0; i < kStatements; ++i) {
        done.add(kStatements + 1 + 2 * i, oneChanged());  // of an unordered batch, every other one
        stored.write(&done);
    }
    EXPECT_LT(stored.most, 3 * DoneStatements::kResultBytesMax);
    EXPECT_GT(done.parts(), 10);
    EXPECT_EQ(stored.documents.size(), static_cast<size_t>(done.parts()) + 1);
    const EarlierStatements earlier = stored.read();
    for (int32_t i = 0; i < kStatements; ++i) {
        EXPECT_EQ(earlier.find(i)->upsertedId.view().find("_id").toInt64(), i);
        EXPECT_FALSE(earlier.find(kStatements + 2 * i).has_value());
        EXPECT_EQ(earlier.find(kStatements + 1 + 2 * i)->modified, 1);
    }
    // The next number overwrites them.
    const bson::OwnedDocument first = done.partId(0);
    done.startNumber(2);
    EXPECT_EQ(done.parts(), 0);
    EXPECT_EQ(done.partId(0).bytes(), first.bytes());
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
        EarlierStatements earlier;
        earlier.read(stored.view());
        EXPECT_FALSE(earlier.find(1).has_value()) << text;
        EXPECT_TRUE(earlier.results.empty()) << text;
    }
}

}  // namespace
}  // namespace freshet::command
