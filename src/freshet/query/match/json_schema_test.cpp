// SPDX-License-Identifier: Apache-2.0
/// $jsonSchema, keyword by keyword.
#include "freshet/query/match/explain_failure.h"
#include "freshet/query/match/json_for_test.h"

#include <gtest/gtest.h>

namespace freshet::query {
namespace {

struct SchemaCase {
    const char* schema;
    const char* good;
    const char* bad;
};

std::unique_ptr<Matcher> validator(const char* schema) {
    auto matcher = Matcher::compile(json(std::string(R"({"$jsonSchema":)") + schema + "}").view());
    EXPECT_TRUE(matcher.isOk()) << schema << matcher.status().toString();
    return matcher.isOk() ? *std::move(matcher) : nullptr;
}

TEST(JsonSchema, TellsGoodFromBad) {
    const SchemaCase cases[] = {
        {R"({"properties":{"a":{"bsonType":"int"}}})", R"({"a":1})", R"({"a":"x"})"},
        {R"({"properties":{"a":{"bsonType":["int","null"]}}})", R"({"a":null})", R"({"a":1.5})"},
        {R"({"properties":{"a":{"type":"number"}}})", R"({"a":1.5})", R"({"a":true})"},
        {R"({"properties":{"a":{"type":"boolean"}}})", R"({"a":true})", R"({"a":1})"},
        {R"({"required":["a","b"]})", R"({"a":1,"b":null})", R"({"a":1})"},
        {R"({"properties":{"a":{"enum":[1,"x",{"y":1}]}}})", R"({"a":{"y":1}})", R"({"a":2})"},
        {R"({"properties":{"a":{"minimum":2}}})", R"({"a":2})", R"({"a":1})"},
        {R"({"properties":{"a":{"minimum":2,"exclusiveMinimum":true}}})",
         R"({"a":3})",
         R"({"a":2})"},
        {R"({"properties":{"a":{"maximum":2}}})", R"({"a":"text"})", R"({"a":2.5})"},
        {R"({"properties":{"a":{"multipleOf":3}}})", R"({"a":9})", R"({"a":10})"},
        {R"({"properties":{"a":{"minLength":2}}})", R"({"a":"ää"})", R"({"a":"ä"})"},
        {R"({"properties":{"a":{"maxLength":2}}})", R"({"a":7})", R"({"a":"abc"})"},
        {R"({"properties":{"a":{"pattern":"^x"}}})", R"({"a":"xy"})", R"({"a":"yx"})"},
        {R"({"properties":{"a":{"minItems":1}}})", R"({"a":[1]})", R"({"a":[]})"},
        {R"({"properties":{"a":{"uniqueItems":true}}})", R"({"a":[1,2]})", R"({"a":[1,2,1.0]})"},
        {R"({"properties":{"a":{"items":{"bsonType":"int"}}}})", R"({"a":[1]})", R"({"a":["x"]})"},
        {R"({"properties":{"a":{"items":[{"bsonType":"int"}],"additionalItems":false}}})",
         R"({"a":[1]})",
         R"({"a":[1,2]})"},
        {R"({"minProperties":2})", R"({"a":1,"b":1})", R"({"a":1})"},
        {R"({"additionalProperties":false,"properties":{"a":{}}})", R"({"a":1})", R"({"b":1})"},
        {R"({"additionalProperties":{"bsonType":"int"},"properties":{"a":{}}})",
         R"({"a":"x","b":1})",
         R"({"b":"x"})"},
        {R"({"patternProperties":{"^n":{"bsonType":"int"}}})",
         R"({"n1":1,"s":"x"})",
         R"({"n1":"x"})"},
        {R"({"dependencies":{"a":["b"]}})", R"({"c":1})", R"({"a":1})"},
        {R"({"dependencies":{"a":{"required":["b"]}}})", R"({"a":1,"b":1})", R"({"a":1})"},
        {R"({"allOf":[{"required":["a"]},{"required":["b"]}]})", R"({"a":1,"b":1})", R"({"a":1})"},
        {R"({"anyOf":[{"required":["a"]},{"required":["b"]}]})", R"({"b":1})", R"({"c":1})"},
        {R"({"oneOf":[{"required":["a"]},{"required":["b"]}]})", R"({"b":1})", R"({"a":1,"b":1})"},
        {R"({"not":{"required":["a"]}})", R"({"b":1})", R"({"a":1})"},
        {R"({"title":"t","description":"d","bsonType":"object"})", "{}", nullptr},
    };
    for (const SchemaCase& one : cases) {
        auto matcher = validator(one.schema);
        ASSERT_NE(matcher, nullptr);
        EXPECT_TRUE(matcher->matches(json(one.good).view())) << one.schema << one.good;
        if (one.bad != nullptr) {
            EXPECT_FALSE(matcher->matches(json(one.bad).view())) << one.schema << one.bad;
            EXPECT_FALSE(whyNot(*matcher, json(one.bad).view())
                             .view()
                             .find("schemaRulesNotSatisfied")
                             .document()
                             .isEmpty())
                << one.schema;
        }
    }
}

TEST(JsonSchema, SaysWhatIsWrong) {
    auto matcher =
        validator(R"({"required":["n"],"properties":{"a":{"bsonType":"int","description":"d"}}})");
    EXPECT_EQ(bson::toShellText(whyNot(*matcher, json(R"({"a":"x"})").view()).view()),
              "{ operatorName: \"$jsonSchema\", schemaRulesNotSatisfied: [ { operatorName: "
              "\"required\", specifiedAs: { required: [ \"n\" ] }, missingProperties: [ \"n\" ] }, "
              "{ operatorName: \"properties\", propertiesNotSatisfied: [ { propertyName: \"a\", "
              "description: \"d\", details: [ { operatorName: \"bsonType\", specifiedAs: { "
              "bsonType: \"int\" }, reason: \"type did not match\", consideredValue: \"x\", "
              "consideredType: \"string\" } ] } ] } ] }");
}

TEST(JsonSchema, RefusesWhatIsNoSchema) {
    const std::pair<const char*, Reason> cases[] = {
        {R"({"nosuch":1})", Reason::kFailedToParse},
        {R"({"$ref":"x"})", Reason::kFailedToParse},
        {R"({"properties":1})", Reason::kTypeMismatch},
        {R"({"properties":{"a":1}})", Reason::kTypeMismatch},
        {R"({"required":[]})", Reason::kFailedToParse},
        {R"({"required":[1]})", Reason::kTypeMismatch},
        {R"({"type":"integer"})", Reason::kFailedToParse},
        {R"({"bsonType":"nosuch"})", Reason::kBadValue},
        {R"({"type":"string","bsonType":"string"})", Reason::kFailedToParse},
        {R"({"minLength":-1})", Reason::kFailedToParse},
        {R"({"exclusiveMinimum":true})", Reason::kFailedToParse},
        {R"({"multipleOf":0})", Reason::kFailedToParse},
        {R"({"allOf":[]})", Reason::kBadValue},
    };
    for (const auto& [schema, reason] : cases) {
        auto matcher =
            Matcher::compile(json(std::string(R"({"$jsonSchema":)") + schema + "}").view());
        ASSERT_FALSE(matcher.isOk()) << schema;
        EXPECT_EQ(matcher.status().reason(), reason) << schema << matcher.status().toString();
    }
}

TEST(ExplainFailure, NamesTheOperatorThatFailed) {
    auto matcher = Matcher::compile(json(R"({"a":{"$gt":5}})").view());
    EXPECT_EQ(bson::toShellText(whyNot(**matcher, json(R"({"a":1})").view()).view()),
              "{ operatorName: \"$gt\", specifiedAs: { a: { $gt: 5 } }, reason: \"comparison "
              "failed\", consideredValue: 1 }");
    matcher = Matcher::compile(json(R"({"$or":[{"a":1},{"b":{"$exists":true}}]})").view());
    const std::string text = bson::toShellText(whyNot(**matcher, json(R"({"a":2})").view()).view());
    EXPECT_NE(text.find("operatorName: \"$or\", clausesNotSatisfied: [ { index: 0"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("path does not exist"), std::string::npos) << text;
}

}  // namespace
}  // namespace freshet::query
