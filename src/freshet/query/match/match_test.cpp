// SPDX-License-Identifier: Apache-2.0
/// Filters against documents, as tables: what matches, what does not, and what is refused.
#include "freshet/query/match.h"

#include "freshet/query/match/json_for_test.h"

namespace freshet::query {
namespace {

struct MatchCase {
    const char* filter;
    const char* document;
    bool matches;
};

void check(std::initializer_list<MatchCase> cases) {
    for (const MatchCase& one : cases) {
        auto matcher = Matcher::compile(json(one.filter).view());
        ASSERT_TRUE(matcher.isOk()) << one.filter << ": " << matcher.status().text();
        const bson::OwnedDocument document = json(one.document);
        EXPECT_EQ((*matcher)->matches(document.view()), one.matches)
            << one.filter << " on " << one.document;
    }
}

TEST(Match, Equality) {
    check({
        {"{}", "{}", true},
        {"{}", R"({"a":1})", true},
        {R"({"a":1})", R"({"a":1})", true},
        {R"({"a":1})", R"({"a":2})", false},
        {R"({"a":1})", R"({"a":1.0})", true},
        {R"({"a":1})", R"({"a":{"$numberLong":"1"}})", true},
        {R"({"a":1})", R"({"a":{"$numberDecimal":"1.00"}})", true},
        {R"({"a":1})", R"({"a":"1"})", false},
        {R"({"a":1})", R"({"b":1})", false},
        {R"({"a":1,"b":2})", R"({"a":1,"b":2})", true},
        {R"({"a":1,"b":2})", R"({"a":1,"b":3})", false},
        {R"({"a":"x"})", R"({"a":"x"})", true},
        {R"({"a":"x"})", R"({"a":"xy"})", false},
        {R"({"a":true})", R"({"a":true})", true},
        {R"({"a":true})", R"({"a":1})", false},
        {R"({"a":{"b":1}})", R"({"a":{"b":1}})", true},
        {R"({"a":{"b":1}})", R"({"a":{"b":1,"c":2}})", false},
        {R"({"a":{"b":1,"c":2}})", R"({"a":{"c":2,"b":1}})", false},
        {R"({"a":{}})", R"({"a":{}})", true},
        {R"({"a":{"$eq":5}})", R"({"a":5})", true},
        {R"({"a":{"$eq":5}})", R"({"a":[4,5]})", true},
        {R"({"a":{"$eq":{"$regularExpression":{"pattern":"x","options":""}}}})",
         R"({"a":"x"})",
         false},
        {R"({"a":{"$numberDouble":"NaN"}})", R"({"a":{"$numberDouble":"NaN"}})", true},
        {R"({"a":{"$numberDouble":"NaN"}})", R"({"a":1})", false},
        {R"({"a":{"$ref":"c","$id":1}})", R"({"a":{"$ref":"c","$id":1}})", true},
    });
}

TEST(Match, NullMatchesMissing) {
    check({
        {R"({"a":null})", "{}", true},
        {R"({"a":null})", R"({"a":null})", true},
        {R"({"a":null})", R"({"a":{"$undefined":true}})", true},
        {R"({"a":null})", R"({"a":0})", false},
        {R"({"a":null})", R"({"a":[]})", false},
        {R"({"a":null})", R"({"a":[1,null]})", true},
        {R"({"a.b":null})", "{}", true},
        {R"({"a.b":null})", R"({"a":5})", true},
        {R"({"a.b":null})", R"({"a":[]})", false},
        {R"({"a.b":null})", R"({"a":[5]})", false},
        {R"({"a.b":null})", R"({"a":[{}]})", true},
        {R"({"a.b":null})", R"({"a":[{"b":1},{"c":1}]})", true},
        {R"({"a.b":null})", R"({"a":[{"b":1}]})", false},
        {R"({"a":{"$ne":null}})", "{}", false},
        {R"({"a":{"$ne":null}})", R"({"a":1})", true},
        {R"({"a":{"$in":[null,7]}})", "{}", true},
        {R"({"a":{"$in":[7]}})", "{}", false},
        {R"({"a":{"$gte":null}})", "{}", true},
        {R"({"a":{"$lte":null}})", R"({"a":null})", true},
        {R"({"a":{"$gt":null}})", R"({"a":null})", false},
        {R"({"a":{"$gt":null}})", R"({"a":5})", false},
    });
}

TEST(Match, Ranges) {
    check({
        {R"({"a":{"$gt":5}})", R"({"a":6})", true},
        {R"({"a":{"$gt":5}})", R"({"a":5})", false},
        {R"({"a":{"$gt":5}})", R"({"a":5.5})", true},
        {R"({"a":{"$gt":5}})", R"({"a":"z"})", false},
        {R"({"a":{"$gt":5}})", R"({"a":null})", false},
        {R"({"a":{"$gt":5}})", "{}", false},
        {R"({"a":{"$gte":5}})", R"({"a":5})", true},
        {R"({"a":{"$lt":5}})", R"({"a":4})", true},
        {R"({"a":{"$lt":5}})", R"({"a":{"$numberDouble":"NaN"}})", false},
        {R"({"a":{"$lte":5}})", R"({"a":5})", true},
        {R"({"a":{"$gt":1,"$lt":5}})", R"({"a":3})", true},
        {R"({"a":{"$gt":1,"$lt":5}})", R"({"a":5})", false},
        {R"({"a":{"$gt":4,"$lt":2}})", R"({"a":[1,5]})", true},
        {R"({"a":{"$lt":"b"}})", R"({"a":"a"})", true},
        {R"({"a":{"$lt":"b"}})", R"({"a":1})", false},
        {R"({"a":{"$gt":{"$numberDouble":"NaN"}}})", R"({"a":1})", false},
        {R"({"a":{"$gte":{"$numberDouble":"NaN"}}})", R"({"a":{"$numberDouble":"NaN"}})", true},
        {R"({"a":{"$gt":{"$date":"2020-01-01T00:00:00Z"}}})",
         R"({"a":{"$date":"2021-01-01T00:00:00Z"}})",
         true},
        {R"({"a":{"$gt":{"$date":"2020-01-01T00:00:00Z"}}})", R"({"a":5})", false},
        {R"({"a":{"$gt":{"b":1}}})", R"({"a":{"b":2}})", true},
        {R"({"a":{"$gt":[1]}})", R"({"a":[2]})", true},
        {R"({"a":{"$gt":[1]}})", R"({"a":[1]})", false},
        {R"({"a":{"$gt":[1]}})", R"({"a":2})", false},
        {R"({"a":{"$gt":{"$minKey":1}}})", R"({"a":"x"})", true},
        {R"({"a":{"$lt":{"$maxKey":1}}})", R"({"a":{"b":1}})", true},
        {R"({"a":{"$gt":{"$maxKey":1}}})", R"({"a":1})", false},
        {R"({"a":{"$lte":true}})", R"({"a":false})", true},
    });
}

TEST(Match, ArraysAreEnteredImplicitly) {
    check({
        {R"({"a":2})", R"({"a":[1,2]})", true},
        {R"({"a":3})", R"({"a":[1,2]})", false},
        {R"({"a":[1,2]})", R"({"a":[1,2]})", true},
        {R"({"a":[1,2]})", R"({"a":[[1,2],3]})", true},
        {R"({"a":[1,2]})", R"({"a":[2,1]})", false},
        {R"({"a":1})", R"({"a":[[1]]})", false},
        {R"({"a.b":1})", R"({"a":{"b":1}})", true},
        {R"({"a.b":1})", R"({"a":[{"b":2},{"b":1}]})", true},
        {R"({"a.b":1})", R"({"a":[{"b":[3,1]}]})", true},
        {R"({"a.b":1})", R"({"a":[[{"b":1}]]})", false},
        {R"({"a.b.c":1})", R"({"a":[{"b":[{"c":1}]}]})", true},
        {R"({"a.0":1})", R"({"a":[1,2]})", true},
        {R"({"a.1":1})", R"({"a":[1,2]})", false},
        {R"({"a.0":1})", R"({"a":{"0":1}})", true},
        {R"({"a.0":1})", R"({"a":[{"0":1}]})", true},
        {R"({"a.0.b":1})", R"({"a":[{"b":1},{"b":2}]})", true},
        {R"({"a.1.b":1})", R"({"a":[{"b":1},{"b":2}]})", false},
        {R"({"a.0.0":7})", R"({"a":[[7]]})", true},
        {R"({"a.0.b":11})", R"({"a":[[{"b":11}]]})", true},
        {R"({"a.0.b":11})", R"({"a":[[{"b":12}],[{"b":11}]]})", false},
        {R"({"a.0.1.b":11})", R"({"a":[[{"b":12},{"b":11}]]})", true},
        {R"({"a.00":1})", R"({"a":[1]})", false},
        {R"({"a.b.0":1})", R"({"a":{"b":[1]}})", true},
        {R"({"a":{"$ne":2}})", R"({"a":[1,2]})", false},
        {R"({"a":{"$ne":3}})", R"({"a":[1,2]})", true},
    });
}

TEST(Match, InAndNin) {
    check({
        {R"({"a":{"$in":[1,2]}})", R"({"a":2})", true},
        {R"({"a":{"$in":[1,2]}})", R"({"a":3})", false},
        {R"({"a":{"$in":[1,2]}})", R"({"a":[5,1]})", true},
        {R"({"a":{"$in":[]}})", R"({"a":1})", false},
        {R"({"a":{"$in":[[1,2]]}})", R"({"a":[1,2]})", true},
        {R"({"a":{"$in":["x",{"$regularExpression":{"pattern":"^b","options":"i"}}]}})",
         R"({"a":"Bob"})",
         true},
        {R"({"a":{"$in":["x",{"$regularExpression":{"pattern":"^b","options":""}}]}})",
         R"({"a":"Bob"})",
         false},
        {R"({"a":{"$nin":[1,2]}})", R"({"a":3})", true},
        {R"({"a":{"$nin":[1,2]}})", R"({"a":1})", false},
        {R"({"a":{"$nin":[1,2]}})", "{}", true},
        {R"({"a":{"$nin":[1,2]}})", R"({"a":[7,2]})", false},
        {R"({"a":{"$nin":[null]}})", "{}", false},
    });
}

TEST(Match, Logic) {
    check({
        {R"({"$and":[{"a":1},{"b":2}]})", R"({"a":1,"b":2})", true},
        {R"({"$and":[{"a":1},{"b":2}]})", R"({"a":1})", false},
        {R"({"$or":[{"a":1},{"b":2}]})", R"({"b":2})", true},
        {R"({"$or":[{"a":1},{"b":2}]})", R"({"b":3})", false},
        {R"({"$nor":[{"a":1},{"b":2}]})", R"({"b":3})", true},
        {R"({"$nor":[{"a":1},{"b":2}]})", R"({"a":1})", false},
        {R"({"a":{"$not":{"$gt":5}}})", R"({"a":3})", true},
        {R"({"a":{"$not":{"$gt":5}}})", R"({"a":7})", false},
        {R"({"a":{"$not":{"$gt":5}}})", "{}", true},
        {R"({"a":{"$not":{"$gt":1,"$lt":5}}})", R"({"a":7})", true},
        {R"({"a":{"$not":{"$regularExpression":{"pattern":"^x","options":""}}}})",
         R"({"a":"xy"})",
         false},
        {R"({"a":{"$not":{"$not":{"$eq":1}}}})", R"({"a":1})", true},
        {R"({"$comment":"why","a":1})", R"({"a":1})", true},
        {R"({"a":{"$eq":1,"$comment":"why"}})", R"({"a":1})", true},
        {R"({"$or":[{"a":1},{"$and":[{"b":1},{"c":1}]}]})", R"({"b":1,"c":1})", true},
        {R"({"$alwaysFalse":1})", "{}", false},
        {R"({"$alwaysTrue":1})", "{}", true},
    });
}

TEST(Match, ExistsTypeSizeMod) {
    check({
        {R"({"a":{"$exists":true}})", R"({"a":null})", true},
        {R"({"a":{"$exists":true}})", "{}", false},
        {R"({"a":{"$exists":true}})", R"({"a":[]})", true},
        {R"({"a":{"$exists":false}})", "{}", true},
        {R"({"a":{"$exists":false}})", R"({"a":1})", false},
        {R"({"a":{"$exists":0}})", R"({"a":1})", false},
        {R"({"a.b":{"$exists":true}})", R"({"a":[{"b":1},{}]})", true},
        {R"({"a.b":{"$exists":false}})", R"({"a":[{"b":1},{}]})", false},
        {R"({"a.b":{"$exists":false}})", R"({"a":[]})", true},
        {R"({"a":{"$not":{"$exists":false}}})", R"({"a":1})", true},
        {R"({"a":{"@type":"string"}})", R"({"a":"x"})", true},
        {R"({"a":{"@type":2}})", R"({"a":"x"})", true},
        {R"({"a":{"@type":"number"}})", R"({"a":1.5})", true},
        {R"({"a":{"@type":"number"}})", R"({"a":"1"})", false},
        {R"({"a":{"@type":["string","int"]}})", R"({"a":1})", true},
        {R"({"a":{"@type":"array"}})", R"({"a":[1]})", true},
        {R"({"a":{"@type":"int"}})", R"({"a":["x",1]})", true},
        {R"({"a":{"@type":"null"}})", "{}", false},
        {R"({"a":{"@type":-1}})", R"({"a":{"$minKey":1}})", true},
        {R"({"a":{"$size":2}})", R"({"a":[1,2]})", true},
        {R"({"a":{"$size":2}})", R"({"a":[1]})", false},
        {R"({"a":{"$size":0}})", R"({"a":[]})", true},
        {R"({"a":{"$size":1}})", R"({"a":1})", false},
        {R"({"a":{"$size":1}})", R"({"a":[[5],[6]]})", false},
        {R"({"a":{"$mod":[4,0]}})", R"({"a":8})", true},
        {R"({"a":{"$mod":[4,1]}})", R"({"a":8})", false},
        {R"({"a":{"$mod":[4,1]}})", R"({"a":5.9})", true},
        {R"({"a":{"$mod":[4,-1]}})", R"({"a":-5})", true},
        {R"({"a":{"$mod":[4,0]}})", R"({"a":"8"})", false},
        {R"({"a":{"$mod":[-1,0]}})", R"({"a":{"$numberLong":"-9223372036854775808"}})", true},
    });
}

TEST(Match, Regex) {
    check({
        {R"({"a":{"$regularExpression":{"pattern":"^ab","options":""}}})", R"({"a":"abc"})", true},
        {R"({"a":{"$regularExpression":{"pattern":"^ab","options":""}}})", R"({"a":"xab"})", false},
        {R"({"a":{"$regularExpression":{"pattern":"b","options":""}}})",
         R"({"a":["x","b"]})",
         true},
        {R"({"a":{"@regex":"AB","@options":"i"}})", R"({"a":"xabx"})", true},
        {R"({"a":{"@options":"i","@regex":"AB"}})", R"({"a":"xabx"})", true},
        {R"({"a":{"@regex":"^b","@options":"m"}})", R"({"a":"a\nb"})", true},
        {R"({"a":{"@regex":"^b"}})", R"({"a":"a\nb"})", false},
        {R"({"a":{"@regex":"a.b"}})", R"({"a":"a\nb"})", false},
        {R"({"a":{"@regex":"a.b","@options":"s"}})", R"({"a":"a\nb"})", true},
        {R"({"a":{"@regex":"a b # c","@options":"x"}})", R"({"a":"ab"})", true},
        {R"({"a":{"@regex":"^.$"}})", R"({"a":"é"})", true},
        {R"({"a":{"@regex":"a"}})", R"({"a":5})", false},
        {R"({"a":{"@regex":"a"}})",
         R"({"a":{"$regularExpression":{"pattern":"a","options":""}}})",
         true},
        {R"({"a":{"@regex":"a","$ne":"ab"}})", R"({"a":"ab"})", false},
        {R"({"a":{"@regex":"(a+)+$"}})",
         R"({"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"})",
         false},
    });
}

TEST(Match, ElemMatchAndAll) {
    check({
        {R"({"a":{"$elemMatch":{"x":1,"y":2}}})", R"({"a":[{"x":1,"y":2}]})", true},
        {R"({"a":{"$elemMatch":{"x":1,"y":2}}})", R"({"a":[{"x":1},{"y":2}]})", false},
        {R"({"a":{"$elemMatch":{"x":1}}})", R"({"a":{"x":1}})", false},
        {R"({"a":{"$elemMatch":{"$gt":1,"$lt":5}}})", R"({"a":[0,3]})", true},
        {R"({"a":{"$elemMatch":{"$gt":1,"$lt":5}}})", R"({"a":[0,9]})", false},
        {R"({"a":{"$elemMatch":{"$gt":1}}})", R"({"a":[[2]]})", false},
        {R"({"a":{"$elemMatch":{"$elemMatch":{"$gt":1}}}})", R"({"a":[[2]]})", true},
        {R"({"a":{"$elemMatch":{"$or":[{"x":1},{"y":1}]}}})", R"({"a":[{"y":1}]})", true},
        {R"({"a":{"$elemMatch":{"$not":{"$gt":5}}}})", R"({"a":[9,3]})", true},
        {R"({"a":{"$elemMatch":{"$in":[3]}}})", R"({"a":[9,3]})", true},
        {R"({"a":{"$elemMatch":{"$ne":3}}})", R"({"a":[3]})", false},
        {R"({"a.b":{"$elemMatch":{"$eq":1}}})", R"({"a":[{"b":[2]},{"b":[1]}]})", true},
        {R"({"a":{"$not":{"$elemMatch":{"x":1}}}})", R"({"a":[{"x":2}]})", true},
        {R"({"a":{"$all":[1,2]}})", R"({"a":[2,3,1]})", true},
        {R"({"a":{"$all":[1,2]}})", R"({"a":[1]})", false},
        {R"({"a":{"$all":[1]}})", R"({"a":1})", true},
        {R"({"a":{"$all":[]}})", R"({"a":[]})", false},
        {R"({"a":{"$all":[[1,2]]}})", R"({"a":[1,2]})", true},
        {R"({"a":{"$all":[{"$elemMatch":{"x":1}},{"$elemMatch":{"x":2}}]}})",
         R"({"a":[{"x":1},{"x":2}]})",
         true},
        {R"({"a":{"$all":[{"$regularExpression":{"pattern":"^x","options":""}}]}})",
         R"({"a":["y","xy"]})",
         true},
    });
}

TEST(Match, Bits) {
    check({
        {R"({"a":{"$bitsAllSet":5}})", R"({"a":7})", true},
        {R"({"a":{"$bitsAllSet":[0,2]}})", R"({"a":4})", false},
        {R"({"a":{"$bitsAnySet":[0,2]}})", R"({"a":4})", true},
        {R"({"a":{"$bitsAllClear":3}})", R"({"a":4})", true},
        {R"({"a":{"$bitsAnyClear":3}})", R"({"a":1})", true},
        {R"({"a":{"$bitsAnyClear":3}})", R"({"a":3})", false},
        {R"({"a":{"$bitsAllSet":[70]}})", R"({"a":-1})", true},
        {R"({"a":{"$bitsAllSet":1}})", R"({"a":1.5})", false},
        {R"({"a":{"$bitsAllSet":1}})", R"({"a":"x"})", false},
    });
}

TEST(Match, Expr) {
    check({
        {R"({"$expr":{"$gt":["$a","$b"]}})", R"({"a":2,"b":1})", true},
        {R"({"$expr":{"$gt":["$a","$b"]}})", R"({"a":1,"b":1})", false},
        {R"({"c":1,"$expr":{"$eq":["$a",{"$add":["$b",1]}]}})", R"({"a":2,"b":1,"c":1})", true},
        {R"({"$or":[{"$expr":{"$eq":["$a",1]}},{"b":1}]})", R"({"a":1})", true},
        {R"({"$nor":[{"$expr":"$a"}]})", R"({"a":0})", true},
    });
    auto matcher = Matcher::compile(json(R"({"$expr":{"$divide":[1,"$a"]}})").view());
    ASSERT_TRUE(matcher.isOk());
    bool matched = false;
    EXPECT_TRUE((*matcher)->test(json(R"({"a":1})").view(), &matched).isOk());
    EXPECT_TRUE(matched);
    const Status failed = (*matcher)->test(json(R"({"a":0})").view(), &matched);
    EXPECT_EQ(failed.text(), "can't $divide by zero");
    EXPECT_FALSE((*matcher)->matches(json(R"({"a":0})").view()));
}

struct ErrorCase {
    const char* filter;
    Reason reason;
    const char* text;
};

TEST(Match, RefusesWrongFilters) {
    const ErrorCase cases[] = {
        {R"({"a":{"$foo":1}})", Reason::kBadValue, "unknown operator: $foo"},
        {R"({"a":{"$gt":1,"b":2}})", Reason::kBadValue, "unknown operator: b"},
        {R"({"$foo":1})", Reason::kBadValue, "unknown top level operator: $foo"},
        {R"({"$or":1})", Reason::kBadValue, "$or must be an array"},
        {R"({"$or":[]})", Reason::kBadValue, "$and/$or/$nor must be a nonempty array"},
        {R"({"$and":[1]})", Reason::kBadValue, "$or/$and/$nor entries need to be full objects"},
        {R"({"a":{"$in":1}})", Reason::kBadValue, "$in needs an array"},
        {R"({"a":{"$in":[{"$gt":1}]}})", Reason::kBadValue, "cannot nest $ under $in"},
        {R"({"a":{"$nin":1}})", Reason::kBadValue, "$nin needs an array"},
        {R"({"a":{"$not":1}})", Reason::kBadValue, "$not needs a regex or a document"},
        {R"({"a":{"$not":{}}})", Reason::kBadValue, "$not cannot be empty"},
        {R"({"a":{"$all":1}})", Reason::kBadValue, "$all needs an array"},
        {R"({"a":{"$all":[{"$gt":1}]}})", Reason::kBadValue, "no $ expressions in $all"},
        {R"({"a":{"$elemMatch":1}})", Reason::kBadValue, "$elemMatch needs an Object"},
        {R"({"a":{"@type":"nope"}})", Reason::kBadValue, "Unknown type name alias: nope"},
        {R"({"a":{"@type":99}})", Reason::kBadValue, "Invalid numerical type code: 99"},
        {R"({"a":{"$mod":[1]}})", Reason::kBadValue, "malformed mod, not enough elements"},
        {R"({"a":{"$mod":[1,2,3]}})", Reason::kBadValue, "malformed mod, too many elements"},
        {R"({"a":{"$mod":[0,1]}})", Reason::kBadValue, "divisor cannot be 0"},
        {R"({"a":{"$mod":5}})", Reason::kBadValue, "malformed mod, needs to be an array"},
        {R"({"a":{"$size":-1}})",
         Reason::kBadValue,
         "Expected a non-negative number in: $size: -1"},
        {R"({"a":{"$size":"x"}})", Reason::kBadValue, "Expected a number in: $size"},
        {R"({"a":{"@regex":"("}})", Reason::kRegexInvalid, "Regular expression is invalid: "},
        {R"({"a":{"@regex":"a","@options":"q"}})",
         location(51108),
         "invalid flag in regex options: q"},
        {R"({"a":{"@regex":5}})", Reason::kBadValue, "$regex has to be a string"},
        {R"({"a":{"@options":"i"}})", Reason::kBadValue, "$options needs a $regex"},
        {R"({"a":{"$ne":{"$regularExpression":{"pattern":"a","options":""}}}})",
         Reason::kBadValue,
         "Can't have regex as arg to $ne."},
        {R"({"a":{"$gt":{"$regularExpression":{"pattern":"a","options":""}}}})",
         Reason::kBadValue,
         "Can't have RegEx as arg to predicate over field 'a'."},
        {R"({"a":{"$undefined":true}})", Reason::kBadValue, "cannot compare to undefined"},
        {R"({"$expr":{"$foo":1}})", Reason::kUnknownExpression, "Unrecognized expression '$foo'"},
        {R"({"a":{"$elemMatch":{"$expr":true}}})",
         Reason::kBadValue,
         "$expr can only be applied to the top-level document"},
        {R"({"$where":"1"})", Reason::kBadValue, "$where is not allowed"},
    };
    for (const ErrorCase& one : cases) {
        auto matcher = Matcher::compile(json(one.filter).view());
        ASSERT_FALSE(matcher.isOk()) << one.filter;
        EXPECT_EQ(matcher.status().reason(), one.reason) << one.filter;
        EXPECT_NE(matcher.status().text().find(one.text), std::string_view::npos)
            << one.filter << ": " << matcher.status().text();
    }
}

TEST(Match, TreeIsCanonicalForThePlanner) {
    const auto root = [](const char* filter) {
        auto matcher = Matcher::compile(json(filter).view());
        EXPECT_TRUE(matcher.isOk());
        return *std::move(matcher);
    };
    EXPECT_EQ(root("{}")->root().op, MatchOp::kAlwaysTrue);
    EXPECT_EQ(root(R"({"a":1})")->root().op, MatchOp::kEq);
    const auto range = root(R"({"a":{"$gt":1,"$lt":5}})");
    ASSERT_EQ(range->root().op, MatchOp::kAnd);
    ASSERT_EQ(range->root().children.size(), 2u);
    EXPECT_EQ(range->root().children[0]->op, MatchOp::kGt);
    EXPECT_EQ(range->root().children[1]->path, "a");
    const auto flat = root(R"({"a":1,"$and":[{"b":1},{"$and":[{"c":1},{"d":1}]}]})");
    EXPECT_EQ(flat->root().children.size(), 4u);
    EXPECT_EQ(root(R"({"$or":[{"a":1}]})")->root().op, MatchOp::kEq);
    const auto in = root(R"({"a":{"$in":[3,1,3,2]}})");
    ASSERT_EQ(in->root().operands.size(), 3u);
    EXPECT_EQ(in->root().operands[0].int32Value(), 1);
    EXPECT_EQ(root(R"({"a":{"$ne":1}})")->root().op, MatchOp::kNot);
    EXPECT_EQ(root(R"({"a":{"@regex":"^x"}})")->root().operand.type(), bson::Type::kRegex);
}

TEST(Match, MatchedIndexForThePositionalOperator) {
    struct IndexCase {
        const char* filter;
        const char* document;
        const char* path;
        int index;
    };
    const IndexCase cases[] = {
        {R"({"a":2})", R"({"a":[1,2,3]})", "a", 1},
        {R"({"a":{"$gt":2}})", R"({"a":[1,2,3]})", "a", 2},
        {R"({"a.b":5})", R"({"a":[{"b":4},{"b":5}]})", "a", 1},
        {R"({"a":{"$elemMatch":{"b":5,"c":1}}})", R"({"a":[{"b":5},{"b":5,"c":1}]})", "a", 1},
        {R"({"a":{"$elemMatch":{"$gt":2}}})", R"({"a":[1,3]})", "a", 1},
        {R"({"a":2,"b":1})", R"({"a":[1,2],"b":[1]})", "a", 1},
        {R"({"a":2,"b":1})", R"({"a":[1,2],"b":[1]})", "b", 0},
        {R"({"a":2})", R"({"a":[1,2],"b":[5,6]})", "b", 1},
        {R"({"a":1})", R"({"a":1})", "a", -1},
        {R"({"a":{"$ne":5}})", R"({"a":[1,2]})", "a", -1},
        {R"({"$or":[{"a":9},{"a":2}]})", R"({"a":[1,2]})", "a", 1},
        {R"({"a":9})", R"({"a":[1,2]})", "a", -1},
    };
    for (const IndexCase& one : cases) {
        auto matcher = Matcher::compile(json(one.filter).view());
        ASSERT_TRUE(matcher.isOk());
        EXPECT_EQ((*matcher)->matchedIndex(json(one.document).view(), one.path), one.index)
            << one.filter << " on " << one.document;
    }
}

TEST(Match, ValueConditions) {
    struct ValueCase {
        const char* condition;
        const char* holder;  // its field v is tested
        bool matches;
    };
    const ValueCase cases[] = {
        {R"({"$gt":5})", R"({"v":6})", true},
        {R"({"$gt":5})", R"({"v":4})", false},
        {R"({"$gt":5})", R"({"v":[6]})", false},
        {R"({"$in":[1,2]})", R"({"v":2})", true},
        {R"({"$gte":1,"$lt":3})", R"({"v":3})", false},
        {R"({"x":1})", R"({"v":{"x":1,"y":2}})", true},
        {R"({"x":{"$gt":1}})", R"({"v":{"x":1}})", false},
        {R"({"x":1})", R"({"v":1})", false},
        {R"({"$or":[{"x":1},{"y":1}]})", R"({"v":{"y":1}})", true},
        {R"({"$elemMatch":{"q":1}})", R"({"v":[{"q":1}]})", true},
    };
    for (const ValueCase& one : cases) {
        auto matcher = compileValueMatcher(json(one.condition).view());
        ASSERT_TRUE(matcher.isOk()) << one.condition;
        const bson::OwnedDocument holder = json(one.holder);
        EXPECT_EQ(matchesValue(**matcher, holder.view().find("v")), one.matches)
            << one.condition << " on " << one.holder;
    }
}

}  // namespace
}  // namespace freshet::query
