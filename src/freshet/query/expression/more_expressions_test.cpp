// SPDX-License-Identifier: Apache-2.0
/// Sets, regular expressions, dates in zones, mathematics and conversions, as tables.
#include "freshet/bson/compare.h"
#include "freshet/query/expression/expression_for_test.h"
#include "freshet/query/expression/time_text.h"
#include "freshet/testing/sim/seed.h"

#include <algorithm>
#include <random>
#include <set>

namespace freshet::query {
namespace {

constexpr const char* kMoreValues = R"({
    "a": 5, "n": null, "s": "Hello", "arr": [3, 1, 2], "t": {"$timestamp": {"t": 7, "i": 9}},
    "d": {"$date": "2024-02-29T13:14:15.016Z"}, "o": {"x": 1, "y": 2},
    "objs": [{"k": 2}, {"k": 1}, {}], "u": "héllo wörld"
})";

void checkMore(std::initializer_list<ExpressionCase> cases) {
    checkOn(kMoreValues, cases);
}

struct ErrorCase {
    const char* expression;
    uint32_t number;
};

void checkErrors(std::initializer_list<ErrorCase> cases) {
    for (const ErrorCase& one : cases) {
        auto value = evaluatedOn(kMoreValues, one.expression);
        ASSERT_FALSE(value.isOk()) << one.expression;
        EXPECT_EQ(locationOf(value.status().reason()), one.number)
            << one.expression << ": " << value.status().toString();
    }
}

TEST(MoreExpressions, Sets) {
    checkMore({
        {R"({"$setUnion":[[3,1],[2,1.0]]})", "[1,2,3]"},
        {R"({"$setUnion":["$arr","$n"]})", "null"},
        {R"({"$setIntersection":[[1,2,3],[2,3,4],[3,2]]})", "[2,3]"},
        {R"({"$setIntersection":[]})", "[]"},
        {R"({"$setDifference":[[3,1,3,2],[2]]})", "[3,1]"},
        {R"({"$setEquals":[[1,2,2],[2,1]]})", "true"},
        {R"({"$setEquals":[[1,2],[2,3]]})", "false"},
        {R"({"$setIsSubset":[[1],[2,1]]})", "true"},
        {R"({"$setIsSubset":[[1,5],[2,1]]})", "false"},
        {R"({"$sortArray":{"input":"$arr","sortBy":1}})", "[1,2,3]"},
        {R"({"$sortArray":{"input":"$arr","sortBy":-1}})", "[3,2,1]"},
        {R"({"$sortArray":{"input":"$objs","sortBy":{"k":1}}})", R"([{},{"k":1},{"k":2}])"},
        {R"({"$zip":{"inputs":[[1,2],["a"]]}})", R"([[1,"a"]])"},
        {R"({"$zip":{"inputs":[[1,2],["a"]],"useLongestLength":true}})", R"([[1,"a"],[2,null]])"},
        {R"({"$zip":{"inputs":[[1,2],["a"]],"useLongestLength":true,"defaults":[0,"z"]}})",
         R"([[1,"a"],[2,"z"]])"},
        {R"({"$firstN":{"n":2,"input":"$arr"}})", "[3,1]"},
        {R"({"$lastN":{"n":2,"input":"$arr"}})", "[1,2]"},
        {R"({"$maxN":{"n":2,"input":"$arr"}})", "[3,2]"},
        {R"({"$minN":{"n":2,"input":"$arr"}})", "[1,2]"},
        {R"({"$median":{"input":"$arr","method":"approximate"}})", "2.0"},
        {R"({"$percentile":{"input":"$arr","p":[0.0,0.9],"method":"approximate"}})", "[1.0,3.0]"},
    });
    checkErrors({
        {R"({"$setUnion":[1]})", 17043},
        {R"({"$setEquals":[[1]]})", 17045},
        {R"({"$setDifference":[1,[]]})", 17048},
        {R"({"$setIsSubset":[[],1]})", 17042},
        {R"({"$sortArray":{"input":1,"sortBy":1}})", 2942504},
        {R"({"$zip":{"inputs":[]}})", 34465},
        {R"({"$firstN":{"n":0,"input":[]}})", 5787908},
        {R"({"$firstN":{"n":"x","input":[]}})", 5787902},
    });
}

