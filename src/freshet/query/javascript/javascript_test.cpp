// SPDX-License-Identifier: Apache-2.0
/// Filters and expressions with JavaScript, where scripts are allowed and where they are not.
#include "freshet/query/javascript.h"

#include "freshet/bson/json.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/query/expression/accumulator.h"
#include "freshet/query/javascript/scripts.h"
#include "freshet/query/match.h"

#include <gtest/gtest.h>

namespace freshet::query {
namespace {

bson::OwnedDocument json(std::string_view text) {
    auto document = bson::fromJson(text);
    EXPECT_TRUE(document.isOk()) << text;
    return *std::move(document);
}

class JavaScriptTest : public ::testing::Test {
protected:
    JavaScriptTest() { javaScript_.begin({}); }
    ~JavaScriptTest() override { end(); }
    void end() {
        if (isRunning_) {
            javaScript_.end();
        }
        isRunning_ = false;
    }
    void startOver(const JavaScriptRules& rules) {
        end();
        javaScript_.begin(rules);
        isRunning_ = true;
    }

    static Status matches(std::string_view filter, std::string_view document, bool* matched) {
        auto matcher = Matcher::compile(json(filter).view());
        return matcher.isOk() ? (*matcher)->test(json(document).view(), matched) : matcher.status();
    }
    static bool holds(std::string_view filter, std::string_view document) {
        bool matched = false;
        const Status status = matches(filter, document, &matched);
        EXPECT_TRUE(status.isOk()) << filter << ": " << status.toString();
        return matched;
    }
    static Status failure(std::string_view filter) {
        bool matched = true;
        Status status = matches(filter, R"({"a": 1})", &matched);
        EXPECT_FALSE(status.isOk()) << filter << " gave " << matched;
        return status;
    }
    /// The value of an expression for {a: 2, doc: {n: 3, x: 1.5}}, as JSON.
    static std::string value(std::string_view expression) {
        const bson::OwnedDocument holder = json(expression);
        const bson::OwnedDocument root = json(R"({"a": 2, "doc": {"n": 3, "x": 1.5}})");
        auto parsed = parseExpression(*holder.view().begin());
        if (!parsed.isOk()) {
            return std::to_string(locationOf(parsed.status().reason()));
        }
        auto result = evaluateOnce(**parsed, root.view());
        if (!result.isOk()) {
            return std::string(result.status().text());
        }
        bson::Builder shown;
        shown.addAs("v", result->element());
        return bson::toCanonicalJson(bson::OwnedDocument(shown.finish()).view());
    }

