// SPDX-License-Identifier: Apache-2.0
/// The entries of a document, shown by the values they restore to.
#include "freshet/catalog/index/index_keys.h"

#include "freshet/bson/json.h"
#include "freshet/bson/keyform.h"
#include "freshet/catalog/documents.h"

#include <gtest/gtest.h>

namespace freshet::catalog {
namespace {

Index indexOf(std::vector<KeyField> fields, bool sparse = false) {
    Index index;
    index.name = "test";
    index.fields = std::move(fields);
    index.sparse = sparse;
    return index;
}

struct Made {
    std::vector<std::string> keys;
    bool multikey;
    bool operator==(const Made&) const = default;
};

/// The keys as text, with values separated by commas.
Made keysOf(const Index& index, std::string_view json) {
    auto document = bson::fromJson(json);
    EXPECT_TRUE(document.isOk()) << json;
    IndexKeys keys;
    Status status = makeIndexKeys(index, document->view(), &keys);
    EXPECT_TRUE(status.isOk()) << status.toString();
    Made made{{}, keys.multikey};
    for (const std::string& key : keys.keys) {
        auto values = bson::restoreKeyForm(key, {}, index.descending());
        EXPECT_TRUE(values.isOk());
        std::string text;
        for (const bson::Element& value : values->view()) {
            text += (text.empty() ? "" : ",") + bson::toShellText(value);
        }
        made.keys.push_back(text);
    }
    return made;
}

TEST(IndexKeys, FollowPaths) {
    Index a = indexOf({{"a"}});
    EXPECT_EQ(keysOf(a, R"({"a": 5})"), (Made{{"5"}, false}));
    EXPECT_EQ(keysOf(a, R"({"b": 5})"), (Made{{"null"}, false}));
    EXPECT_EQ(keysOf(a, R"({"a": [3, 1, 3, 2]})"), (Made{{"1", "2", "3"}, true}));
    EXPECT_EQ(keysOf(a, R"({"a": []})"), (Made{{"undefined"}, true}));
    EXPECT_EQ(keysOf(a, R"({"a": [[1, 2]]})"), (Made{{"[ 1, 2 ]"}, true}));
    Index ab = indexOf({{"a.b"}});
    EXPECT_EQ(keysOf(ab, R"({"a": {"b": 1}})"), (Made{{"1"}, false}));
    EXPECT_EQ(keysOf(ab, R"({"a": 1})"), (Made{{"null"}, false}));
    EXPECT_EQ(keysOf(ab, R"({"a": [{"b": 1}, {"b": [2, 3]}, {}, 7]})"),
              (Made{{"null", "1", "2", "3"}, true}));
    EXPECT_EQ(keysOf(ab, R"({"a": []})"), (Made{{"null"}, true}));
    EXPECT_EQ(keysOf(indexOf({{"a.1"}}), R"({"a": [4, 5]})"), (Made{{"5"}, false}));
}

TEST(IndexKeys, FieldsBelowOneArrayStayTogether) {
    Index index = indexOf({{"a.x"}, {"a.y", true}, {"z"}});
    EXPECT_EQ(keysOf(index, R"({"a": [{"x": 1, "y": 2}, {"x": 3}], "z": "q"})"),
              (Made{{"1,2,\"q\"", "3,null,\"q\""}, true}));
}

TEST(IndexKeys, SparseLeavesOutWhatHasNone) {
    Index sparse = indexOf({{"a"}, {"b"}}, true);
    EXPECT_EQ(keysOf(sparse, R"({"c": 1})"), (Made{{}, false}));
    EXPECT_EQ(keysOf(sparse, R"({"b": 1})"), (Made{{"null,1"}, false}));
    EXPECT_EQ(keysOf(sparse, R"({"a": null})"), (Made{{"null,null"}, false}));
}

TEST(IndexKeys, TooLongAKeyIsRefused) {
    bson::Builder builder;
    builder.add("a", std::string(engine::kKeyBytesMax, 'x'));
    bson::OwnedDocument document(builder.finish());
    IndexKeys keys;
    EXPECT_EQ(makeIndexKeys(indexOf({{"a"}}), document.view(), &keys).code(), Code::kLimit);
}

TEST(IndexKeys, EntriesNameTheirRecord) {
    Index plain = indexOf({{"a"}});
    auto id = recordIdOfEntry(plain, entryKey(plain, "key", 77), entryValue(plain, 77));
    ASSERT_TRUE(id.isOk());
    EXPECT_EQ(*id, 77u);
    Index unique = indexOf({{"a"}});
    unique.unique = true;
    EXPECT_EQ(entryKey(unique, "key", 77), "key");
    id = recordIdOfEntry(unique, "key", entryValue(unique, 77));
    ASSERT_TRUE(id.isOk());
    EXPECT_EQ(*id, 77u);
    EXPECT_EQ(recordIdOfEntry(unique, "key", "x").status().code(), Code::kCorruption);
}

}  // namespace
}  // namespace freshet::catalog
