// SPDX-License-Identifier: Apache-2.0
/// Expressions evaluated on one document, as tables.
#include "freshet/query/expression/expression_for_test.h"

namespace freshet::query {
namespace {

constexpr const char* kValues = R"({
    "_id": 1, "a": 5, "b": 2, "s": "Hello", "e": "", "n": null, "f": 2.5, "neg": -7, "t": true,
    "arr": [1, 2, 3], "objs": [{"x": 1}, {"x": 2}, {"y": 3}], "o": {"p": {"q": 9}}, "z": 0,
    "d": {"$date": "2024-02-29T13:14:15.016Z"}, "l": {"$numberLong": "10"},
    "dec": {"$numberDecimal": "1.5"}, "u": "héllo", "$pre": 1
})";

void checkValues(std::initializer_list<ExpressionCase> cases) {
    checkOn(kValues, cases);
}

TEST(Expression, PathsAndLiterals) {
    checkValues({
        {"\"$a\"", "5"},
        {"\"$nope\"", nullptr},
        {"\"$o.p.q\"", "9"},
        {"\"$objs.x\"", "[1,2]"},
        {"\"$a.b\"", nullptr},
        {"\"$$ROOT.a\"", "5"},
        {"\"$$CURRENT.o.p\"", R"({"q":9})"},
        {"\"$$REMOVE\"", nullptr},
        {"\"x\"", "\"x\""},
        {"7", "7"},
        {R"({"$literal":"$a"})", "\"$a\""},
        {R"({"x":"$a","y":"$nope"})", R"({"x":5})"},
        {R"(["$a","$nope"])", "[5,null]"},
        {R"({"$let":{"vars":{"v":"$a","w":2},"in":{"$add":["$$v","$$w"]}}})", "7"},
        {R"({"$let":{"vars":{"v":"$o"},"in":"$$v.p.q"}})", "9"},
        {R"({"$let":{"vars":{"v":1},"in":{"$let":{"vars":{"v":2},"in":"$$v"}}}})", "2"},
        {R"({"$getField":"a"})", "5"},
        {R"({"$getField":{"field":{"$literal":"$pre"},"input":"$$ROOT"}})", "1"},
        {R"({"$getField":{"field":"q","input":"$o.p"}})", "9"},
    });
}

TEST(Expression, Arithmetic) {
    checkValues({
        {R"({"$add":["$a","$b"]})", "7"},
        {R"({"$add":["$a",1.5]})", "6.5"},
        {R"({"$add":[]})", "0"},
        {R"({"$add":["$a","$n"]})", "null"},
        {R"({"$add":[2147483647,1]})", R"({"$numberLong":"2147483648"})"},
        {R"({"$add":["$d",1000]})", R"({"$date":"2024-02-29T13:14:16.016Z"})"},
        {R"({"$add":["$dec","$a"]})", R"({"$numberDecimal":"6.5"})"},
        {R"({"$subtract":["$a","$b"]})", "3"},
        {R"({"$subtract":["$d",{"$date":"2024-02-29T13:14:15Z"}]})", R"({"$numberLong":"16"})"},
        {R"({"$multiply":["$a","$b",3]})", "30"},
        {R"({"$multiply":["$l",2]})", R"({"$numberLong":"20"})"},
        {R"({"$divide":["$a","$b"]})", "2.5"},
        {R"({"$divide":[4,2]})", "2.0"},
        {R"({"$divide":["$n",2]})", "null"},
        {R"({"$mod":["$a","$b"]})", "1"},
        {R"({"$mod":["$neg",3]})", "-1"},
        {R"({"$mod":[5.5,2]})", "1.5"},
        {R"({"$abs":"$neg"})", "7"},
        {R"({"$ceil":2.1})", "3.0"},
        {R"({"$floor":-2.1})", "-3.0"},
        {R"({"$floor":"$a"})", "5"},
        {R"({"$round":2.5})", "2.0"},
        {R"({"$round":3.5})", "4.0"},
        {R"({"$round":[1.234,2]})", "1.23"},
        {R"({"$round":[1234,-2]})", "1200"},
        {R"({"$round":[1250,-2]})", "1200"},
        {R"({"$trunc":[-1.98,1]})", "-1.9"},
        {R"({"$trunc":2.9})", "2.0"},
        {R"({"$sqrt":9})", "3.0"},
        {R"({"$pow":[2,10]})", "1024"},
        {R"({"$sum":["$a","$b","x"]})", "7"},
        {R"({"$sum":"$arr"})", "6"},
        {R"({"$avg":"$arr"})", "2.0"},
        {R"({"$max":"$arr"})", "3"},
        {R"({"$min":["$a","$b"]})", "2"},
    });
}

