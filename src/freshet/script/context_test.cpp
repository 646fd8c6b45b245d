// SPDX-License-Identifier: Apache-2.0
/// Contexts as their callers use them: values in and out, isolation, and stopping scripts that
/// would never end by themselves.
#include "freshet/script/context.h"

#include "freshet/bson/json.h"
#include "freshet/platform/thread.h"

#include <gtest/gtest.h>

namespace freshet::script {

namespace {

class ContextTest : public ::testing::Test {
protected:
    static std::unique_ptr<Context> make(const Limits& limits = {}) {
        StatusOr<std::unique_ptr<Context>> made = Context::make(limits);
        EXPECT_TRUE(made.isOk()) << made.status().toString();
        return std::move(*made);
    }
    /// The value of a script as canonical JSON, or the text of its failure.
    std::string run(std::string_view source) {
        StatusOr<Value> value = context_->evaluate(source, "test.js");
        if (!value.isOk()) {
            return value.status().toString();
        }
        return value->isUndefined() ? "undefined" : json(value->element());
    }
    static std::string json(const bson::Element& element) {
        std::string text = bson::toCanonicalJson(
            bson::OwnedDocument(bson::Builder().addAs("v", element).finish()).view());
        return text.substr(8, text.size() - 10);  // without { "v" : and }
    }
    Code codeOf(std::string_view source) {
        return context_->evaluate(source, "test.js").status().code();
    }

