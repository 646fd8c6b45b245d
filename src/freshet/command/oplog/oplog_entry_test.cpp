// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/oplog/oplog_entry.h"

#include "freshet/command/stream/made_events_test.h"

#include <gtest/gtest.h>

#include <vector>

namespace freshet::command {
namespace {

using catalog::EventKind;

const std::string kUi = R"("ui":{"$binary":{"base64":"MDEyMzQ1Njc4OWFiY2RlZg==","subType":"04"}},)";
const std::string kEnd = R"(,"ts":{"$timestamp":{"t":1000,"i":2}},"t":1,"v":2,"wall":{"$date":)"
                         R"("1970-01-12T13:46:40.123Z"})";

class OplogEntryTest : public ::testing::Test {
protected:
    /// The entries that the events complete.
    std::vector<std::string> written(std::vector<CommittedEvent*> events) {
        std::vector<std::string> entries;
        for (const CommittedEvent* event : events) {
            const Status status = writer_.add(*event);
            EXPECT_TRUE(status.isOk()) << status.toString();
            for (bson::OwnedDocument entry; writer_.take(&entry);) {
                entries.push_back(bson::toJson(entry.view()));
                std::erase(entries.back(), ' ');
                bytes_.push_back(entry.bytes().size());
            }
        }
        EXPECT_TRUE(writer_.isEmpty());
        return entries;
    }
    std::string onlyOne(CommittedEvent& event) {
        const std::vector<std::string> entries = written({&event});
        EXPECT_EQ(entries.size(), 1u);
        return entries.empty() ? "" : entries.front();
    }
    static std::string ofCollection(const std::string& op) {
        return R"({"op":")" + op + R"(","ns":"shop.orders",)" + kUi;
    }
    static std::string command(const std::string& o) {
        return R"({"op":"c","ns":"shop.$cmd",)" + kUi + R"("o":)" + o;
    }

    MadeEvents made_;
    OplogWriter writer_;
    std::vector<size_t> bytes_;
};

TEST_F(OplogEntryTest, Documents) {
    EXPECT_EQ(onlyOne(made_.insert(R"({"_id": 1, "a": 2})")),
              ofCollection("i") + R"("o":{"_id":1,"a":2},"o2":{"_id":1})" + kEnd + "}");
    EXPECT_EQ(
        onlyOne(made_.update(R"({"_id": 1, "a": 1})", R"({"_id": 1, "a": 2})")),
        ofCollection("u") + R"("o":{"$v":2,"diff":{"u":{"a":2}}},"o2":{"_id":1})" + kEnd + "}");
    EXPECT_EQ(onlyOne(made_.update(R"({"_id": 1, "a": 1})", R"({"_id": 1, "b": 2})", true)),
              ofCollection("u") + R"("o":{"_id":1,"b":2},"o2":{"_id":1})" + kEnd + "}");
    EXPECT_EQ(onlyOne(made_.remove(R"({"_id": 1, "a": 1})")),
              ofCollection("d") + R"("o":{"_id":1})" + kEnd + "}");
}

TEST_F(OplogEntryTest, ANoteIsOfNoCollection) {
    EXPECT_EQ(onlyOne(made_.note(R"({"msg": "periodic noop"})")),
              R"({"op":"n","ns":"","o":{"msg":"periodicnoop"})" + std::string(kEnd) + "}");
}

TEST_F(OplogEntryTest, Definitions) {
    EXPECT_EQ(onlyOne(made_.definition(EventKind::kCreate,
                                       R"({"options": {"capped": true}, "idIndex": {"v": 2}})")),
              command(R"({"create":"orders","capped":true,"idIndex":{"v":2}})") + kEnd + "}");
    EXPECT_EQ(onlyOne(made_.definition(EventKind::kDrop)),
              command(R"({"drop":"orders"})") + kEnd + "}");
    EXPECT_EQ(onlyOne(made_.definition(EventKind::kRename,
                                       R"({"to": {"db": "b", "coll": "c"}, "dropTarget": 1})")),
              command(R"({"renameCollection":"shop.orders","to":"b.c","stayTemp":false,)"
                      R"("dropTarget":1})") +
                  kEnd + "}");
    EXPECT_EQ(onlyOne(made_.dropDatabase()),
              R"({"op":"c","ns":"shop.$cmd","o":{"dropDatabase":1})" + kEnd + "}");
    const std::string index = R"({"v":2,"key":{"a":1},"name":"a_1"})";
    EXPECT_EQ(
        onlyOne(made_.definition(EventKind::kCreateIndexes, "{\"indexes\": [" + index + "]}")),
        command(R"({"createIndexes":"orders",)" + index.substr(1)) + kEnd + "}");
    EXPECT_EQ(onlyOne(made_.definition(EventKind::kDropIndexes, "{\"indexes\": [" + index + "]}")),
              command(R"({"dropIndexes":"orders","index":"a_1"},"o2":)" + index) + kEnd + "}");
    EXPECT_EQ(onlyOne(made_.definition(
                  EventKind::kModify,
                  R"({"options": {}, "optionsBefore": {}, "indexes": [{"name": "x", "hidden":
                      true}], "indexesBefore": [{"name": "x"}]})")),
              command(R"({"collMod":"orders","index":{"name":"x","hidden":true}},)"
                      R"("o2":{"collectionOptions_old":{"uuid":{"$binary":)"
                      R"({"base64":"MDEyMzQ1Njc4OWFiY2RlZg==","subType":"04"}}},)"
                      R"("indexOptions_old":{"hidden":false}})") +
                  kEnd + "}");
}