TEST(Expression, ComparisonAndLogic) {
    checkValues({
        {R"({"$eq":["$a",5]})", "true"},
        {R"({"$eq":["$a",5.0]})", "true"},
        {R"({"$eq":["$nope",null]})", "false"},
        {R"({"$ne":["$a",5]})", "false"},
        {R"({"$gt":["$a",4]})", "true"},
        {R"({"$gt":["x",4]})", "true"},
        {R"({"$gte":["$a",5]})", "true"},
        {R"({"$lt":["$a",5]})", "false"},
        {R"({"$lte":["$a",5]})", "true"},
        {R"({"$cmp":["$a",9]})", "-1"},
        {R"({"$and":["$t","$a"]})", "true"},
        {R"({"$and":["$t","$z"]})", "false"},
        {R"({"$and":[]})", "true"},
        {R"({"$or":[]})", "false"},
        {R"({"$or":["$n","$a"]})", "true"},
        {R"({"$not":["$n"]})", "true"},
        {R"({"$not":"$a"})", "false"},
        {R"({"$cond":["$t",1,2]})", "1"},
        {R"({"$cond":{"if":{"$gt":["$a",9]},"then":"x","else":"y"}})", "\"y\""},
        {R"({"$ifNull":["$nope","d"]})", "\"d\""},
        {R"({"$ifNull":["$n","$nope","d"]})", "\"d\""},
        {R"({"$ifNull":["$a","d"]})", "5"},
        {R"({"$switch":{"branches":[{"case":{"$eq":["$a",1]},"then":"x"},
             {"case":{"$eq":["$a",5]},"then":"y"}],"default":"z"}})",
         "\"y\""},
        {R"({"$switch":{"branches":[{"case":false,"then":"x"}],"default":"z"}})", "\"z\""},
        {R"({"$cond":["$t",1,{"$divide":["$a","$z"]}]})", "1"},
    });
}

TEST(Expression, Strings) {
    checkValues({
        {R"({"$concat":["$s"," ","x"]})", "\"Hello x\""},
        {R"({"$concat":["$s","$n"]})", "null"},
        {R"({"$toLower":"$s"})", "\"hello\""},
        {R"({"$toUpper":"$s"})", "\"HELLO\""},
        {R"({"$toUpper":"$n"})", "\"\""},
        {R"({"$substrBytes":["$s",1,3]})", "\"ell\""},
        {R"({"$substr":["$s",1,-1]})", "\"ello\""},
        {R"({"$substrCP":["$u",1,2]})", "\"él\""},
        {R"({"$substrCP":["$u",9,2]})", "\"\""},
        {R"({"$strLenBytes":"$u"})", "6"},
        {R"({"$strLenCP":"$u"})", "5"},
        {R"({"$split":["a-b-c","-"]})", R"(["a","b","c"])"},
        {R"({"$split":["a","-"]})", R"(["a"])"},
        {R"({"$indexOfCP":["$u","l"]})", "2"},
        {R"({"$indexOfBytes":["$u","l"]})", "3"},
        {R"({"$indexOfCP":["$u","z"]})", "-1"},
        {R"({"$indexOfCP":["$u","l",3]})", "3"},
        {R"({"$trim":{"input":"  x y "}})", "\"x y\""},
        {R"({"$ltrim":{"input":"xxyx","chars":"x"}})", "\"yx\""},
        {R"({"$rtrim":{"input":"xxyx","chars":"x"}})", "\"xxy\""},
        {R"({"$regexMatch":{"input":"$s","regex":"^he","options":"i"}})", "true"},
        {R"({"$regexMatch":{"input":"$s","regex":"^he"}})", "false"},
        {R"({"$replaceAll":{"input":"a-b-c","find":"-","replacement":"+"}})", "\"a+b+c\""},
        {R"({"$replaceOne":{"input":"a-b-c","find":"-","replacement":"+"}})", "\"a+b-c\""},
        {R"({"$strcasecmp":["ABC","abd"]})", "-1"},
    });
}