    JavaScript javaScript_;
    bool isRunning_ = true;
};

TEST_F(JavaScriptTest, WhereTakesEveryFormOfFunction) {
    for (const char* where : {R"("this.a == 1")",
                              R"("return this.a == 1")",
                              R"("function() { return this.a == 1; }")",
                              R"("function() { return obj.a == 1; }")",
                              R"("obj.a == 1")",
                              R"("var twice = obj.a * 2; return twice == 2;")",
                              R"({"$code": "function() { return this.a == 1; }"})"}) {
        const std::string filter = std::string(R"({"$where": )") + where + "}";
        EXPECT_TRUE(holds(filter, R"({"a": 1})")) << filter;
        EXPECT_FALSE(holds(filter, R"({"a": 2})")) << filter;
    }
}

TEST_F(JavaScriptTest, WhereIsTrueAsJavaScriptHasIt) {
    for (const char* yes : {"1", "'a'", "({})", "[]", "-1", "new Date()"}) {
        EXPECT_TRUE(holds(std::string(R"({"$where": ")") + yes + "\"}", "{}")) << yes;
    }
    for (const char* no : {"0", "''", "null", "undefined", "NaN", "false"}) {
        EXPECT_FALSE(holds(std::string(R"({"$where": ")") + no + "\"}", "{}")) << no;
    }
}

TEST_F(JavaScriptTest, WhereStandsBesideOtherConditions) {
    EXPECT_TRUE(holds(R"({"a": 1, "$or": [{"$where": "false"}, {"$where": "this.b == 2"}]})",
                      R"({"a": 1, "b": 2})"));
    EXPECT_TRUE(holds(R"({"$nor": [{"$where": "this.a > 1"}]})", R"({"a": 1})"));
    EXPECT_FALSE(holds(R"({"a": 2, "$where": "throw 'never asked'"})", R"({"a": 1})"));
}

TEST_F(JavaScriptTest, ErrorsReachTheClient) {
    const Status thrown = failure(R"({"$where": "throw new Error('no luck');"})");
    EXPECT_EQ(139u, locationOf(thrown.reason()));
    EXPECT_NE(std::string_view::npos, thrown.text().find("no luck")) << thrown.text();
    EXPECT_EQ(139u, locationOf(failure(R"({"$where": "this is no JavaScript"})").reason()));
    EXPECT_EQ(139u, locationOf(failure(R"({"$nor": [{"$where": "absent.b"}]})").reason()));
    EXPECT_EQ("$where got bad type", failure(R"({"$where": 1})").text());
    EXPECT_EQ("$where can only be applied to the top-level document",
              failure(R"({"a": {"$elemMatch": {"$where": "true"}}})").text());
}

TEST_F(JavaScriptTest, BombsEndTheOperationWithAClearError) {
    startOver({.callMillisMax = 50});
    EXPECT_EQ(Code::kCancelled, failure(R"({"$where": "while (true) {}"})").code());
    EXPECT_EQ(Code::kCancelled, failure(R"({"$where": "true"})").code()) << "it has ended";
    startOver({.heapBytesMax = 16u << 20});
    const Status hog =
        failure(R"({"$where": "var a = []; while (true) a.push('x'.repeat(1000) + a.length);"})");
    EXPECT_NE(std::string_view::npos, hog.text().find("Out of memory")) << hog.text();
    const Status huge = failure(R"({"$where": "var s = 'x'; while (true) s += s; "})");
    EXPECT_EQ(139u, locationOf(huge.reason()));
    const Status deep = failure(R"({"$where": "function f() { return f() + 1; } return f();"})");
    EXPECT_NE(std::string_view::npos, deep.text().find("too much recursion")) << deep.text();
    EXPECT_TRUE(holds(R"({"$where": "this.a == 1"})", R"({"a": 1})"));
}

TEST_F(JavaScriptTest, TheOperationsTimeLimitIsToldApart) {
    startOver({.deadlineNanos = platform::monotonicNanos() + 30'000'000});
    EXPECT_EQ(Reason::kMaxTimeMsExpired, failure(R"({"$where": "while (true) {}"})").reason());
}

TEST_F(JavaScriptTest, AnotherThreadInterrupts) {
    for (const char* script :
         {"while (true) {}", "(function f() { while (true) {} })()", "sleep(1e9)"}) {
        startOver({});
        platform::Thread killer("killer", [this] { javaScript_.interrupt(); });
        const Status status = failure(std::string(R"({"$where": ")") + script + "\"}");
        EXPECT_EQ(Reason::kInterrupted, status.reason()) << status.toString();
        killer.join();
    }
}

TEST_F(JavaScriptTest, OperationsShareNoGlobals) {
    EXPECT_TRUE(holds(R"({"$where": "leak = 1; Array.prototype.evil = 1; return true"})", "{}"));
    EXPECT_TRUE(holds(R"({"$where": "leak == 1 && [].evil == 1"})", "{}"));
    startOver({});
    EXPECT_TRUE(
        holds(R"({"$where": "typeof leak == 'undefined' && [].evil === undefined"})", "{}"));
    javaScript_.setGlobals(json(R"({"bound": 7})"));
    startOver({});
    javaScript_.setGlobals(json(R"({"bound": 7})"));
    EXPECT_TRUE(holds(R"({"$where": "bound == this.a"})", R"({"a": 7})"));
}

TEST_F(JavaScriptTest, FunctionsOfTheServer) {
    EXPECT_TRUE(
        holds(R"({"$where": "Array.sum([1, 2, 3]) == 6 && Array.avg([1, 3]) == 2"})", "{}"));
    EXPECT_TRUE(holds(R"({"$where": "Array.unique([1, 1, 2]).length == 2"})", "{}"));
    EXPECT_TRUE(
        holds(R"({"$where": "isString('') && isNumber(1) && isObject({}) === true"})", "{}"));
    EXPECT_TRUE(holds(R"({"$where": "tojson({a: 'x'}).indexOf('x') > 0"})", "{}"));
    EXPECT_TRUE(
        holds(R"({"$where": "typeof db == 'undefined' && typeof load == 'undefined'"})", "{}"));
}

TEST_F(JavaScriptTest, SleepTakesItsTime) {
    const uint64_t before = platform::monotonicNanos();
    EXPECT_TRUE(
        holds(R"({"$where": "return sleep(30) === undefined && sleep(-1) === undefined"})", "{}"));
    EXPECT_GE(platform::monotonicNanos() - before, 30'000'000u);
}

TEST_F(JavaScriptTest, FunctionComputes) {
    EXPECT_EQ(R"({ "v" : { "$numberDouble" : "4.0" } })",
              value(R"({"f": {"$function": {"body": "function(a, b) { return a + b; }",
                                             "args": ["$a", 2], "lang": "js"}}})"));
    EXPECT_EQ(R"({ "v" : { "n" : { "$numberInt" : "3" }, "x" : { "$numberDouble" : "1.5" }, )"
              R"("y" : { "$numberDouble" : "1.0" } } })",
              value(R"({"f": {"$function": {"body": {"$code": "function(d) { d.y = 1; return d; }"},
                                             "args": ["$doc"], "lang": "js"}}})"));
    EXPECT_EQ(
        R"({ "v" : null })",
        value(R"({"f": {"$function": {"body": "function() {}", "args": [], "lang": "js"}}})"));
    EXPECT_EQ("Error: x",
              value(R"({"f": {"$function": {"body": "function() { throw new Error('x') }",
                                             "args": [], "lang": "js"}}})"));
}

