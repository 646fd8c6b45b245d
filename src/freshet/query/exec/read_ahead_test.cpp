// SPDX-License-Identifier: Apache-2.0
/// Reading ahead is only a hint: whatever it is given, reads find what they would find without it.
#include "freshet/query/read_ahead.h"

#include "freshet/query/exec/test_support.h"
#include "freshet/query/point_reader.h"

namespace freshet::query {
namespace {

class LookAhead : public ::testing::Test {
protected:
    LookAhead() { collection.insertNumbers(500); }
    static bson::OwnedDocument id(int i) { return doc("{\"_id\": " + std::to_string(i) + "}"); }
    bool look(int i) {
        const bson::OwnedDocument document = id(i);
        return reader.lookAhead(*document.view().begin(), &ahead);
    }
    void run() {
        sync::Slice slice(collection.engine().epochs());
        ahead.run();
    }

    TestCollection collection;
    PointReader reader{collection.engine(), collection.get()};
    ReadAhead ahead;
};

TEST_F(LookAhead, HasRoomForSoManyAndThenForAsManyAgain) {
    for (int round = 0; round < 2; ++round) {
        int taken = 0;
        while (look(taken)) {
            ASSERT_LT(++taken, 1000);
        }
        EXPECT_EQ(taken, 32);
        run();
    }
}

TEST_F(LookAhead, ReadsFindWhatTheyWouldHaveFound) {
    ASSERT_TRUE(collection.engine().checkpointNow().isOk());
    for (const int i : {3, 400, 77, 100'000, 499, 3}) {
        EXPECT_TRUE(look(i));
    }
    run();
    for (const int i : {3, 400, 77, 499}) {
        const bson::OwnedDocument document = id(i);
        std::string found;
        engine::ValueShare share;
        ASSERT_TRUE(reader.read(*document.view().begin(), &found, &share).isOk());
        EXPECT_EQ(bson::Document(found).find("_id").int32Value(), i);
    }
    std::string found;
    engine::ValueShare share;
    EXPECT_EQ(reader.read(*id(100'000).view().begin(), &found, &share).code(), Code::kNotFound);
}

TEST_F(LookAhead, ACollectionThatIsDroppedMeanwhileDoesNoHarm) {
    EXPECT_TRUE(look(1));
    EXPECT_TRUE(look(2));
    collection.change(collection.catalog().dropCollection("db", "c"));
    run();
    std::string found;
    engine::ValueShare share;
    const bson::OwnedDocument document = id(1);
    EXPECT_EQ(reader.read(*document.view().begin(), &found, &share).code(), Code::kCancelled);
}

}  // namespace
}  // namespace freshet::query