TEST(Expression, Arrays) {
    checkValues({
        {R"({"$size":"$arr"})", "3"},
        {R"({"$arrayElemAt":["$arr",0]})", "1"},
        {R"({"$arrayElemAt":["$arr",-1]})", "3"},
        {R"({"$arrayElemAt":["$arr",9]})", nullptr},
        {R"({"$first":"$arr"})", "1"},
        {R"({"$last":"$arr"})", "3"},
        {R"({"$in":[2,"$arr"]})", "true"},
        {R"({"$in":["x","$arr"]})", "false"},
        {R"({"$indexOfArray":["$arr",3]})", "2"},
        {R"({"$concatArrays":["$arr",[4]]})", "[1,2,3,4]"},
        {R"({"$concatArrays":["$arr","$n"]})", "null"},
        {R"({"$slice":["$arr",2]})", "[1,2]"},
        {R"({"$slice":["$arr",-2]})", "[2,3]"},
        {R"({"$slice":["$arr",1,1]})", "[2]"},
        {R"({"$isArray":"$arr"})", "true"},
        {R"({"$isArray":["$a"]})", "false"},
        {R"({"$range":[0,5,2]})", "[0,2,4]"},
        {R"({"$range":[3,0,-1]})", "[3,2,1]"},
        {R"({"$reverseArray":"$arr"})", "[3,2,1]"},
        {R"({"$filter":{"input":"$arr","as":"x","cond":{"$gt":["$$x",1]}}})", "[2,3]"},
        {R"({"$filter":{"input":"$arr","cond":{"$gt":["$$this",1]},"limit":1}})", "[2]"},
        {R"({"$map":{"input":"$arr","as":"x","in":{"$multiply":["$$x","$a"]}}})", "[5,10,15]"},
        {R"({"$map":{"input":"$objs","in":"$$this.x"}})", "[1,2,null]"},
        {R"({"$map":{"input":"$n","in":1}})", "null"},
        {R"({"$reduce":{"input":"$arr","initialValue":0,"in":{"$add":["$$value","$$this"]}}})",
         "6"},
        {R"({"$reduce":{"input":["a","b"],"initialValue":"","in":{"$concat":["$$value","$$this"]}}})",
         "\"ab\""},
        {R"({"$allElementsTrue":["$arr"]})", "true"},
        {R"({"$anyElementTrue":[[0,null]]})", "false"},
    });
}

TEST(Expression, ObjectsAndTypes) {
    checkValues({
        {R"({"$mergeObjects":[{"x":1},{"y":2,"x":3}]})", R"({"x":3,"y":2})"},
        {R"({"$mergeObjects":["$n","$o"]})", R"({"p":{"q":9}})"},
        {R"({"$objectToArray":{"x":1,"y":"$a"}})", R"([{"k":"x","v":1},{"k":"y","v":5}])"},
        {R"({"$arrayToObject":[[["x",1],["y",2]]]})", R"({"x":1,"y":2})"},
        {R"({"$arrayToObject":[[{"k":"x","v":1}]]})", R"({"x":1})"},
        {R"({"@type":"$a"})", "\"int\""},
        {R"({"@type":"$nope"})", "\"missing\""},
        {R"({"@type":"$d"})", "\"date\""},
        {R"({"$isNumber":"$f"})", "true"},
        {R"({"$toString":"$a"})", "\"5\""},
        {R"({"$toString":2.5})", "\"2.5\""},
        {R"({"$toString":{"$numberDecimal":"0.3"}})", "\"0.3\""},
        {R"({"$toString":{"$numberDecimal":"-1E+40"}})", "\"-1E+40\""},
        {R"({"$toString":"$t"})", "\"true\""},
        {R"({"$toString":"$d"})", "\"2024-02-29T13:14:15.016Z\""},
        {R"({"$toInt":"42"})", "42"},
        {R"({"$toInt":2.9})", "2"},
        {R"({"$toInt":"$n"})", "null"},
        {R"({"$toLong":"42"})", R"({"$numberLong":"42"})"},
        {R"({"$toDouble":"2.5"})", "2.5"},
        {R"({"$toDouble":"$t"})", "1.0"},
        {R"({"$toBool":"$z"})", "false"},
        {R"({"$toBool":"x"})", "true"},
        {R"({"$toDecimal":"2.50"})", R"({"$numberDecimal":"2.50"})"},
        {R"({"$let":{"vars":{"r":{"$literal":{"$ref":"c","$id":5}}},"in":"$$r.$id"}})", "5"},
        {R"({"$toDecimal":true})", R"({"$numberDecimal":"1"})"},
        {R"({"$toDecimal":{"$date":{"$numberLong":"-5"}}})", R"({"$numberDecimal":"-5"})"},
        {R"({"$arrayToObject":{"$literal":[["a",1],["b",2],["a",3]]}})", R"({"a":3,"b":2})"},
        {R"({"$arrayToObject":{"$literal":[{"v":1,"k":"a"}]}})", R"({"a":1})"},
        {R"({"$arrayToObject":{"$literal":[]}})", "{}"},
        {R"({"$toDate":"2024-02-29T13:14:15+01:00"})", R"({"$date":"2024-02-29T12:14:15Z"})"},
        {R"({"$toObjectId":"0123456789abcdef01234567"})", R"({"$oid":"0123456789abcdef01234567"})"},
    });
}