TEST(MoreExpressions, RegularExpressions) {
    checkMore({
        {R"({"$regexMatch":{"input":"$s","regex":"^h","options":"i"}})", "true"},
        {R"({"$regexMatch":{"input":"$n","regex":"x"}})", "false"},
        {R"({"$regexFind":{"input":"$s","regex":"l(l)(x)?"}})",
         R"({"match":"ll","idx":2,"captures":["l",null]})"},
        {R"({"$regexFind":{"input":"$s","regex":"zz"}})", "null"},
        {R"({"$regexFindAll":{"input":"$u","regex":"[éö]"}})",
         R"([{"match":"é","idx":1,"captures":[]},{"match":"ö","idx":7,"captures":[]}])"},
        {R"({"$regexFindAll":{"input":"ab","regex":""}})",
         R"([{"match":"","idx":0,"captures":[]},{"match":"","idx":1,"captures":[]},
             {"match":"","idx":2,"captures":[]}])"},
        {R"({"$regexFindAll":{"input":"$n","regex":"x"}})", "[]"},
    });
    checkErrors({
        {R"({"$regexMatch":{"input":1,"regex":"x"}})", 51104},
        {R"({"$regexMatch":{"input":"a","regex":1}})", 51105},
        {R"({"$regexMatch":{"input":"a","regex":"("}})", 51111},
        {R"({"$regexMatch":{"input":"a"}})", 31023},
        {R"({"$regexMatch":{"input":"a","regex":"a","x":1}})", 31024},
        {R"({"$regexMatch":"a"})", 51103},
    });
}

TEST(MoreExpressions, DatesInZones) {
    checkMore({
        {R"({"$hour":{"date":"$d","timezone":"Europe/Berlin"}})", "14"},
        {R"({"$hour":{"date":"$d","timezone":"+05:30"}})", "18"},
        {R"({"$minute":{"date":"$d","timezone":"+0530"}})", "44"},
        {R"({"$dateToString":{"date":"$d","timezone":"America/New_York"}})",
         R"("2024-02-29T08:14:15.016")"},
        {R"({"$dateToString":{"date":"$d","format":"%d %b %Y %B %z %Z","timezone":"-03"}})",
         R"("29 Feb 2024 February -0300 -180")"},
        {R"({"$dateAdd":{"startDate":"$d","unit":"year","amount":1}})",
         R"({"$date":"2025-02-28T13:14:15.016Z"})"},
        {R"({"$dateAdd":{"startDate":{"$date":"2024-01-31T00:00:00Z"},"unit":"month","amount":1}})",
         R"({"$date":"2024-02-29T00:00:00Z"})"},
        {R"({"$dateSubtract":{"startDate":"$d","unit":"quarter","amount":1}})",
         R"({"$date":"2023-11-29T13:14:15.016Z"})"},
        // Clocks go forward on 2024-03-31: one day later is 23 hours later.
        {R"({"$dateAdd":{"startDate":{"$date":"2024-03-30T12:00:00Z"},"unit":"day","amount":1,
             "timezone":"Europe/Berlin"}})",
         R"({"$date":"2024-03-31T11:00:00Z"})"},
        {R"({"$dateAdd":{"startDate":{"$date":"2024-03-30T12:00:00Z"},"unit":"hour","amount":24,
             "timezone":"Europe/Berlin"}})",
         R"({"$date":"2024-03-31T12:00:00Z"})"},
        {R"({"$dateDiff":{"startDate":{"$date":"2023-12-31T23:00:00Z"},"endDate":"$d",
             "unit":"year"}})",
         R"({"$numberLong":"1"})"},
        {R"({"$dateDiff":{"startDate":{"$date":"2024-02-24T00:00:00Z"},"endDate":"$d",
             "unit":"week"}})",
         R"({"$numberLong":"1"})"},
        {R"({"$dateDiff":{"startDate":{"$date":"2024-02-24T00:00:00Z"},"endDate":"$d",
             "unit":"week","startOfWeek":"fri"}})",
         R"({"$numberLong":"0"})"},
        {R"({"$dateTrunc":{"date":"$d","unit":"month"}})", R"({"$date":"2024-02-01T00:00:00Z"})"},
        {R"({"$dateTrunc":{"date":"$d","unit":"week","startOfWeek":"monday"}})",
         R"({"$date":"2024-02-26T00:00:00Z"})"},
        {R"({"$dateTrunc":{"date":"$d","unit":"hour","binSize":6}})",
         R"({"$date":"2024-02-29T12:00:00Z"})"},
        {R"({"$dateTrunc":{"date":"$d","unit":"day","timezone":"Europe/Berlin"}})",
         R"({"$date":"2024-02-28T23:00:00Z"})"},
        {R"({"$dateFromParts":{"year":2024,"month":14,"day":0}})",
         R"({"$date":"2025-01-31T00:00:00Z"})"},
        {R"({"$dateFromParts":{"isoWeekYear":2024,"isoWeek":9,"isoDayOfWeek":4}})",
         R"({"$date":"2024-02-29T00:00:00Z"})"},
        {R"({"$dateToParts":{"date":"$d"}})",
         R"({"year":2024,"month":2,"day":29,"hour":13,"minute":14,"second":15,"millisecond":16})"},
        {R"({"$dateFromString":{"dateString":"2024-02-29T12:00:00","timezone":"Europe/Berlin"}})",
         R"({"$date":"2024-02-29T11:00:00Z"})"},
        {R"({"$dateFromString":{"dateString":"29.02.2024 05","format":"%d.%m.%Y %H"}})",
         R"({"$date":"2024-02-29T05:00:00Z"})"},
        {R"({"$dateFromString":{"dateString":"x","onError":"bad"}})", R"("bad")"},
        {R"({"$dateFromString":{"dateString":null,"onNull":1}})", "1"},
    });
    checkErrors({
        {R"({"$hour":{"date":"$d","timezone":"Nowhere/Town"}})", 40485},
        {R"({"$hour":{"date":"$d","timezone":7}})", 40517},
        {R"({"$dateAdd":{"startDate":"$d","unit":7,"amount":1}})", 5439013},
        {R"({"$dateAdd":{"startDate":"$d","unit":"day","amount":1.5}})", 5166405},
        {R"({"$dateAdd":{"startDate":"$d","unit":"year","amount":{"$numberLong":"9007199254740993"}}})",
         5166406},
        {R"({"$dateFromParts":{"year":0}})", 40523},
        {R"({"$dateFromParts":{"year":2020,"isoWeek":3}})", 40489},
        {R"({"$dateFromParts":{"isoWeekYear":2020,"day":3}})", 40525},
        {R"({"$dateFromParts":{"month":3}})", 40516},
        {R"({"$dateFromParts":{"year":2000,"month":40000}})", 31034},
        {R"({"$dateToString":{"date":"$d","format":"%q"}})", 18536},
    });
}

