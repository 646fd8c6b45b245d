// SPDX-License-Identifier: Apache-2.0
/// Extended JSON both ways, and the notation of error texts.
#include "freshet/bson/json.h"

#include "freshet/bson/sample/sampler_for_test.h"

#include <gtest/gtest.h>

namespace freshet::bson {

TEST(Json, ReadsAndPrintsRelaxed) {
    StatusOr<OwnedDocument> document = fromJson(
        R"( {"a": 1, "b": {"$numberLong": "2"}, "c": {"$oid": "0123456789abcdef01234567"}})");
    ASSERT_TRUE(document.isOk());
    EXPECT_EQ(document->view().find("b").type(), Type::kInt64);
    EXPECT_EQ(toJson(document->view()),
              R"({ "a" : 1, "b" : 2, "c" : { "$oid" : "0123456789abcdef01234567" } })");
}

TEST(Json, CanonicalKeepsTypes) {
    std::string bytes = Builder()
                            .add("i", int32_t{1})
                            .add("l", int64_t{1})
                            .add("d", 1.0)
                            .add("t", Date{1})
                            .add("s", Timestamp{1})
                            .add("b", Binary{5, "x"})
                            .add("r", Regex{"a", "i"})
                            .finish();
    StatusOr<OwnedDocument> again = fromJson(toCanonicalJson(Document(bytes)));
    ASSERT_TRUE(again.isOk());
    EXPECT_EQ(again->bytes(), bytes);
}

TEST(Json, RefusesWhatIsNotOneObject) {
    for (const char* text : {"",
                             "  ",
                             "[1]",
                             "1",
                             "{",
                             "{\"a\":}",
                             "{'a': 1}",
                             "nonsense",
                             "{\"a\": 1} x",
                             "{} {}",
                             "{\"a\\u0000b\": 1}",
                             "{\"a\": {\"$oid\": \"short\"}}"}) {
        StatusOr<OwnedDocument> parsed = fromJson(text);
        EXPECT_FALSE(parsed.isOk()) << text;
        if (!parsed.isOk()) {
            EXPECT_EQ(parsed.status().reason(), Reason::kFailedToParse) << text;
            EXPECT_FALSE(parsed.status().text().empty());
        }
    }
    std::string deep;
    for (int i = 0; i < 5000; ++i) {
        deep += "{\"a\":";
    }
    EXPECT_FALSE(fromJson(deep).isOk());
}

TEST(Json, SeesWhereAnObjectEnds) {
    EXPECT_EQ(JsonEndFinder().find(R"({"a": [1, {"b": "}\"]"}]} {})"), 25u);
    EXPECT_EQ(JsonEndFinder().find("  {}"), 4u);
    for (const char* open : {"", "{", R"({"a": "})", R"({"a": "\"})", R"({"a": [})", "x"}) {
        EXPECT_EQ(JsonEndFinder().find(open), 0u) << open;
    }
}

TEST(Json, SeesWhereAnObjectEndsHoweverItArrives) {
    const std::string whole = R"({"a\\": ["}", "\"", {}]} {})";
    JsonEndFinder finder;
    for (size_t length = 0; length < 24; ++length) {
        ASSERT_EQ(finder.find(std::string_view(whole).substr(0, length)), 0u) << length;
    }
    EXPECT_EQ(finder.find(whole), 24u);
}

TEST(Json, PrintsTextThatIsNotUtf8) {
    std::string bytes = Builder().add("bad \xff name", "x\xc3(\xe2\x82\xac").finish();
    EXPECT_EQ(toJson(Document(bytes)),
              "{ \"bad \xef\xbf\xbd name\" : \"x\xef\xbf\xbd(\xe2\x82\xac\" }");
}

TEST(Json, PrintsWhateverTheValidatorAccepts) {
    Sampler sampler(testSeed());
    for (int i = 0; i < 3000; ++i) {
        std::string bytes = sampler.document(4, 3);
        std::string text = toJson(Document(bytes));
        ASSERT_EQ(text.front(), '{');
        ASSERT_EQ(text.back(), '}');
    }
}

TEST(ShellText, SpellsValuesAsErrorTextsDo) {
    ObjectId id;
    id.bytes[11] = '\x0f';
    std::string bytes = Builder()
                            .add("a", int32_t{1})
                            .add("b", "x")
                            .add("c", id)
                            .add("d", 1.0)
                            .add("e", 0.1)
                            .add("f", Date{5})
                            .add("g", Timestamp{uint64_t{3} << 32 | 4})
                            .add("h", Binary{0, "\x0a\xbc"})
                            .add("i", Binary{4, "0123456789abcdef"})
                            .add("j", Regex{"^a", "i"})
                            .add("k", Null{})
                            .add("l", MinKey{})
                            .add("m", true)
                            .add("n", 1e300)
                            .add("o", OwnedDocument().view())
                            .addArray("p", OwnedDocument().view())
                            .finish();
    EXPECT_EQ(toShellText(Document(bytes)),
              "{ a: 1, b: \"x\", c: ObjectId('00000000000000000000000f'), d: 1.0, e: 0.1, "
              "f: new Date(5), g: Timestamp(3, 4), h: BinData(0, 0ABC), "
              "i: UUID(\"30313233-3435-3637-3839-616263646566\"), j: /^a/i, k: null, l: MinKey, "
              "m: true, n: 1e+300, o: {}, p: [] }");
}

}  // namespace freshet::bson