    std::unique_ptr<Context> context_ = make();
};

/// One document with every type of BSON.
bson::OwnedDocument everything() {
    bson::Builder all;
    all.add("double", 1.5).add("whole", 1.0).add("minusZero", -0.0).add("text", "a\xc3\xa9");
    all.object("object").add("inner", 1.0).add("none", bson::Undefined());
    all.array("array").push(1).push(2.0).push(bson::Undefined()).push(bson::Null());
    all.add("binary", bson::Binary{0, "ab\0c"})
        .add("old", bson::Binary{2, ByteView("\1\0\0\0x", 5)});
    all.add("uuid", bson::Binary{4, "0123456789abcdef"}).add("own", bson::Binary{128, "x"});
    all.add("undefined", bson::Undefined()).add("id", bson::ObjectId::generate());
    all.add("yes", true).add("no", false).add("date", bson::Date{-1}).add("null", bson::Null());
    all.add("farDate", bson::Date{INT64_MAX}).add("earlyDate", bson::Date{INT64_MIN});
    all.add("regex", bson::Regex{"a/b\\d", "im"}).add("emptyRegex", bson::Regex{"", ""});
    all.add("extended", bson::Regex{"a b", "x"}).add("notForUs", bson::Regex{"(?<=a", "i"});
    all.addRaw("pointer",
               bson::Type::kDbPointer,
               ByteView("\2\0\0\0d\0"
                        "0123456789ab",
                        18));
    all.addCode("code", "function() {}").add("int", 7).add("long", int64_t{1} << 60);
    all.addRaw("symbol", bson::Type::kSymbol, ByteView("\2\0\0\0s\0", 6));
    all.addRaw("scoped",
               bson::Type::kCodeWithScope,
               ByteView("\x17\0\0\0\3\0\0\0x;\0\x0c\0\0\0\x10"
                        "a\0\1\0\0\0\0",
                        23));
    all.add("small", int64_t{5})
        .add("negative", int64_t{-5})
        .add("time", bson::Timestamp{1ull << 63 | 9});
    all.add("decimal", bson::Decimal128{150, 0x303c000000000000}).add("min", bson::MinKey());
    all.add("max", bson::MaxKey()).add("", 1).add("__proto__", 2).add("constructor", "c");
    {
        bson::Builder reference = all.object("reference");
        reference.add("$ref", "c").add("$id", 1.0).add("$db", "d").add("more", int64_t{1});
    }
    all.object("almostReference").add("$id", 1).add("$ref", "c");
    return bson::OwnedDocument(all.finish());
}

TEST_F(ContextTest, TheLastExpressionIsTheValue) {
    EXPECT_EQ(run("1 + 1"), "{ \"$numberInt\" : \"2\" }");
    EXPECT_EQ(run("let a = 1"), "undefined");
    EXPECT_EQ(run("a = 2; ({a, b: [true, null, 'x']})"),
              R"({ "a" : { "$numberInt" : "2" }, "b" : [ true, null, "x" ] })");
}

TEST_F(ContextTest, EveryTypeComesBackAsItWas) {
    const bson::OwnedDocument all = everything();
    ASSERT_TRUE(bson::Document::parse(all.bytes()).isOk());
    StatusOr<FunctionId> same = context_->compile("function(d) { return d; }");
    ASSERT_TRUE(same.isOk()) << same.status().toString();
    const std::string arguments = bson::Builder().add("0", all.view()).finish();
    StatusOr<Value> back = context_->call(*same, {}, bson::Document(arguments));
    ASSERT_TRUE(back.isOk()) << back.status().toString();
    auto expected = all.view().begin();
    for (const bson::Element& field : back->element().document()) {
        EXPECT_EQ(field.whole(), expected->whole()) << field.name();
        ++expected;
    }
    EXPECT_EQ(back->element().value(), all.bytes());
}

TEST_F(ContextTest, ACopyOfADocumentInJavaScriptKeepsItsTypes) {
    const bson::OwnedDocument all = everything();
    StatusOr<FunctionId> copy = context_->compile(
        "function(d) { d.whole += 1; d.text += '!'; d.long = d.long.add(1); return d; }");
    const std::string arguments = bson::Builder().add("0", all.view()).finish();
    StatusOr<Value> back = context_->call(*copy, {}, bson::Document(arguments));
    ASSERT_TRUE(back.isOk()) << back.status().toString();
    const bson::Document changed = back->element().document();
    EXPECT_EQ(changed.find("whole").doubleValue(), 2.0);
    EXPECT_EQ(changed.find("long").int64Value(), (int64_t{1} << 60) + 1);
}

TEST_F(ContextTest, ConstructorsMakeTheirTypes) {
    EXPECT_EQ(run("NumberLong('9007199254740993')"), "{ \"$numberLong\" : \"9007199254740993\" }");
    EXPECT_EQ(run("NumberInt('3')"), "{ \"$numberInt\" : \"3\" }");
    EXPECT_EQ(run("Double(1)"), "{ \"$numberDouble\" : \"1.0\" }");
    EXPECT_EQ(run("NumberDecimal('1.50')"), "{ \"$numberDecimal\" : \"1.50\" }");
    EXPECT_EQ(run("4294967296"), "{ \"$numberDouble\" : \"4294967296.0\" }");
    EXPECT_EQ(run("5n"), "{ \"$numberLong\" : \"5\" }");
    EXPECT_EQ(run("ISODate('2020-01-02T03:04:05.678Z')"),
              R"({ "$date" : { "$numberLong" : "1577934245678" } })");
    EXPECT_EQ(run("Timestamp({t: 1, i: 2})"), R"({ "$timestamp" : { "t" : 1, "i" : 2 } })");
    EXPECT_EQ(run("BinData(0, 'aGk=')"),
              R"({ "$binary" : { "base64" : "aGk=", "subType" : "00" } })");
    EXPECT_EQ(run("new ObjectId('507f1f77bcf86cd799439011')"),
              R"({ "$oid" : "507f1f77bcf86cd799439011" })");
    EXPECT_EQ(run("/a.b/gi"),
              R"({ "$regularExpression" : { "pattern" : "a.b", "options" : "i" } })");
    EXPECT_EQ(run("({a: MinKey, b: MaxKey()})"),
              R"({ "a" : { "$minKey" : 1 }, "b" : { "$maxKey" : 1 } })");
    EXPECT_EQ(run("typeof ObjectId().str + UUID().hex().length"), "\"string32\"");
}

TEST_F(ContextTest, ThrownValuesAreTold) {
    EXPECT_EQ(run("throw new TypeError('bad')"), "Invalid: TypeError: bad");
    EXPECT_EQ(run("throw 'text'"), "Invalid: text");
    EXPECT_NE(run("nonsense").find("ReferenceError"), std::string::npos);
    EXPECT_NE(run("{ bad").find("SyntaxError"), std::string::npos);
    EXPECT_NE(run("throw {toString() { throw 1; }}").find("without a readable text"),
              std::string::npos);
    EXPECT_NE(run("const c = {}; c.c = c; c").find("nested too deeply"), std::string::npos);
    EXPECT_EQ(run("1"), "{ \"$numberInt\" : \"1\" }") << "and life goes on";
}

TEST_F(ContextTest, HostFunctionsTakeAndGiveValues) {
    ASSERT_TRUE(context_
                    ->define("add",
                             [](bson::Document arguments) -> StatusOr<Value> {
                                 double sum = 0;
                                 for (const bson::Element& each : arguments) {
                                     if (!each.isNumber()) {
                                         return badValue("not a number");
                                     }
                                     sum += each.toDouble();
                                 }
                                 return Value::of(sum);
                             })
                    .isOk());
    ASSERT_TRUE(
        context_->addLibrary({"lib.js", "globalThis.add = host.add; library.twice = (x) => 2 * x;"})
            .isOk());
    EXPECT_EQ(run("add(1, 2.5)"), "{ \"$numberDouble\" : \"3.5\" }");
    EXPECT_EQ(run("try { add('x') } catch (e) { e.status + ' ' + e.message }"),
              "\"Invalid not a number\"");
    EXPECT_NE(run("host").find("ReferenceError"), std::string::npos) << "hidden from scripts";
    const std::string four = bson::Builder().add("0", 4).finish();
    StatusOr<Value> eight = context_->callLibrary("twice", bson::Document(four));
    ASSERT_TRUE(eight.isOk());
    EXPECT_EQ(eight->element().toInt64(), 8);
    EXPECT_FALSE(context_->callLibrary("nosuch", bson::Document(four)).isOk());
}

TEST_F(ContextTest, CompilesFunctionsExpressionsAndBodies) {
    bson::Builder holder;
    holder.object("self").add("a", 5);
    const std::string bytes = holder.finish();
    const bson::Element document = *bson::Document(bytes).begin();
    for (const char* source : {"function() { return this.a == 5; }",
                               "this.a == 5",
                               "return this.a == 5",
                               "() => true",
                               "var b = 1; return this.a + b == 6"}) {
        StatusOr<FunctionId> function = context_->compile(source);
        ASSERT_TRUE(function.isOk()) << source << function.status().toString();
        StatusOr<Value> value = context_->call(*function, document, bson::Document());
        ASSERT_TRUE(value.isOk()) << source << value.status().toString();
        EXPECT_TRUE(value->element().isTruthy()) << source;
    }
    EXPECT_FALSE(context_->compile("function( {").isOk());
}

TEST_F(ContextTest, ContextsSeeNothingOfEachOther) {
    EXPECT_EQ(Context::make({}).status().code(), Code::kExists) << "one a thread";
    EXPECT_EQ(run("globalThis.secret = 1; Object.prototype.leak = 2"),
              "{ \"$numberInt\" : \"2\" }");
    platform::Thread other("other", [] {
        StatusOr<Value> seen = make()->evaluate("typeof secret + typeof ({}).leak", "test.js");
        EXPECT_EQ(seen->element().stringValue(), "undefinedundefined");
    });
    other.join();
}

TEST_F(ContextTest, PromisesAreKeptBeforeItReturns) {
    EXPECT_EQ(run("globalThis.x = 0; (async () => { await null; x = 1; })(); undefined"),
              "undefined");
    EXPECT_EQ(run("x"), "{ \"$numberInt\" : \"1\" }");
}

TEST_F(ContextTest, AnEndlessLoopEndsWhenItsTimeHasPassed) {
    context_->setTimeLimit(20);
    EXPECT_EQ(codeOf("for (;;) {}"), Code::kTimeout);
    context_->setTimeLimit(20);
    EXPECT_EQ(codeOf("for (;;) { try { for (;;) {} } catch (e) {} finally { continue; } }"),
              Code::kTimeout);
    context_->setTimeLimit(20);
    EXPECT_EQ(codeOf("(async () => { await null; for (;;) {} })()"), Code::kTimeout);
    context_->setTimeLimit(20);
    EXPECT_EQ(codeOf("/(a+)+b/.test('a'.repeat(40))"), Code::kTimeout)
        << "a regular expression too";
    context_->setTimeLimit(0);
    EXPECT_EQ(run("1"), "{ \"$numberInt\" : \"1\" }");
}

TEST_F(ContextTest, ATimeThatIsOverAtOnceCountsToo) {
    for (int i = 0; i < 200; ++i) {
        context_->setTimeLimit(1);
        ASSERT_EQ(codeOf("for (;;) {}"), Code::kTimeout);
    }
}

TEST_F(ContextTest, AnotherThreadMayInterruptIt) {
    platform::Thread other("interrupter", [this] {
        platform::sleepMillis(20);
        context_->interrupt();
    });
    EXPECT_EQ(codeOf("for (;;) {}"), Code::kCancelled);
    other.join();
    context_->interrupt();
    context_->clearInterrupt();
    EXPECT_EQ(run("1"), "{ \"$numberInt\" : \"1\" }");
}

TEST_F(ContextTest, DeepRecursionIsAnError) {
    EXPECT_NE(run("(function f() { return f() + 1; })()").find("too much recursion"),
              std::string::npos);
    EXPECT_EQ(run("let d = {}; for (let i = 0; i < 1e5; ++i) d = {d}; try { JSON.stringify(d) } "
                  "catch (e) { 'deep' }"),
              "\"deep\"");
}

TEST(ContextLimits, HogsOfMemoryEnd) {
    Limits limits;
    limits.heapBytesMax = 64u << 20;
    for (const char* hog : {"const a = []; for (;;) a.push({x: a.length});",
                            "let s = 'x'; for (;;) { s += s; s.length; }",
                            "const b = []; for (;;) b.push(new Uint8Array(1 << 20).fill(1));",
                            "const c = []; for (;;) c.push('y'.repeat(1 << 20) + c.length);",
                            "'x'.repeat(2 ** 29).split('')",
                            "const m = new Map(); for (let i = 0;; ++i) m.set(i, 'v' + i);"}) {
        StatusOr<std::unique_ptr<Context>> context = Context::make(limits);
        ASSERT_TRUE(context.isOk());
        StatusOr<Value> value = (*context)->evaluate(hog, "hog.js");
        ASSERT_FALSE(value.isOk()) << hog;
        EXPECT_TRUE(value.status().code() == Code::kLimit ||
                    value.status().code() == Code::kInvalid)
            << hog << value.status().toString();
        EXPECT_TRUE((*context)->evaluate("1", "after").isOk()) << hog;
    }
}

TEST(ContextLimits, NoTypedArrayIsLargerThanAllMemory) {
    Limits limits;
    limits.heapBytesMax = 64u << 20;
    StatusOr<std::unique_ptr<Context>> context = Context::make(limits);
    ASSERT_TRUE(context.isOk());
    for (const char* large : {"new Uint8Array(2 ** 31).sort()",
                              "new ArrayBuffer(2 ** 30)",
                              "new Float64Array(2 ** 24)",
                              "new Uint8Array({length: 2 ** 30})",
                              "Uint8Array.from({length: 2 ** 30})",
                              "new (new Uint8Array(1)).constructor(2 ** 30)",
                              "class Mine extends Uint16Array {}; new Mine(2 ** 26)"}) {
        StatusOr<Value> value = (*context)->evaluate(large, "large.js");
        ASSERT_FALSE(value.isOk()) << large;
        EXPECT_NE(value.status().text().find("fit into memory"), std::string::npos)
            << large << value.status().toString();
    }
    for (const char* fine :
         {"new Uint8Array(2 ** 20).length === 2 ** 20",
          "new Uint8Array([1, 2, 3]).slice(1).join() === '2,3'",
          "new Uint8Array(1) instanceof Uint8Array && Uint8Array.name === 'Uint8Array'",
          "Uint8Array.from('123').subarray(1).constructor === Uint8Array",
          "new Uint16Array(new ArrayBuffer(8), 2, 2).byteLength === 4",
          "class Fine extends Float64Array {}; new Fine(2) instanceof Fine && "
          "new Fine(2) instanceof Float64Array",
          "Object.prototype.toString.call(new BigInt64Array(1)) === '[object BigInt64Array]'"}) {
        StatusOr<Value> value = (*context)->evaluate(fine, "fine.js");
        ASSERT_TRUE(value.isOk()) << fine << value.status().toString();
        EXPECT_TRUE(value->element().isTruthy()) << fine;
    }
}

TEST(ContextLimits, WhatTheEngineWouldNotLeaveIsRefusedBeforehand) {
    Limits limits;
    limits.heapBytesMax = 64u << 20;
    StatusOr<std::unique_ptr<Context>> context = Context::make(limits);
    ASSERT_TRUE(context.isOk());
    const std::string texts = "const text = 'a'.repeat(2 ** 22), long = 'a'.repeat(2 ** 21) + 'b';";
    for (const char* search : {"text.indexOf(long)",
                               "text.lastIndexOf(long)",
                               "text.includes(long)",
                               "text.replace(long, '')",
                               "text.replaceAll(long, '')",
                               "text.split(long)",
                               "'x'.repeat(2 ** 27).split('')"}) {
        const Status ended = (*context)->evaluate("{" + texts + search + "}", "search.js").status();
        EXPECT_NE(std::string(ended.text()).find("RangeError: a text of"), std::string::npos)
            << search << ": " << ended.toString();
    }
    const auto value = (*context)->evaluate(
        "['abc'.indexOf('b'), 'abcb'.lastIndexOf('b'), 'abcb'.lastIndexOf('b', 2), 'abc'.includes("
        "'bc'), 'abab'.replace('b', (it, at) => at), 'abab'.replaceAll('b', 'c'), 'a-b-c'.split("
        "'-', 2), 'a1b'.split(/\\d/), String.prototype.indexOf.call(1234, 3), ''.indexOf.length,"
        "''.split.name].join()",
        "usual.js");
    ASSERT_TRUE(value.isOk()) << value.status().toString();
    EXPECT_EQ(value->element().stringValue(), "1,3,1,true,a1ab,acac,a,b,a,b,2,1,split");
}

TEST(ContextLimits, AnArrayThatGrowsInItsPlaceEnds) {
    Limits limits;
    limits.heapBytesMax = 64u << 20;
    StatusOr<std::unique_ptr<Context>> context = Context::make(limits);
    ASSERT_TRUE(context.isOk());
    (*context)->setTimeLimit(120'000);  // memory is checked only while there is a time limit
    const Status ended =
        (*context)->evaluate("const a = []; for (let i = 0;; ++i) a[i] = i;", "hog.js").status();
    EXPECT_EQ(Code::kLimit, ended.code()) << ended.toString();
}

TEST(ContextLimits, StartingOverForgetsEverything) {
    StatusOr<std::unique_ptr<Context>> made = Context::make({});
    ASSERT_TRUE(made.isOk());
    Context& context = **made;
    ASSERT_TRUE(context.evaluate("leak = 1; Array.prototype.evil = 1;", "before.js").isOk());
    ASSERT_TRUE(context.compile("function() { return leak; }").isOk());
    context.interrupt();
    ASSERT_TRUE(context.startOver().isOk());
    const auto seen = context.evaluate("typeof leak + [].evil + ObjectId().isEmpty", "after.js");
    ASSERT_TRUE(seen.isOk()) << seen.status().toString();
    EXPECT_EQ("undefinedundefinedundefined", seen->element().stringValue());
    const auto again = context.compile("function() { return 7; }");
    ASSERT_TRUE(again.isOk());
    const auto seven = context.call(*again, bson::Element(), bson::Document());
    ASSERT_TRUE(seven.isOk());
    EXPECT_EQ(7, seven->element().toInt64());
}

TEST(ContextNumbers, AreDoublesWhereTheHostWantsThat) {
    Limits limits;
    limits.numbersAreDoubles = true;
    StatusOr<std::unique_ptr<Context>> made = Context::make(limits);
    ASSERT_TRUE(made.isOk());
    const auto function = (*made)->compile("function(d) { d.made = 2; return d; }");
    ASSERT_TRUE(function.isOk());
    bson::Builder inner;
    inner.add("whole", int32_t{1}).add("real", 3.0).add("long", int64_t{4});
    const bson::OwnedDocument document(inner.finish());
    bson::Builder arguments;
    arguments.add("0", document.view());
    const bson::OwnedDocument holder(arguments.finish());
    const auto result = (*made)->call(*function, bson::Element(), holder.view());
    ASSERT_TRUE(result.isOk());
    EXPECT_EQ(R"({ "whole" : { "$numberInt" : "1" }, "real" : { "$numberDouble" : "3.0" }, )"
              R"("long" : { "$numberLong" : "4" }, "made" : { "$numberDouble" : "2.0" } })",
              bson::toCanonicalJson(result->element().document()));
}

}  // namespace
}  // namespace freshet::script