TEST(MoreExpressions, Mathematics) {
    checkMore({
        {R"({"$exp":0})", "1.0"},
        {R"({"$ln":1})", "0.0"},
        {R"({"$log10":1000})", "3.0"},
        {R"({"$log":[8,2]})", "3.0"},
        {R"({"$sin":0})", "0.0"},
        {R"({"$cos":{"$numberDecimal":"0"}})",
         R"({"$numberDecimal":"1.000000000000000000000000000000000"})"},
        {R"({"$atan2":[0,1]})", "0.0"},
        {R"({"$degreesToRadians":0})", "0.0"},
        {R"({"$bitAnd":[12,10]})", "8"},
        {R"({"$bitOr":[12,{"$numberLong":"3"}]})", R"({"$numberLong":"15"})"},
        {R"({"$bitXor":[]})", "0"},
        {R"({"$bitNot":5})", "-6"},
        {R"({"$pow":[{"$numberDecimal":"2"},10]})", R"({"$numberDecimal":"1024"})"},
        {R"({"$sqrt":{"$numberDecimal":"9"}})", R"({"$numberDecimal":"3"})"},
        {R"({"$sin":"$n"})", "null"},
    });
    checkErrors({
        {R"({"$ln":0})", 28766},
        {R"({"$log10":-1})", 28761},
        {R"({"$log":[8,1]})", 28759},
        {R"({"$exp":"x"})", 28765},
        {R"({"$acos":2})", 50989},
        {R"({"$sqrt":-1})", 28714},
        {R"({"$pow":[0,-1]})", 28764},
    });
}