/// The ts of entries are unique: what is one commit is one entry.
TEST_F(OplogEntryTest, ADefinitionChangeOfSeveralOperationsIsOneEntry) {
    CommittedEvent& drop = made_.definition(EventKind::kDrop);
    drop.isLast = false;
    CommittedEvent& dropDatabase = made_.dropDatabase();
    EXPECT_EQ(
        written({&drop, &dropDatabase}),
        (std::vector<std::string>{
            R"({"op":"c","ns":"admin.$cmd","o":{"applyOps":[)" + command(R"({"drop":"orders"}},)") +
            R"({"op":"c","ns":"shop.$cmd","o":{"dropDatabase":1}}]})" + kEnd + "}"}));
    EXPECT_EQ(onlyOne(made_.definition(EventKind::kCreateIndexes,
                                       R"({"indexes": [{"name": "a"}, {"name": "b"}]})")),
              R"({"op":"c","ns":"admin.$cmd","o":{"applyOps":[)" +
                  command(R"({"createIndexes":"orders","name":"a"}},)") +
                  command(R"({"createIndexes":"orders","name":"b"}})") + "]}" + kEnd + "}");
}

const std::string kTransactionHead =
    R"({"lsid":{"id":{"$binary":{"base64":"ERERESIiMzNERFVVVVVVVQ==","subType":"04"}},)"
    R"("uid":{"$binary":{"base64":"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=","subType":"00"}}},)"
    R"("txnNumber":7,"op":"c","ns":"admin.$cmd","o":{"applyOps":[)";
const std::string kFirstOne = R"(,"prevOpTime":{"ts":{"$timestamp":{"t":0,"i":0}},"t":-1}})";

TEST_F(OplogEntryTest, ATransactionIsOneEntry) {
    CommittedEvent& insert = made_.insert(R"({"_id": 1})");
    CommittedEvent& remove = made_.remove(R"({"_id": 2})");
    CommittedEvent& end = made_.transaction();
    for (CommittedEvent* event : {&insert, &remove, &end}) {
        made_.putIntoTransaction(event);
        event->isLast = event == &end;
    }
    EXPECT_EQ(written({&insert, &remove, &end}),
              (std::vector<std::string>{kTransactionHead + ofCollection("i") +
                                        R"("o":{"_id":1},"o2":{"_id":1}},)" + ofCollection("d") +
                                        R"("o":{"_id":2}}]})" + kEnd + kFirstOne}));
    // Also if it has done one thing only; and one that has done nothing here leaves no entry.
    EXPECT_EQ(written({&remove, &end}),
              (std::vector<std::string>{kTransactionHead + ofCollection("d") +
                                        R"("o":{"_id":2}}]})" + kEnd + kFirstOne}));
    EXPECT_TRUE(written({&end}).empty());
}

TEST(OplogEntry, ALargeTransactionIsSeveralEntries) {
    MadeEvents made;
    OplogWriter writer(8192);
    constexpr int kInserts = 20;
    std::vector<bson::OwnedDocument> entries;
    for (int i = 0; i <= kInserts; ++i) {
        CommittedEvent& event = i == kInserts
                                    ? made.transaction()
                                    : made.insert("{\"_id\": " + std::to_string(i) +
                                                  ", \"pad\": \"" + std::string(2000, 'x') + "\"}");
        made.putIntoTransaction(&event);
        event.isLast = i == kInserts;
        ASSERT_TRUE(writer.add(event).isOk());
        for (bson::OwnedDocument entry; writer.take(&entry);) {
            entries.push_back(entry);
        }
    }
    ASSERT_GT(entries.size(), 4u);
    int operations = 0;
    for (const bson::OwnedDocument& entry : entries) {
        EXPECT_LE(entry.bytes().size(), 8192u);
        const bool isLast = &entry == &entries.back();
        EXPECT_EQ(entry.view().findPath("o.partialTxn").isMissing(), isLast);
        EXPECT_EQ(entry.view().findPath("o.count").isMissing(), !isLast);
        const uint64_t previous = entry.view().findPath("prevOpTime.ts").timestampValue();
        EXPECT_EQ(previous == 0, &entry == &entries.front());
        for (const bson::Element& operation : entry.view().findPath("o.applyOps").document()) {
            EXPECT_EQ(operation.document().findPath("o._id").int32Value(), operations++);
        }
    }
    EXPECT_EQ(operations, kInserts);
    EXPECT_EQ(entries.back().view().findPath("o.count").int64Value(), kInserts);
}

/// A diff of many small nested changes is larger than the document.
TEST(OplogEntry, ADiffThatIsTooLargeIsTheWholeDocument) {
    MadeEvents made;
    OplogWriter writer(2048);
    const auto document = [](int value) {
        std::string json = "{\"_id\": 1";
        for (int i = 0; i < 100; ++i) {
            json += ", \"" + std::to_string(i) + "\": {\"a\": " + std::to_string(value) + "}";
        }
        return json + "}";
    };
    ASSERT_TRUE(writer.add(made.update(document(1), document(2))).isOk());
    bson::OwnedDocument entry;
    ASSERT_TRUE(writer.take(&entry));
    EXPECT_EQ(entry.view().findPath("o.99.a").int32Value(), 2);
}

TEST(OplogEntry, AnEventThatDoesNotBelongToItsDocumentIsAnError) {
    MadeEvents made;
    CommittedEvent& update = made.update(R"({"_id": 1, "a": "a long text", "b": 1})",
                                         R"({"_id": 1, "a": "a long text", "b": 2})");
    update.after = bson::Document();
    EXPECT_EQ(OplogWriter().add(update).code(), Code::kCorruption);
}

}  // namespace
}  // namespace freshet::command
