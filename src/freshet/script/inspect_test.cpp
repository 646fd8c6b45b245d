// SPDX-License-Identifier: Apache-2.0
/// How values are shown: what mongosh 2 prints for the same expressions.
#include "freshet/script/context.h"

#include <gtest/gtest.h>

namespace freshet::script {

namespace {

class InspectTest : public ::testing::Test {
protected:
    void SetUp() override {
        StatusOr<std::unique_ptr<Context>> made = Context::make({});
        ASSERT_TRUE(made.isOk()) << made.status().toString();
        context_ = std::move(*made);
        ASSERT_TRUE(
            context_->addLibrary({"show.js", "globalThis.show = (v, o) => library.display(v, o);"})
                .isOk());
    }
    std::string text(const std::string& expression) {
        StatusOr<Value> value = context_->evaluate(expression, "test.js");
        if (!value.isOk()) {
            return value.status().toString();
        }
        return value->element().isString() ? std::string(value->element().stringValue())
                                           : "not a text";
    }
    std::string show(const std::string& expression) { return text("show((" + expression + "))"); }

    std::unique_ptr<Context> context_;
};

TEST_F(InspectTest, ShortDocumentsStandOnOneLine) {
    EXPECT_EQ(show("{_id: ObjectId('507f1f77bcf86cd799439011'), a: 1}"),
              "{ _id: ObjectId('507f1f77bcf86cd799439011'), a: 1 }");
    EXPECT_EQ(show("[1, 2, 3]"), "[ 1, 2, 3 ]");
    EXPECT_EQ(show("[]"), "[]");
    EXPECT_EQ(show("[{}, [[]]]"), "[ {}, [ [] ] ]");
    EXPECT_EQ(show("'plain'"), "plain");
    EXPECT_EQ(show("null"), "null");
}

TEST_F(InspectTest, BsonTypesShowTheirConstructors) {
    EXPECT_EQ(
        show("{l: NumberLong('5'), i: NumberInt(3), d: Double(1), dec: NumberDecimal('1.50'), "
             "ts: Timestamp(5, 6), s: BSONSymbol('x')}"),
        "{\n  l: Long('5'),\n  i: Int32(3),\n  d: Double(1),\n  dec: Decimal128('1.50'),\n"
        "  ts: Timestamp({ t: 5, i: 6 }),\n  s: BSONSymbol('x')\n}");
    EXPECT_EQ(show("BinData(0, 'aGVsbG8=')"), "Binary.createFromBase64('aGVsbG8=', 0)");
    EXPECT_EQ(show("UUID('00112233-4455-6677-8899-aabbccddeeff')"),
              "UUID('00112233-4455-6677-8899-aabbccddeeff')");
    EXPECT_EQ(show("MD5('aabbccddeeff00112233445566778899')"),
              "MD5('aabbccddeeff00112233445566778899')");
    EXPECT_EQ(show("[/a\\/b/i, BSONRegExp('a', 'x'), MinKey(), MaxKey()]"),
              "[ /a\\/b/i, BSONRegExp('a', 'x'), MinKey(), MaxKey() ]");
    EXPECT_EQ(show("[Code('f', {a: 1}), DBRef('c', 1), DBRef('c', 2, 'db')]"),
              "[ Code('f', { a: 1 }), DBRef('c', 1), DBRef('c', 2, 'db') ]");
    EXPECT_EQ(show("ISODate('2020-01-02T03:04:05.678Z')"), "ISODate('2020-01-02T03:04:05.678Z')");
    EXPECT_EQ(show("[new Date(NaN), -0, 10n, undefined, 1.5e300]"),
              "[ Invalid Date, -0, 10n, undefined, 1.5e+300 ]");
}

TEST_F(InspectTest, FunctionsAndClasses) {
    EXPECT_EQ(
        show("[function foo() {}, class A {}, new Map([[1, {a: 2}]]), new Set([1, 'x'])]"),
        "[\n  [Function: foo],\n  [class A],\n  Map(1) { 1 => { a: 2 } },\n  Set(2) { 1, 'x' }\n]");
    EXPECT_EQ(show("[ , 1]"), "[ <1 empty item>, 1 ]");
    EXPECT_EQ(show("new Uint8Array([1, 2, 3])"), "Uint8Array(3) [ 1, 2, 3 ]");
}

TEST_F(InspectTest, TextsAreQuotedAsTheyNeed) {
    EXPECT_EQ(show("[\"it's\", 'a\"b', \"it's \\\"q\\\"\", 'new\\nline\\u0001']"),
              "[ \"it's\", 'a\"b', `it's \"q\"`, 'new\\nline\\x01' ]");
    EXPECT_EQ(show("{'a-b': 1, $set: 2, '': 3}"), "{ 'a-b': 1, '$set': 2, '': 3 }");
}

TEST_F(InspectTest, FourLevelsAreTooDeepForALine) {
    EXPECT_EQ(show("{a: {b: {c: {}}}}"), "{ a: { b: { c: {} } } }");
    EXPECT_EQ(show("{a: {b: {c: {d: 1}}}}"), "{\n  a: { b: { c: { d: 1 } } }\n}");
    EXPECT_EQ(show("{a: {b: {c: {d: {e: {f: {g: {h: 1}}}}}}}}"),
              "{\n  a: {\n    b: {\n      c: {\n        d: { e: { f: { g: [Object] } } }\n      }\n"
              "    }\n  }\n}");
    EXPECT_EQ(show("[{a: 1, b: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'}, {a: 2, b: "
                   "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'}]"),
              "[\n  { a: 1, b: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' },\n"
              "  { a: 2, b: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' }\n]");
    EXPECT_NE(show("(() => { const c = {}; c.c = c; return c; })()").find("Circular"),
              std::string::npos);
}

TEST_F(InspectTest, LongArraysStandInColumns) {
    EXPECT_EQ(show("Array.from({length: 30}, (_, i) => 'item' + i)"),
              "[\n  'item0',  'item1',  'item2',\n  'item3',  'item4',  'item5',\n"
              "  'item6',  'item7',  'item8',\n  'item9',  'item10', 'item11',\n"
              "  'item12', 'item13', 'item14',\n  'item15', 'item16', 'item17',\n"
              "  'item18', 'item19', 'item20',\n  'item21', 'item22', 'item23',\n"
              "  'item24', 'item25', 'item26',\n  'item27', 'item28', 'item29'\n]");
    const std::string numbers = show("Array.from({length: 120}, (_, i) => i)");
    EXPECT_TRUE(
        numbers.starts_with("[\n   0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11,\n  12, 13,"))
        << numbers;
    EXPECT_TRUE(numbers.ends_with("  96, 97, 98, 99,\n  ... 20 more items\n]")) << numbers;
}

TEST_F(InspectTest, ExtendedJson) {
    const std::string document =
        "{a: 1, b: Long('5'), c: ISODate('2020-01-01'), d: 1.5, "
        "e: ObjectId('507f1f77bcf86cd799439011'), f: NumberDecimal('1'), "
        "g: UUID('00112233-4455-6677-8899-aabbccddeeff'), h: /a/i, i: MinKey(), j: Timestamp(1, "
        "2)}";
    EXPECT_EQ(text("EJSON.stringify(" + document + ")"),
              R"({"a":1,"b":5,"c":{"$date":"2020-01-01T00:00:00Z"},"d":1.5,)"
              R"("e":{"$oid":"507f1f77bcf86cd799439011"},"f":{"$numberDecimal":"1"},)"
              R"("g":{"$binary":{"base64":"ABEiM0RVZneImaq7zN3u/w==","subType":"04"}},)"
              R"("h":{"$regularExpression":{"pattern":"a","options":"i"}},"i":{"$minKey":1},)"
              R"("j":{"$timestamp":{"t":1,"i":2}}})");
    EXPECT_EQ(text("EJSON.stringify({a: 1, b: Long('5'), c: ISODate('2020-01-01'), d: 1.5}, "
                   "{relaxed: false})"),
              R"({"a":{"$numberInt":"1"},"b":{"$numberLong":"5"},)"
              R"("c":{"$date":{"$numberLong":"1577836800000"}},"d":{"$numberDouble":"1.5"}})");
    EXPECT_EQ(show("EJSON.parse('{\"a\":{\"$numberLong\":\"5\"},\"b\":[{\"$oid\":"
                   "\"507f1f77bcf86cd799439011\"}]}')"),
              "{ a: 5, b: [ ObjectId('507f1f77bcf86cd799439011') ] }");
}

TEST_F(InspectTest, ArithmeticOfLongs) {
    EXPECT_EQ(show("NumberLong('9007199254740993').add(1)"), "Long('9007199254740994')");
    EXPECT_EQ(show("Long(5) + 1"), "6");
    EXPECT_EQ(show("Long.MAX_VALUE.add(1)"), "Long('-9223372036854775808')");
    EXPECT_EQ(show("[Long(7).divide(2), Long(7).mod(2), Long(-1).toNumber(), Long(3) > 2]"),
              "[ Long('3'), Long('1'), -1, true ]");
}

}  // namespace
}  // namespace freshet::script