TEST(MoreExpressions, FieldsAndConversions) {
    checkMore({
        {R"({"$setField":{"field":"a.b","input":"$o","value":7}})", R"({"x":1,"y":2,"a.b":7})"},
        {R"({"$setField":{"field":"x","input":"$o","value":"$$REMOVE"}})", R"({"y":2})"},
        {R"({"$unsetField":{"field":"y","input":"$o"}})", R"({"x":1})"},
        {R"({"$bsonSize":"$o"})", "19"},
        {R"({"$binarySize":"héllo"})", "6"},
        {R"({"$tsSecond":"$t"})", R"({"$numberLong":"7"})"},
        {R"({"$tsIncrement":"$t"})", R"({"$numberLong":"9"})"},
        {R"({"$lt":[{"$rand":{}},1]})", "true"},
        {R"({"$convert":{"input":"5","to":"int"}})", "5"},
        {R"({"$convert":{"input":"x","to":"int","onError":"bad"}})", R"("bad")"},
        {R"({"$convert":{"input":"$n","to":"int","onNull":0}})", "0"},
        {R"({"$convert":{"input":5,"to":2}})", R"("5")"},
        {R"({"$let":{"vars":{"CURRENT":"$o"},"in":"$x"}})", "1"},
    });
    checkErrors({
        {R"({"$setField":{"field":"$a","input":"$o","value":1}})", 4161106},
        {R"({"$setField":{"input":"$o","value":1}})", 4161102},
        {R"({"$bsonSize":1})", 31393},
        {R"({"$switch":{"branches":[]}})", 40068},
        {R"({"$let":{"vars":{}}})", 16877},
        {R"({"$rand":1})", 3040501},
        {R"("$$CLUSTER_TIME")", 51144},
    });
}

/// Sets of small numbers, compared with std::set.
TEST(MoreExpressions, SetsAgreeWithTheStandardOnes) {
    std::mt19937_64 random(testing::testSeed());
    const auto textOf = [](const std::vector<int>& values) {
        std::string text = "[";
        for (const int value : values) {
            text += (text.size() > 1 ? "," : "") + std::to_string(value);
        }
        return text + "]";
    };
    for (int round = 0; round < 300; ++round) {
        std::vector<int> a(random() % 8);
        std::vector<int> b(random() % 8);
        std::generate(a.begin(), a.end(), [&] { return static_cast<int>(random() % 6); });
        std::generate(b.begin(), b.end(), [&] { return static_cast<int>(random() % 6); });
        const std::set<int> x(a.begin(), a.end());
        const std::set<int> y(b.begin(), b.end());
        std::vector<int> both;
        std::set_union(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
        const std::string arguments = "[" + textOf(a) + "," + textOf(b) + "]";
        checkMore({{(R"({"$setUnion":)" + arguments + "}").c_str(), textOf(both).c_str()}});
        both.clear();
        std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
        checkMore({{(R"({"$setIntersection":)" + arguments + "}").c_str(), textOf(both).c_str()}});
        checkMore({{(R"({"$setEquals":)" + arguments + "}").c_str(), x == y ? "true" : "false"}});
        checkMore({{(R"({"$setIsSubset":)" + arguments + "}").c_str(),
                    std::includes(y.begin(), y.end(), x.begin(), x.end()) ? "true" : "false"}});
    }
}

/// A date taken apart and put together again is the same, in any zone.
TEST(MoreExpressions, DatesSurviveTheirParts) {
    std::mt19937_64 random(testing::testSeed());
    for (int round = 0; round < 300; ++round) {
        const auto millis = static_cast<int64_t>(random() % 4'000'000'000'000);
        const CalendarTime time = calendarOf(millis);
        const int64_t days = daysOf(time.year, time.month, time.day);
        EXPECT_EQ(days, floorDivide(millis, 86'400'000));
        EXPECT_EQ(isoYearStart(time.isoYear) + 7 * (time.isoWeek - 1) + time.isoDayOfWeek - 1,
                  days);
        bool hasZone = false;
        auto back = parseDateAs(*formatDate(millis, "%Y-%j %H:%M:%S.%L %z", -3 * 3'600'000),
                                "%Y-%j %H:%M:%S.%L %z",
                                &hasZone);
        ASSERT_TRUE(back.isOk()) << back.status().text();
        EXPECT_EQ(*back, millis);
        EXPECT_TRUE(hasZone);
    }
}

}  // namespace
}  // namespace freshet::query
