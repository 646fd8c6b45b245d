// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/stream/change_options.h"

#include "freshet/bson/json.h"

#include <gtest/gtest.h>

#include <string>

namespace freshet::command {
namespace {

StatusOr<ChangeOptions> parsedOptions(std::string_view json,
                                      std::string_view db = "t",
                                      std::string_view collection = "c") {
    auto stage = bson::fromJson("{\"$changeStream\": " + std::string(json) + "}");
    EXPECT_TRUE(stage.isOk()) << json;
    return parseChangeOptions(*stage->view().begin(), db, collection);
}

std::string tokenText(const ResumeToken& token) {
    return bson::toJson(toDocument(token).view());
}

TEST(ChangeOptions, AreMongoDbs) {
    const auto none = parsedOptions("{}");
    ASSERT_TRUE(none.isOk()) << none.status().toString();
    EXPECT_EQ(none->fullDocument, FullDocument::kDefault);
    EXPECT_EQ(none->fullDocumentBeforeChange, FullDocumentBeforeChange::kOff);
    EXPECT_FALSE(none->after.has_value());
    EXPECT_FALSE(none->startAtOperationTime.has_value());
    EXPECT_FALSE(none->showExpandedEvents);

    const auto all = parsedOptions(R"({"fullDocument": "required", "fullDocumentBeforeChange":
        "whenAvailable", "startAtOperationTime": {"$timestamp": {"t": 5, "i": 6}},
        "showExpandedEvents": true, "showSystemEvents": true, "showMigrationEvents": false,
        "showRawUpdateDescription": true, "matchCollectionUUIDForUpdateLookup": true,
        "allowToRunOnConfigDB": false, "allowToRunOnSystemNS": true, "resumeAfter": null})");
    ASSERT_TRUE(all.isOk()) << all.status().toString();
    EXPECT_EQ(all->fullDocument, FullDocument::kRequired);
    EXPECT_EQ(all->fullDocumentBeforeChange, FullDocumentBeforeChange::kWhenAvailable);
    EXPECT_EQ(all->startAtOperationTime, (uint64_t{5} << 32) + 6);
    EXPECT_TRUE(all->showExpandedEvents && all->showSystemEvents);
    EXPECT_TRUE(all->showRawUpdateDescription && all->matchCollectionUuidForUpdateLookup);
}

TEST(ChangeOptions, ATokenSaysWhereToGoOn) {
    const std::string event = tokenText({.timestamp = 9, .lsn = 8, .number = 7});
    for (const char* name : {"resumeAfter", "startAfter"}) {
        const auto options = parsedOptions("{\"" + std::string(name) + "\": " + event + "}");
        ASSERT_TRUE(options.isOk()) << options.status().toString();
        EXPECT_EQ(options->after->lsn, 8u);
        EXPECT_EQ(options->after->number, 7u);
    }
    // A stream that has ended can be started again, not resumed.
    const std::string end = tokenText({.timestamp = 9, .lsn = 8, .isInvalidate = true});
    EXPECT_TRUE(parsedOptions("{\"startAfter\": " + end + "}")->after->isInvalidate);
    EXPECT_EQ(parsedOptions("{\"resumeAfter\": " + end + "}").status().reason(),
              Reason::kInvalidResumeToken);
    // A token and a second place.
    EXPECT_EQ(parsedOptions("{\"resumeAfter\": " + event + ", \"startAfter\": " + event + "}")
                  .status()
                  .reason(),
              location(50865));
    for (const char* name : {"resumeAfter", "startAfter"}) {
        EXPECT_EQ(parsedOptions("{\"" + std::string(name) + "\": " + event +
                                R"(, "startAtOperationTime": {"$timestamp": {"t": 5, "i": 6}}})")
                      .status()
                      .reason(),
                  location(40674));
    }
}

TEST(ChangeOptions, WhatIsWrongIsRefusedAsMongoDbDoes) {
    const struct {
        std::string_view json;
        Reason reason;
        std::string_view text;
    } kCases[] = {
        {"1",
         location(6188500),
         "$changeStream must take a nested object but found: $changeStream: 1"},
        {R"({"x": 1})", Reason::kUnknownField, "BSON field '$changeStream.x' is an unknown field."},
        {R"({"fullDocument": "x"})",
         Reason::kBadValue,
         "Enumeration value 'x' for field '$changeStream.fullDocument' is not a valid value."},
        {R"({"fullDocument": 1})",
         Reason::kTypeMismatch,
         "BSON field '$changeStream.fullDocument' is the wrong type 'int', expected type 'string'"},
        {R"({"fullDocumentBeforeChange": "default"})",
         Reason::kBadValue,
         "Enumeration value 'default' for field '$changeStream.fullDocumentBeforeChange' is not a "
         "valid value."},
        {R"({"showExpandedEvents": 1})",
         Reason::kTypeMismatch,
         "Field 'showExpandedEvents' should be a boolean value, but found: int"},
        {R"({"resumeAfter": "x"})",
         Reason::kTypeMismatch,
         "BSON field '$changeStream.resumeAfter' is the wrong type 'string', expected type "
         "'object'"},
        {R"({"resumeAfter": {}})",
         location(40647),
         "Bad resume token: _data of missing or of wrong type. Expected string, got {}"},
        {R"({"startAtOperationTime": 5})",
         Reason::kTypeMismatch,
         "BSON field '$changeStream.startAtOperationTime' is the wrong type 'int', expected type "
         "'timestamp'"},
    };
    for (const auto& test : kCases) {
        const Status status = parsedOptions(test.json).status();
        EXPECT_EQ(status.reason(), test.reason) << test.json;
        EXPECT_EQ(status.text(), test.text);
    }
}

TEST(ChangeOptions, SomePlacesHaveNoStreams) {
    const struct {
        std::string_view json, db, collection;
        Reason reason;
        std::string_view text;
    } kCases[] = {
        {"{}", "t", "", Reason::kNone, ""},
        {R"({"allChangesForCluster": true})", "admin", "", Reason::kNone, ""},
        {R"({"allChangesForCluster": true})",
         "t",
         "",
         Reason::kInvalidOptions,
         "A $changeStream with 'allChangesForCluster:true' may only be opened on the 'admin' "
         "database, and with no collection name; found t.$cmd.aggregate"},
        {R"({"allChangesForCluster": true})",
         "admin",
         "c",
         Reason::kInvalidOptions,
         "A $changeStream with 'allChangesForCluster:true' may only be opened on the 'admin' "
         "database, and with no collection name; found admin.c"},
        {"{}",
         "admin",
         "",
         Reason::kInvalidNamespace,
         "$changeStream may not be opened on the internal admin database"},
        {"{}",
         "local",
         "c",
         Reason::kInvalidNamespace,
         "$changeStream may not be opened on the internal local database"},
        {"{}",
         "config",
         "c",
         Reason::kInvalidNamespace,
         "$changeStream may not be opened on the internal config database"},
        {R"({"allowToRunOnConfigDB": true})", "config", "c", Reason::kNone, ""},
        {"{}",
         "t",
         "system.views",
         Reason::kInvalidNamespace,
         "$changeStream may not be opened on the internal t.system.views collection"},
        {R"({"allowToRunOnSystemNS": true})", "t", "system.js", Reason::kNone, ""},
    };
    for (const auto& test : kCases) {
        const Status status = parsedOptions(test.json, test.db, test.collection).status();
        EXPECT_EQ(status.reason(), test.reason) << test.json << test.db << test.collection;
        EXPECT_EQ(status.text(), test.text);
    }
}

}  // namespace
}  // namespace freshet::command
