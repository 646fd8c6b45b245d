// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/stream/change_document.h"

#include "freshet/command/stream/made_events_test.h"
#include "freshet/command/stream/resume_token.h"

#include <gtest/gtest.h>

namespace freshet::command {
namespace {

using catalog::EventKind;

constexpr std::string_view kUuidText =
    R"({"$binary":{"base64":"MDEyMzQ1Njc4OWFiY2RlZg==","subType":"04"}})";

class ChangeDocumentTest : public ::testing::Test {
protected:
    /// The event as JSON, without the fields that each has and without the names' quotes.
    std::string shown(const CommittedEvent& event) {
        const bson::OwnedDocument token = MadeEvents::json(R"({"_data": "00"})");
        parts_.token = token.view();
        bson::OwnedDocument before;
        if (event.event.kind == EventKind::kUpdate) {
            auto found = catalog::beforeOf(event.event, event.after);
            invariant(found.isOk());
            before = std::move(*found);
            parts_.before = before.view();
        }
        const bson::OwnedDocument document = changeDocument(event, options_, parts_);
        std::string json = bson::toJson(document.view());
        std::erase(json, ' ');
        return json;
    }

    MadeEvents made_;
    ChangeOptions options_;
    ChangeParts parts_;
};

std::string headOf(std::string_view operationType) {
    return R"({"_id":{"_data":"00"},"operationType":")" + std::string(operationType) +
           R"(","clusterTime":{"$timestamp":{"t":1000,"i":2}},)";
}
const std::string kWall = R"("wallTime":{"$date":"1970-01-12T13:46:40.123Z"},)";
const std::string kNs = R"("ns":{"db":"shop","coll":"orders"})";

TEST_F(ChangeDocumentTest, Documents) {
    EXPECT_EQ(shown(made_.insert(R"({"_id": 1, "a": 2})")),
              headOf("insert") + kWall + R"("fullDocument":{"_id":1,"a":2},)" + kNs +
                  R"(,"documentKey":{"_id":1}})");
    EXPECT_EQ(shown(made_.update(R"({"_id": 1, "a": 1})", R"({"_id": 1, "a": 2})")),
              headOf("update") + kWall + kNs +
                  R"(,"documentKey":{"_id":1},"updateDescription":{"updatedFields":{"a":2},)"
                  R"("removedFields":[],"truncatedArrays":[]}})");
    EXPECT_EQ(shown(made_.update(R"({"_id": 1, "a": 1})", R"({"_id": 1, "b": 2})", true)),
              headOf("replace") + kWall + R"("fullDocument":{"_id":1,"b":2},)" + kNs +
                  R"(,"documentKey":{"_id":1}})");
    EXPECT_EQ(shown(made_.remove(R"({"_id": "x", "a": 1})")),
              headOf("delete") + kWall + kNs + R"(,"documentKey":{"_id":"x"}})");
}

TEST_F(ChangeDocumentTest, DocumentsThatWereLookedUp) {
    const bson::OwnedDocument now = MadeEvents::json(R"({"_id": 1, "a": 9})");
    const bson::OwnedDocument before = MadeEvents::json(R"({"_id": 1, "a": 0})");
    parts_.fullDocument = {Image::Kind::kGiven, now.view()};
    parts_.fullDocumentBeforeChange = {Image::Kind::kGiven, before.view()};
    const std::string description =
        R"(,"documentKey":{"_id":1},"updateDescription":{"updatedFields":{"a":2},)"
        R"("removedFields":[],"truncatedArrays":[]})";
    CommittedEvent& update = made_.update(R"({"_id": 1, "a": 1})", R"({"_id": 1, "a": 2})");
    EXPECT_EQ(shown(update),
              headOf("update") + kWall + R"("fullDocument":{"_id":1,"a":9},)" + kNs + description +
                  R"(,"fullDocumentBeforeChange":{"_id":1,"a":0}})");
    // What an insert leaves is known, and before it there was nothing.
    EXPECT_EQ(shown(made_.insert(R"({"_id": 1, "a": 2})")),
              headOf("insert") + kWall + R"("fullDocument":{"_id":1,"a":2},)" + kNs +
                  R"(,"documentKey":{"_id":1}})");
    EXPECT_EQ(shown(made_.remove(R"({"_id": 1})")),
              headOf("delete") + kWall + kNs +
                  R"(,"documentKey":{"_id":1},"fullDocumentBeforeChange":{"_id":1,"a":0}})");
    parts_.fullDocument = {Image::Kind::kNull, {}};
    parts_.fullDocumentBeforeChange = {Image::Kind::kNull, {}};
    EXPECT_EQ(shown(update),
              headOf("update") + kWall + R"("fullDocument":null,)" + kNs + description +
                  R"(,"fullDocumentBeforeChange":null})");
}

TEST_F(ChangeDocumentTest, OfAKeptImageOnlyTheKeyIsTheKey) {
    MadeEvents keeping(R"({"changeStreamPreAndPostImages": {"enabled": true}})");
    EXPECT_EQ(shown(keeping.remove(R"({"a": 1, "_id": 2})")),
              headOf("delete") + kWall + kNs + R"(,"documentKey":{"_id":2}})");
}