TEST(Expression, Dates) {
    checkValues({
        {R"({"$year":"$d"})", "2024"},
        {R"({"$month":"$d"})", "2"},
        {R"({"$dayOfMonth":"$d"})", "29"},
        {R"({"$hour":"$d"})", "13"},
        {R"({"$minute":"$d"})", "14"},
        {R"({"$second":"$d"})", "15"},
        {R"({"$millisecond":"$d"})", "16"},
        {R"({"$dayOfYear":"$d"})", "60"},
        {R"({"$dayOfWeek":"$d"})", "5"},
        {R"({"$isoWeek":"$d"})", "9"},
        {R"({"$isoDayOfWeek":"$d"})", "4"},
        {R"({"$week":"$d"})", "8"},
        {R"({"$isoWeekYear":{"$date":"2021-01-01T00:00:00Z"}})", R"({"$numberLong":"2020"})"},
        {R"({"$isoWeek":{"$date":"2021-01-01T00:00:00Z"}})", "53"},
        {R"({"$year":{"$date":"1969-12-31T23:59:59Z"}})", "1969"},
        {R"({"$year":{"date":"$d","timezone":"UTC"}})", "2024"},
        {R"({"$year":"$n"})", "null"},
        {R"({"$dateToString":{"date":"$d"}})", "\"2024-02-29T13:14:15.016Z\""},
        {R"({"$dateToString":{"date":"$d","format":"%Y-%m-%d %j%%"}})", "\"2024-02-29 060%\""},
        {R"({"$dateToString":{"date":"$n","onNull":"x"}})", "\"x\""},
    });
}