TEST_F(JavaScriptTest, FunctionIsChecked) {
    const std::pair<const char*, const char*> kCases[] = {
        {R"({"f": {"$function": 1}})", "31260"},
        {R"({"f": {"$function": {"args": [], "lang": "js"}}})", "31261"},
        {R"({"f": {"$function": {"body": "$a", "args": [], "lang": "js"}}})", "31432"},
        {R"({"f": {"$function": {"body": 5, "args": [], "lang": "js"}}})", "31262"},
        {R"({"f": {"$function": {"body": "1", "lang": "js"}}})", "31263"},
        {R"({"f": {"$function": {"body": "1", "args": []}}})", "31418"},
        {R"({"f": {"$function": {"body": "1", "args": [], "lang": "php"}}})", "31419"},
        {R"({"f": {"$function": {"body": "1", "args": "$a", "lang": "js"}}})",
         "The args field must be of type array"},
    };
    for (const auto& [expression, expected] : kCases) {
        EXPECT_EQ(expected, value(expression)) << expression;
    }
}

TEST_F(JavaScriptTest, AccumulatorIsChecked) {
    const std::string whole =
        R"("init": "1", "accumulate": "1", "merge": "1", "accumulateArgs": [])";
    const std::pair<std::string, uint32_t> kCases[] = {
        {R"(1)", 4544703},
        {R"({"accumulate": "1", "merge": "1", "accumulateArgs": []})", 4544707},
        {R"({"init": "1", "merge": "1", "accumulateArgs": []})", 4544708},
        {R"({"init": "1", "accumulate": "1", "accumulateArgs": []})", 4544709},
        {R"({"init": "1", "accumulate": "1", "merge": "1"})", 4544710},
        {"{" + whole + R"(, "lang": 1})", 4544704},
        {"{" + whole + R"(, "lang": "php"})", 4544705},
        {"{" + whole + R"(, "other": 1})", 4544706},
        {R"({"init": "$a"})", 4544701},
        {R"({"init": 3})", 4544702},
    };
    for (const auto& [spec, number] : kCases) {
        const bson::OwnedDocument holder = json(R"({"$accumulator": )" + spec + "}");
        ExprScope scope;
        const auto plan = parseAccumulator(*holder.view().begin(), &scope);
        ASSERT_FALSE(plan.isOk()) << spec;
        EXPECT_EQ(number, locationOf(plan.status().reason())) << spec;
    }
}

TEST_F(JavaScriptTest, RefusedWhereNoOperationMayHaveIt) {
    end();
    EXPECT_EQ("$where is not allowed in this context", failure(R"({"$where": "true"})").text());
    EXPECT_EQ("4660800", value(R"({"f": {"$function": {"body": "1", "args": [], "lang": "js"}}})"));
}

TEST_F(JavaScriptTest, RefusedWhenDisabled) {
    startOver({.isEnabled = false});
    EXPECT_EQ(6108304u, locationOf(failure(R"({"$where": "true"})").reason()));
    EXPECT_EQ("31264", value(R"({"f": {"$function": {"body": "1", "args": [], "lang": "js"}}})"));
}

TEST(MentionsJavaScript, FindsTheNames) {
    for (const char* yes : {R"({"find": "c", "filter": {"$where": "1"}})",
                            R"({"q": [{"$or": [{"$expr": {"$function": {}}}]}]})",
                            R"({"p": [{"$group": {"s": {"$accumulator": {}}}}]})"}) {
        EXPECT_TRUE(mentionsJavaScript(json(yes).view())) << yes;
    }
    for (const char* no :
         {"{}", R"({"where": 1, "$wher": 1, "$whereas": "$", "$db": "$functions"})"}) {
        EXPECT_FALSE(mentionsJavaScript(json(no).view())) << no;
    }
}

}  // namespace
}  // namespace freshet::query
