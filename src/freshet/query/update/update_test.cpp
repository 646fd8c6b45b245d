// SPDX-License-Identifier: Apache-2.0
/// Updates applied to documents, as tables.
#include "freshet/query/update.h"

#include "freshet/query/match/json_for_test.h"

namespace freshet::query {
namespace {

struct Case {
    const char* before;
    const char* update;
    const char* after;  // null: nothing changes
    const char* arrayFilters = "{}";
    const char* filter = "{}";
};

void check(std::initializer_list<Case> cases) {
    for (const Case& one : cases) {
        auto program = UpdateProgram::compile(json(one.update), json(one.arrayFilters).view());
        ASSERT_TRUE(program.isOk()) << one.update << ": " << program.status().text();
        auto matcher = Matcher::compile(json(one.filter).view());
        ASSERT_TRUE(matcher.isOk());
        const bson::OwnedDocument before = json(one.before);
        bool changed = false;
        auto after = (*program)->apply(before.view(), matcher->get(), &changed);
        ASSERT_TRUE(after.isOk()) << one.update << ": " << after.status().text();
        const char* wanted = one.after == nullptr ? one.before : one.after;
        EXPECT_EQ(bson::toCanonicalJson(after->view()), bson::toCanonicalJson(json(wanted).view()))
            << one.update << " on " << one.before;
        EXPECT_EQ(changed, one.after != nullptr) << one.update << " on " << one.before;
    }
}

TEST(UpdateProgram, SetAndUnset) {
    check({
        {R"({"_id":1,"a":1})", R"({"$set":{"a":2}})", R"({"_id":1,"a":2})"},
        {R"({"_id":1,"a":1})", R"({"$set":{"a":1}})", nullptr},
        {R"({"_id":1,"a":1})", R"({"$set":{"a":1.0}})", R"({"_id":1,"a":1.0})"},
        {R"({"_id":1,"a":1,"b":2})", R"({"$set":{"a":"x"}})", R"({"_id":1,"a":"x","b":2})"},
        {R"({"_id":1})", R"({"$set":{"c":1,"a":2}})", R"({"_id":1,"a":2,"c":1})"},
        {R"({"_id":1})", R"({"$set":{"a.b.c":1}})", R"({"_id":1,"a":{"b":{"c":1}}})"},
        {R"({"_id":1,"a":{"x":1}})", R"({"$set":{"a.b":2}})", R"({"_id":1,"a":{"x":1,"b":2}})"},
        {R"({"_id":1,"a":[1,2]})", R"({"$set":{"a.1":9}})", R"({"_id":1,"a":[1,9]})"},
        {R"({"_id":1,"a":[1]})", R"({"$set":{"a.3":9}})", R"({"_id":1,"a":[1,null,null,9]})"},
        {R"({"_id":1,"a":[]})",
         R"({"$set":{"a.10":1,"a.9":2}})",
         R"({"_id":1,"a":[null,null,null,null,null,null,null,null,null,2,1]})"},
        {R"({"_id":1,"a":[{"b":1}]})", R"({"$set":{"a.0.b":2}})", R"({"_id":1,"a":[{"b":2}]})"},
        {R"({"_id":1})", R"({"$set":{"a.0":1}})", R"({"_id":1,"a":{"0":1}})"},
        {R"({"_id":1})", R"({"$set":{"_id":1}})", nullptr},
        {R"({"_id":1,"a":1})", R"({"$set":{"_id":1.0}})", nullptr},
        {R"({"_id":1})", R"({"$set":{}})", nullptr},
        {R"({"_id":1,"a":1,"b":2})", R"({"$unset":{"a":""}})", R"({"_id":1,"b":2})"},
        {R"({"_id":1})", R"({"$unset":{"a":1}})", nullptr},
        {R"({"_id":1,"a":{"b":1,"c":2}})", R"({"$unset":{"a.b":1}})", R"({"_id":1,"a":{"c":2}})"},
        {R"({"_id":1,"a":5})", R"({"$unset":{"a.b":1}})", nullptr},
        {R"({"_id":1})", R"({"$unset":{"a.b":1}})", nullptr},
        {R"({"_id":1,"a":[1,2,3]})", R"({"$unset":{"a.1":1}})", R"({"_id":1,"a":[1,null,3]})"},
        {R"({"_id":1,"a":1})", R"({"$setOnInsert":{"a":2}})", nullptr},
        {R"({"_id":1,"a":1,"b":1})",
         R"({"$set":{"a":2},"$unset":{"b":1},"$inc":{"c":1}})",
         R"({"_id":1,"a":2,"c":1})"},
    });
}

TEST(UpdateProgram, Arithmetic) {
    check({
        {R"({"a":1})", R"({"$inc":{"a":2}})", R"({"a":3})"},
        {R"({"a":1})", R"({"$inc":{"a":-2}})", R"({"a":-1})"},
        {R"({"a":1})", R"({"$inc":{"a":1.5}})", R"({"a":2.5})"},
        {R"({"a":1.5})", R"({"$inc":{"a":1}})", R"({"a":2.5})"},
        {"{}", R"({"$inc":{"a":5}})", R"({"a":5})"},
        {"{}", R"({"$inc":{"a.b":5}})", R"({"a":{"b":5}})"},
        {R"({"a":2147483647})", R"({"$inc":{"a":1}})", R"({"a":{"$numberLong":"2147483648"}})"},
        {R"({"a":{"$numberLong":"1"}})", R"({"$inc":{"a":1}})", R"({"a":{"$numberLong":"2"}})"},
        {R"({"a":{"$numberDecimal":"1.10"}})",
         R"({"$inc":{"a":1}})",
         R"({"a":{"$numberDecimal":"2.10"}})"},
        {R"({"a":1})", R"({"$inc":{"a":0}})", nullptr},
        {R"({"a":3})", R"({"$mul":{"a":4}})", R"({"a":12})"},
        {"{}", R"({"$mul":{"a":4}})", R"({"a":0})"},
        {"{}", R"({"$mul":{"a":4.5}})", R"({"a":0.0})"},
        {R"({"a":2147483647})", R"({"$mul":{"a":2}})", R"({"a":{"$numberLong":"4294967294"}})"},
        {R"({"a":5})", R"({"$min":{"a":3}})", R"({"a":3})"},
        {R"({"a":5})", R"({"$min":{"a":7}})", nullptr},
        {"{}", R"({"$min":{"a":7}})", R"({"a":7})"},
        {R"({"a":5})", R"({"$max":{"a":7}})", R"({"a":7})"},
        {R"({"a":5})", R"({"$max":{"a":"x"}})", R"({"a":"x"})"},
        {R"({"a":5})", R"({"$max":{"a":5.0}})", nullptr},
        {R"({"a":13})", R"({"$bit":{"a":{"and":10}}})", R"({"a":8})"},
        {R"({"a":1})", R"({"$bit":{"a":{"or":6}}})", R"({"a":7})"},
        {R"({"a":5})", R"({"$bit":{"a":{"xor":1}}})", R"({"a":4})"},
        {"{}", R"({"$bit":{"a":{"or":5}}})", R"({"a":5})"},
    });
}

TEST(UpdateProgram, Rename) {
    check({
        {R"({"a":1})", R"({"$rename":{"a":"b"}})", R"({"b":1})"},
        {R"({"a":1,"b":2})", R"({"$rename":{"a":"b"}})", R"({"b":1})"},
        {R"({"c":1})", R"({"$rename":{"a":"b"}})", nullptr},
        {R"({"a":{"x":1}})", R"({"$rename":{"a.x":"b.y"}})", R"({"a":{},"b":{"y":1}})"},
        {R"({"a":1,"c":2})", R"({"$rename":{"a":"d"},"$set":{"c":3}})", R"({"c":3,"d":1})"},
    });
}

TEST(UpdateProgram, Push) {
    check({
        {"{}", R"({"$push":{"a":1}})", R"({"a":[1]})"},
        {R"({"a":[1]})", R"({"$push":{"a":2}})", R"({"a":[1,2]})"},
        {R"({"a":[1]})", R"({"$push":{"a":[2,3]}})", R"({"a":[1,[2,3]]})"},
        {R"({"a":[1]})", R"({"$push":{"a":{"$each":[2,3]}}})", R"({"a":[1,2,3]})"},
        {R"({"a":[1]})", R"({"$push":{"a":{"$each":[]}}})", nullptr},
        {R"({"a":[1,4]})",
         R"({"$push":{"a":{"$each":[2,3],"$position":1}}})",
         R"({"a":[1,2,3,4]})"},
        {R"({"a":[1,4]})", R"({"$push":{"a":{"$each":[3],"$position":-1}}})", R"({"a":[1,3,4]})"},
        {R"({"a":[1]})", R"({"$push":{"a":{"$each":[2,3],"$slice":2}}})", R"({"a":[1,2]})"},
        {R"({"a":[1]})", R"({"$push":{"a":{"$each":[2,3],"$slice":-2}}})", R"({"a":[2,3]})"},
        {R"({"a":[1]})", R"({"$push":{"a":{"$each":[2],"$slice":0}}})", R"({"a":[]})"},
        {R"({"a":[3]})", R"({"$push":{"a":{"$each":[2,1],"$sort":1}}})", R"({"a":[1,2,3]})"},
        {R"({"a":[3]})",
         R"({"$push":{"a":{"$each":[5,1],"$sort":-1,"$slice":2}}})",
         R"({"a":[5,3]})"},
        {R"({"a":[{"x":3}]})",
         R"({"$push":{"a":{"$each":[{"x":1}],"$sort":{"x":1}}}})",
         R"({"a":[{"x":1},{"x":3}]})"},
        {R"({"a":{"b":[1]}})", R"({"$push":{"a.b":2}})", R"({"a":{"b":[1,2]}})"},
    });
}

TEST(UpdateProgram, SetsAndRemovals) {
    check({
        {R"({"a":[1]})", R"({"$addToSet":{"a":2}})", R"({"a":[1,2]})"},
        {R"({"a":[1]})", R"({"$addToSet":{"a":1.0}})", nullptr},
        {R"({"a":[1]})", R"({"$addToSet":{"a":{"$each":[1,2,2,3]}}})", R"({"a":[1,2,3]})"},
        {"{}", R"({"$addToSet":{"a":1}})", R"({"a":[1]})"},
        {R"({"a":[{"x":1}]})", R"({"$addToSet":{"a":{"x":1}}})", nullptr},
        {R"({"a":[1,2,3]})", R"({"$pop":{"a":1}})", R"({"a":[1,2]})"},
        {R"({"a":[1,2,3]})", R"({"$pop":{"a":-1}})", R"({"a":[2,3]})"},
        {R"({"a":[]})", R"({"$pop":{"a":1}})", nullptr},
        {"{}", R"({"$pop":{"a":1}})", nullptr},
        {R"({"a":[1,2,1]})", R"({"$pull":{"a":1}})", R"({"a":[2]})"},
        {R"({"a":[1,5,9]})", R"({"$pull":{"a":{"$gt":3}}})", R"({"a":[1]})"},
        {R"({"a":[1,5,9]})", R"({"$pull":{"a":{"$in":[1,9]}}})", R"({"a":[5]})"},
        {R"({"a":[{"x":1,"y":1},{"x":2}]})", R"({"$pull":{"a":{"x":1}}})", R"({"a":[{"x":2}]})"},
        {R"({"a":[{"x":1},{"x":7}]})", R"({"$pull":{"a":{"x":{"$gte":5}}}})", R"({"a":[{"x":1}]})"},
        {R"({"a":["ab","cd"]})",
         R"({"$pull":{"a":{"$regularExpression":{"pattern":"^a","options":""}}}})",
         R"({"a":["cd"]})"},
        {R"({"a":[1]})", R"({"$pull":{"a":7}})", nullptr},
        {"{}", R"({"$pull":{"a.b":7}})", nullptr},
        {R"({"a":[1,2,3,1]})", R"({"$pullAll":{"a":[1,3]}})", R"({"a":[2]})"},
        {R"({"a":[[1],2]})", R"({"$pull":{"a":[1]}})", R"({"a":[2]})"},
        {R"({"a":[1,[1,2],3]})", R"({"$pull":{"a":{"$ne":1}}})", R"({"a":[1,[1,2]]})"},
        {R"({"a":[[5,6],[1],4]})", R"({"$pull":{"a":{"$gt":4}}})", R"({"a":[[1],4]})"},
        {R"({"a":[[{"x":1}],{"x":1}]})", R"({"$pull":{"a":{"x":1}}})", R"({"a":[[{"x":1}]]})"},
        {R"({"a":{}})", R"({"$pop":{"a.b":1}})", nullptr},
        {R"({"a":[1]})", R"({"$pull":{"a.3":1}})", nullptr},
        {R"({"a":[1]})", R"({"$unset":{"a.b":1}})", nullptr},
    });
}

TEST(UpdateProgram, Positional) {
    check({
        {R"({"a":[1,2,3]})", R"({"$set":{"a.$":9}})", R"({"a":[1,9,3]})", "{}", R"({"a":2})"},
        {R"({"a":[{"x":1},{"x":2}]})",
         R"({"$inc":{"a.$.n":1}})",
         R"({"a":[{"x":1},{"x":2,"n":1}]})",
         "{}",
         R"({"a.x":2})"},
        {R"({"a":[{"b":[0,1]}]})",
         R"({"$set":{"a.0.b.$":2}})",
         R"({"a":[{"b":[0,2]}]})",
         "{}",
         R"({"a.0.b":1})"},
        {R"({"a":[1,2,3]})", R"({"$inc":{"a.$[]":10}})", R"({"a":[11,12,13]})"},
        {R"({"a":[{"b":[1,2]},{"b":[3]}]})",
         R"({"$inc":{"a.$[].b.$[]":1}})",
         R"({"a":[{"b":[2,3]},{"b":[4]}]})"},
        {R"({"a":[1,5,9]})",
         R"({"$set":{"a.$[e]":0}})",
         R"({"a":[1,0,0]})",
         R"({"0":{"e":{"$gt":3}}})"},
        {R"({"a":[{"x":1},{"x":5}]})",
         R"({"$set":{"a.$[e].y":1}})",
         R"({"a":[{"x":1},{"x":5,"y":1}]})",
         R"({"0":{"e.x":5}})"},
        {R"({"a":[1,2]})", R"({"$set":{"a.$[e]":0}})", nullptr, R"({"0":{"e":7}})"},
        {R"({"a":[{"x":1,"y":1}]})",
         R"({"$set":{"a.$[i].x":5,"a.$[j].y":6}})",
         R"({"a":[{"x":5,"y":6}]})",
         R"({"0":{"i.x":1},"1":{"j.y":1}})"},
        {R"({"a":[]})", R"({"$set":{"a.$[]":1}})", nullptr},
    });
}

TEST(UpdateProgram, Replacement) {
    check({
        {R"({"_id":1,"a":1})", R"({"b":2})", R"({"_id":1,"b":2})"},
        {R"({"_id":1,"a":1})", R"({"b":2,"_id":1})", R"({"_id":1,"b":2})"},
        {R"({"_id":1,"a":1})", R"({"a":1})", nullptr},
        {R"({"_id":1,"a":1})", "{}", R"({"_id":1})"},
    });
}

struct ErrorCase {
    const char* before;
    const char* update;
    Reason reason;
    const char* text;
    const char* arrayFilters = "{}";
};

TEST(UpdateProgram, Errors) {
    const ErrorCase cases[] = {
        {"{}",
         R"({"$foo":{"a":1}})",
         Reason::kFailedToParse,
         "Unknown modifier: $foo. Expected a valid update modifier or pipeline-style update "
         "specified as an array"},
        {"{}", R"({"$set":{"a":1},"b":1})", Reason::kFailedToParse, "Unknown modifier: b"},
        {"{}",
         R"({"$set":{"a.$.b.$":1}})",
         Reason::kBadValue,
         "Too many positional (i.e. '$') elements found in path 'a.$.b.$'"},
        {R"({"a":1})",
         R"({"$pop":{"a.b.c":1}})",
         Reason::kPathNotViable,
         "Cannot use the part (b) of (a.b.c) to traverse the element ({a: 1})"},
        {R"({"a":{"x":"s"}})",
         R"({"$pull":{"a.x.y":1}})",
         Reason::kPathNotViable,
         "Cannot use the part (y) of (a.x.y) to traverse the element ({x: \"s\"})"},
        {R"({"a":[1]})",
         R"({"$pullAll":{"a.b":[1]}})",
         Reason::kPathNotViable,
         "Cannot use the part (b) of (a.b) to traverse the element ({a: [ 1 ]})"},
        {R"({"a":1})",
         R"({"$rename":{"a.b":"c"}})",
         Reason::kPathNotViable,
         "cannot use the part (b of a.b) to traverse the element ({a: 1})"},
        {R"({"a":[{"b":1}]})",
         R"({"$rename":{"a.b":"c"}})",
         Reason::kPathNotViable,
         "cannot use the part (b of a.b) to traverse the element ({a: [ { b: 1 } ]})"},
        {"{}",
         R"({"$set":5})",
         Reason::kFailedToParse,
         "Modifiers operate on fields but we found type int instead. For example: {$mod: {<field>: "
         "...}} not {$set: 5}"},
        {"{}",
         R"({"$set":{"a":1},"$inc":{"a":1}})",
         Reason::kConflictingUpdateOperators,
         "Updating the path 'a' would create a conflict at 'a'"},
        {"{}",
         R"({"$set":{"a":1},"$inc":{"a.b":1}})",
         Reason::kConflictingUpdateOperators,
         "Updating the path 'a.b' would create a conflict at 'a'"},
        {"{}",
         R"({"$set":{"a.b":1},"$inc":{"a":1}})",
         Reason::kConflictingUpdateOperators,
         "Updating the path 'a' would create a conflict at 'a'"},
        {"{}",
         R"({"$set":{"a.b":1},"$inc":{"a.b":1}})",
         Reason::kConflictingUpdateOperators,
         "Updating the path 'a.b' would create a conflict at 'a.b'"},
        {R"({"_id":1})",
         R"({"$set":{"_id":2}})",
         Reason::kImmutableField,
         "Performing an update on the path '_id' would modify the immutable field '_id'"},
        {R"({"_id":1})", R"({"$unset":{"_id":1}})", Reason::kImmutableField, "'_id'"},
        {R"({"_id":1})",
         R"({"_id":2,"a":1})",
         Reason::kImmutableField,
         "the (immutable) field '_id' was found to have been altered to _id: 2"},
        {R"({"_id":1,"a":"x"})",
         R"({"$inc":{"a":1}})",
         Reason::kTypeMismatch,
         "Cannot apply $inc to a value of non-numeric type. {_id: 1} has the field 'a' of "
         "non-numeric type string"},
        {"{}",
         R"({"$inc":{"a":"x"}})",
         Reason::kTypeMismatch,
         "Cannot increment with non-numeric argument: {a: \"x\"}"},
        {"{}",
         R"({"$mul":{"a":"x"}})",
         Reason::kTypeMismatch,
         "Cannot multiply with non-numeric argument: {a: \"x\"}"},
        {R"({"_id":1,"a":{"$numberLong":"9223372036854775807"}})",
         R"({"$inc":{"a":1}})",
         Reason::kBadValue,
         "Failed to apply $inc operations to current value "
         "((NumberLong)9223372036854775807) for document {_id: 1}"},
        {R"({"a":1})",
         R"({"$set":{"a.b":1}})",
         Reason::kPathNotViable,
         "Cannot create field 'b' in element {a: 1}"},
        {R"({"a":[1]})",
         R"({"$set":{"a.b":1}})",
         Reason::kPathNotViable,
         "Cannot create field 'b' in element {a: [ 1 ]}"},
        {R"({"a":[]})", R"({"$set":{"a.1500002":1}})", Reason::kBadValue, "backfill"},
        {"{}", R"({"$set":{"":1}})", Reason::kEmptyFieldName, "An empty update path is not valid."},
        {"{}",
         R"({"$set":{"a..b":1}})",
         Reason::kEmptyFieldName,
         "The update path 'a..b' contains an empty field name, which is not allowed."},
        {"{}",
         R"({"$set":{"a.$b":1}})",
         Reason::kDollarPrefixedFieldName,
         "The dollar ($) prefixed field '$b' in 'a.$b' is not valid for storage."},
        {"{}",
         R"({"a":1,"$b":1})",
         Reason::kDollarPrefixedFieldName,
         "The dollar ($) prefixed field '$b' in '$b' is not allowed"},
        {R"({"_id":1,"a":5})",
         R"({"$push":{"a":1}})",
         Reason::kBadValue,
         "The field 'a' must be an array but is of type int in document {_id: 1}"},
        {"{}",
         R"({"$push":{"a":{"$each":5}}})",
         Reason::kBadValue,
         "The argument to $each in $push must be an array but it was of type: int"},
        {"{}",
         R"({"$push":{"a":{"$each":[],"$foo":1}}})",
         Reason::kBadValue,
         "Unrecognized clause in $push: $foo"},
        {R"({"a":5})",
         R"({"$addToSet":{"a":1}})",
         Reason::kBadValue,
         "Cannot apply $addToSet to non-array field. Field named 'a' has non-array type int"},
        {"{}", R"({"$pop":{"a":5}})", Reason::kFailedToParse, "$pop expects 1 or -1, found: 5"},
        {R"({"a":5})",
         R"({"$pop":{"a":1}})",
         Reason::kTypeMismatch,
         "Path 'a' contains an element of non-array type 'int'"},
        {R"({"a":5})",
         R"({"$pull":{"a":1}})",
         Reason::kBadValue,
         "Cannot apply $pull to a non-array value"},
        {"{}",
         R"({"$pullAll":{"a":1}})",
         Reason::kBadValue,
         "$pullAll requires an array argument but was given a int"},
        {"{}",
         R"({"$rename":{"a":1}})",
         Reason::kBadValue,
         "The 'to' field for $rename must be a string: a: 1"},
        {"{}",
         R"({"$rename":{"a":"a"}})",
         Reason::kBadValue,
         "The source and target field for $rename must differ"},
        {"{}", R"({"$rename":{"a":"a.b"}})", Reason::kBadValue, "must not be on the same path"},
        {R"({"_id":1,"a":[{"b":1}]})",
         R"({"$rename":{"a.0.b":"c"}})",
         Reason::kBadValue,
         "The source field cannot be an array element"},
        {R"({"a":[1]})",
         R"({"$set":{"a.$":1}})",
         Reason::kBadValue,
         "The positional operator did not find the match needed from the query."},
        {R"({"a":[1]})",
         R"({"$set":{"a.$[x]":1}})",
         Reason::kBadValue,
         "No array filter found for identifier 'x' in path 'a.$[x]'"},
        {R"({"a":[1]})",
         R"({"$set":{"a":1}})",
         Reason::kFailedToParse,
         "The array filter for identifier 'x' was not used in the update",
         R"({"0":{"x":1}})"},
        {"{}",
         R"({"$set":{"a.$[]":1}})",
         Reason::kBadValue,
         "The path 'a' must exist in the document in order to apply array updates."},
        {R"({"a":1})",
         R"({"$set":{"a.$[]":1}})",
         Reason::kBadValue,
         "Cannot apply array updates to non-array element a: 1"},
        {R"({"a":[1]})",
         R"({"$set":{"a.$[x]":1,"a.$[y]":2}})",
         Reason::kConflictingUpdateOperators,
         "would create a conflict",
         R"({"0":{"x":1},"1":{"y":1}})"},
        {"{}",
         R"({"$currentDate":{"a":5}})",
         Reason::kBadValue,
         "int is not valid type for $currentDate"},
        {R"({"_id":1,"a":"x"})",
         R"({"$bit":{"a":{"and":1}}})",
         Reason::kBadValue,
         "Cannot apply $bit to a value of non-integral type."},
    };
    for (const ErrorCase& one : cases) {
        Status status;
        auto program = UpdateProgram::compile(json(one.update), json(one.arrayFilters).view());
        if (program.isOk()) {
            bool changed = false;
            status = (*program)->apply(json(one.before).view(), nullptr, &changed).status();
        } else {
            status = program.status();
        }
        EXPECT_EQ(status.reason(), one.reason) << one.update << ": " << status.text();
        EXPECT_NE(status.text().find(one.text), std::string_view::npos)
            << one.update << ": " << status.text();
    }
}

TEST(UpdateProgram, CurrentDate) {
    auto program = UpdateProgram::compile(
        json(R"({"$currentDate":{"a":true,"b":{"@type":"timestamp"}}})"), {});
    ASSERT_TRUE(program.isOk()) << program.status().text();
    bool changed = false;
    auto after = (*program)->apply(json(R"({"_id":1})").view(), nullptr, &changed);
    ASSERT_TRUE(after.isOk());
    EXPECT_TRUE(changed);
    EXPECT_EQ(after->view().find("a").type(), bson::Type::kDate);
    EXPECT_EQ(after->view().find("b").type(), bson::Type::kTimestamp);
}

TEST(UpdateProgram, Upsert) {
    struct UpsertCase {
        const char* filter;
        const char* update;
        const char* made;  // null: refused
    };
    const UpsertCase cases[] = {
        {R"({"_id":5})", R"({"$set":{"a":1}})", R"({"_id":5,"a":1})"},
        {R"({"_id":5,"b":{"$gt":3},"c":"x"})", R"({"$inc":{"n":1}})", R"({"_id":5,"c":"x","n":1})"},
        {R"({"_id":5,"a.b":1})", R"({"$set":{"a.c":2}})", R"({"_id":5,"a":{"b":1,"c":2}})"},
        {R"({"_id":5})", R"({"$setOnInsert":{"a":1}})", R"({"_id":5,"a":1})"},
        {R"({"_id":{"$in":[5]}})", R"({"$set":{"a":1}})", R"({"_id":5,"a":1})"},
        {R"({"$and":[{"_id":5},{"b":1}]})", R"({"$set":{"a":1}})", R"({"_id":5,"b":1,"a":1})"},
        {R"({"$or":[{"_id":5},{"b":1}],"_id":6})", R"({"$set":{"a":1}})", R"({"_id":6,"a":1})"},
        {R"({"_id":5,"x":1})", R"({"a":1})", R"({"_id":5,"a":1})"},
        {R"({"x":1})", R"({"_id":7,"a":1})", R"({"_id":7,"a":1})"},
        {R"({"b":1})", R"({"$set":{"_id":7}})", R"({"_id":7,"b":1})"},
        {R"({"_id":5})", R"({"$set":{"_id":7}})", nullptr},
        {R"({"_id":5})", R"({"_id":7})", nullptr},
        {R"({"a":1,"$and":[{"a":2}]})", R"({"$set":{"b":7}})", nullptr},
        {R"({"b":1})", R"({"$set":{"_id":[1]}})", nullptr},
    };
    for (const UpsertCase& one : cases) {
        auto program = UpdateProgram::compile(json(one.update), {});
        auto matcher = Matcher::compile(json(one.filter).view());
        ASSERT_TRUE(program.isOk() && matcher.isOk()) << one.update;
        auto made = (*program)->makeUpsert(**matcher);
        ASSERT_EQ(made.isOk(), one.made != nullptr) << one.filter << " " << one.update;
        if (made.isOk()) {
            EXPECT_EQ(bson::toJson(made->view()), bson::toJson(json(one.made).view()));
        }
    }
    auto program = UpdateProgram::compile(json(R"({"$set":{"a":1}})"), {});
    auto matcher = Matcher::compile(bson::Document());
    auto made = (*program)->makeUpsert(**matcher);
    ASSERT_TRUE(made.isOk());
    EXPECT_EQ(made->view().begin()->name(), "_id");
    EXPECT_EQ(made->view().begin()->type(), bson::Type::kObjectId);
}

}  // namespace
}  // namespace freshet::query