TEST_F(ChangeDocumentTest, Definitions) {
    EXPECT_EQ(shown(made_.definition(EventKind::kDrop)), headOf("drop") + kWall + kNs + "}");
    EXPECT_EQ(shown(made_.dropDatabase()),
              headOf("dropDatabase") + kWall + R"("ns":{"db":"shop"}})");
    CommittedEvent& rename =
        made_.definition(EventKind::kRename,
                         R"({"to": {"db": "shop", "coll": "new"}, "dropTarget": {"$uuid":
            "11111111-2222-3333-4444-555555555555"}})");
    const std::string to = R"("to":{"db":"shop","coll":"new"})";
    EXPECT_EQ(shown(rename), "{" + to + "," + headOf("rename").substr(1) + kWall + kNs + "}");

    options_.showExpandedEvents = true;
    const std::string uuid = R"("collectionUUID":)" + std::string(kUuidText) + ",";
    EXPECT_EQ(
        shown(rename),
        "{" + to + "," + headOf("rename").substr(1) + uuid + kWall + kNs +
            R"(,"operationDescription":{)" + to +
            R"(,"dropTarget":{"$binary":{"base64":"ERERESIiMzNERFVVVVVVVQ==","subType":"04"}}}})");
    EXPECT_EQ(shown(made_.definition(EventKind::kCreate,
                                     R"({"options": {"capped": true, "size": 4096}, "idIndex":
                                         {"v": 2, "key": {"_id": 1}, "name": "_id_"}})")),
              headOf("create") + uuid + kWall + kNs +
                  R"(,"operationDescription":{"capped":true,"size":4096,)"
                  R"("idIndex":{"v":2,"key":{"_id":1},"name":"_id_"}}})");
    const std::string indexes = R"({"indexes":[{"v":2,"key":{"a":1},"name":"a_1"}]})";
    for (const EventKind kind : {EventKind::kCreateIndexes, EventKind::kDropIndexes}) {
        EXPECT_EQ(shown(made_.definition(kind, indexes)),
                  headOf(operationTypeOf(kind)) + uuid + kWall + kNs +
                      R"(,"operationDescription":)" + indexes + "}");
    }
    EXPECT_EQ(shown(made_.definition(EventKind::kDrop)), headOf("drop") + uuid + kWall + kNs + "}");
    EXPECT_EQ(shown(made_.dropDatabase()),
              headOf("dropDatabase") + kWall + R"("ns":{"db":"shop"}})");
}

TEST_F(ChangeDocumentTest, Modifications) {
    options_.showExpandedEvents = true;
    const std::string head = headOf("modify") + R"("collectionUUID":)" + std::string(kUuidText) +
                             "," + kWall + kNs + R"(,"operationDescription":)";
    const std::string uuid = R"({"uuid":)" + std::string(kUuidText);
    EXPECT_EQ(shown(made_.definition(EventKind::kModify,
                                     R"({"options": {"validationLevel": "off", "x": 1},
                                         "optionsBefore": {"validator": {"a": 1}, "x": 1},
                                         "indexes": [], "indexesBefore": []})")),
              head + R"({"validationLevel":"off","validator":{}},)" +
                  R"("stateBeforeChange":{"collectionOptions":)" + uuid +
                  R"(,"validator":{"a":1},"x":1}}})");
    EXPECT_EQ(shown(made_.definition(EventKind::kModify,
                                     R"({"options": {}, "optionsBefore": {},
                                         "indexes": [{"name": "a_1", "expireAfterSeconds": 5,
                                             "hidden": true}],
                                         "indexesBefore": [{"name": "a_1",
                                             "expireAfterSeconds": 4}]})")),
              head + R"({"index":{"name":"a_1","expireAfterSeconds":5,"hidden":true}},)" +
                  R"("stateBeforeChange":{"collectionOptions":)" + uuid +
                  R"(},"indexOptions":{"expireAfterSeconds":4,"hidden":false}}})");
}

TEST_F(ChangeDocumentTest, OfATransactionSaysWhichOne) {
    CommittedEvent& insert = made_.insert(R"({"_id": 1})");
    made_.putIntoTransaction(&insert);
    EXPECT_EQ(
        shown(insert),
        R"({"txnNumber":7,"lsid":{"id":{"$binary":{"base64":"ERERESIiMzNERFVVVVVVVQ==","subType":"04"}},)"
        R"("uid":{"$binary":{"base64":"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",)"
        R"("subType":"00"}}},)" +
            headOf("insert").substr(1) + kWall + R"("fullDocument":{"_id":1},)" + kNs +
            R"(,"documentKey":{"_id":1}})");
}

TEST_F(ChangeDocumentTest, UpdatesCanBeShownAsInTheOplogOrWithPaths) {
    CommittedEvent& update =
        made_.update(R"({"_id": 1, "a": {"0": 1}})", R"({"_id": 1, "a": {"0": 2}})");
    options_.showExpandedEvents = true;
    EXPECT_NE(shown(update).find(R"("truncatedArrays":[],"disambiguatedPaths":{"a.0":["a","0"]}})"),
              std::string::npos)
        << shown(update);
    options_.showRawUpdateDescription = true;
    EXPECT_NE(shown(update).find(R"("documentKey":{"_id":1},"rawUpdateDescription":)"
                                 R"({"$v":2,"diff":{"sa":{"u":{"0":2}}}}})"),
              std::string::npos)
        << shown(update);
}

TEST_F(ChangeDocumentTest, AnInvalidationHasNoNamespace) {
    const bson::OwnedDocument token = MadeEvents::json(R"({"_data": "00"})");
    std::string json =
        bson::toJson(invalidateDocument(made_.definition(EventKind::kDrop), token.view()).view());
    std::erase(json, ' ');
    EXPECT_EQ(json, headOf("invalidate") + kWall.substr(0, kWall.size() - 1) + "}");
}

TEST(ChangeDocument, SomeEventsAreExpandedOrHidden) {
    EXPECT_TRUE(isExpandedEvent(EventKind::kCreate));
    EXPECT_TRUE(isExpandedEvent(EventKind::kModify));
    EXPECT_FALSE(isExpandedEvent(EventKind::kDropDatabase));
    EXPECT_TRUE(operationTypeOf(EventKind::kTransaction).empty());
}

}  // namespace
}  // namespace freshet::command