TEST(Expression, Errors) {
    struct ErrorCase {
        const char* expression;
        Reason reason;
        const char* text;
    };
    const ErrorCase cases[] = {
        {R"({"$foo":1})", Reason::kUnknownExpression, "Unrecognized expression '$foo'"},
        {R"({"$add":1,"b":2})", Reason::kExpressionNotSingleField, "exactly one field"},
        {R"("$$nope")", Reason::kUndefinedVariable, "Use of undefined variable: nope"},
        {R"("$")", Reason::kFieldPathInvalid, "'$' by itself is not a valid FieldPath"},
        {R"("$a.")", location(40353), "FieldPath must not end with a '.'."},
        {R"({"a.b":1})", location(16412), "may not contain '.'"},
        {R"({"$subtract":[1]})",
         Reason::kExpressionArity,
         "Expression $subtract takes exactly 2 arguments. 1 were passed in."},
        {R"({"$round":[1,2,3]})",
         location(28667),
         "takes at least 1 arguments, and at most 2, but 3 were passed in."},
        {R"({"$cond":[1,2]})", Reason::kExpressionArity, "Expression $cond takes exactly 3"},
        {R"({"$add":["$s",1]})",
         Reason::kTypeMismatch,
         "$add only supports numeric or date types, not string"},
        {R"({"$subtract":["$s",1]})", Reason::kTypeMismatch, "can't $subtract int from string"},
        {R"({"$multiply":["$s",1]})",
         Reason::kTypeMismatch,
         "$multiply only supports numeric types"},
        {R"({"$divide":["$a","$z"]})", Reason::kBadValue, "can't $divide by zero"},
        {R"({"$mod":["$a",0]})", location(16610), "can't $mod by zero"},
        {R"({"$concat":["$a"]})", location(16702), "$concat only supports strings, not int"},
        {R"({"$size":"$a"})",
         location(17124),
         "The argument to $size must be an array, but was of type: int"},
        {R"({"$in":[1,"$a"]})", location(40081), "$in requires an array as a second argument"},
        {R"({"$filter":{"input":"$a","cond":1}})",
         location(28651),
         "input to $filter must be an array not int"},
        {R"({"$filter":{"input":"$arr"}})", location(28650), "Missing 'cond' parameter"},
        {R"({"$toInt":"x"})", Reason::kConversionFailure, "Failed to parse number 'x' in $convert"},
        {R"({"$toInt":3000000000.0})", Reason::kConversionFailure, "would overflow"},
        {R"({"$toObjectId":"x"})", Reason::kConversionFailure, "Failed to parse objectId 'x'"},
        {R"({"$switch":{"branches":[{"case":false,"then":1}]}})",
         Reason::kSwitchNoBranch,
         "could not find a matching branch"},
        {R"({"$mergeObjects":["$a"]})", location(40400), "$mergeObjects requires object inputs"},
        {R"({"$year":"$s"})", location(16006), "can't convert from BSON type string to Date"},
        {R"({"$year":{"date":"$d","timezone":"Europe/Nowhere"}})", location(40485), "time zone"},
        {R"({"$year":{"date":"$d","timezone":"PST"}})", location(40485), "identifier: \"PST\""},
        {R"({"$reduce":0})", location(40075), "requires an object as an argument, found: int"},
        {R"({"$reduce":{"input":[],"initialValue":1,"in":1,"more":1}})",
         location(40076),
         "unknown argument: more"},
        {R"({"$getField":{"field":"a","input":{},"more":1}})", location(3041701), "argument: more"},
        {R"({"$getField":{"input":{}}})", location(3041702), "requires 'field'"},
        {R"({"$getField":{"field":"a"}})", location(3041703), "requires 'input'"},
        {R"({"$arrayToObject":{"$literal":[["a",1],{"k":"b","v":2}]}})",
         location(40396),
         "Array was detected, now found: object"},
        {R"({"$arrayToObject":{"$literal":[{"k":"b","v":2},["a",1]]}})",
         location(40391),
         "Object was detected, now found: array"},
        {R"({"$arrayToObject":{"$literal":[["a",1,2]]}})", location(40397), "of size: 3"},
        {R"({"$arrayToObject":{"$literal":[[1,2]]}})", location(40395), "Found key type: int"},
        {R"({"$arrayToObject":{"$literal":[{"k":"a"}]}})", location(40392), "number of keys:1"},
        {R"({"$arrayToObject":{"$literal":[{"k":"a","x":1}]}})", location(40393), "Missing"},
        {R"({"$arrayToObject":{"$literal":[{"k":1,"v":1}]}})", location(40394), "type: int"},
        {R"({"$arrayToObject":{"$literal":[5]}})", location(40398), "Unrecognised input type"},
        {R"({"$trim":{"input":"$a"}})", location(50699), "$trim requires its input to be a string"},
        {R"({"$reduce":{"input":{"$range":[0,60]},"initialValue":"xxxx",
             "in":{"$concat":["$$value","$$value"]}}})",
         Reason::kExceededMemoryLimit,
         "exceeds"},
        {R"({"$reduce":{"input":{"$range":[0,1000]},"initialValue":1,"in":["$$value"]}})",
         Reason::kOverflow,
         "exceeds the limit of 200 levels of nesting"},
    };
    for (const ErrorCase& one : cases) {
        const Status status = evaluatedOn(kValues, one.expression).status();
        EXPECT_EQ(status.reason(), one.reason) << one.expression << ": " << status.text();
        EXPECT_NE(status.text().find(one.text), std::string_view::npos)
            << one.expression << ": " << status.text();
    }
}

}  // namespace
}  // namespace freshet::query
