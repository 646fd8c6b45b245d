// SPDX-License-Identifier: Apache-2.0
/// Templates, and a load on a server with scripted replies.
#include "freshet/shell/load/load.h"

#include "freshet/bson/json.h"
#include "freshet/client/scripted_server.h"
#include "freshet/shell/load/template.h"

#include <gtest/gtest.h>

namespace freshet::shell {

namespace {

std::string json(std::string_view text) {
    return bson::fromJson(text)->bytes();
}

std::string filled(std::string_view text, Draw& draw) {
    const std::string bytes = json(text);
    EXPECT_TRUE(checkTemplate(bson::Document(bytes)).isOk()) << text;
    return bson::toJson(bson::Document(fillTemplate(bson::Document(bytes), draw)));
}

}  // namespace

TEST(Template, LeavesWhatIsNoPlace) {
    Draw draw(0, 1);
    const char* text = R"({ "insert" : "c", "documents" : [ { "a" : 1, "o" : { "x" : [  ] } } ] })";
    EXPECT_EQ(filled(text, draw), text);
}

TEST(Template, FillsPlacesWhereverTheyStand) {
    Draw draw(0, 1);
    for (int turn = 0; turn < 100; ++turn) {
        const std::string bytes =
            json(R"({"a": [{"n": {"#RAND_INT": [5, 8]}}], "s": {"#RAND_STRING": [7]}})");
        const std::string made = fillTemplate(bson::Document(bytes), draw);
        const bson::Document document(made);
        const int64_t n = document.find("a").document().find("0").document().find("n").toInt64();
        EXPECT_TRUE(n >= 5 && n < 8) << n;
        EXPECT_EQ(document.find("s").stringValue().size(), 7u);
    }
}

TEST(Template, ThreadsShareASequence) {
    std::vector<std::string> seen;
    Draw first(0, 2), second(1, 2);
    for (int turn = 0; turn < 2; ++turn) {
        for (Draw* draw : {&first, &second}) {
            seen.push_back(filled(R"({"n": {"#SEQ_INT": {"start": 10, "step": 5}}})", *draw));
            draw->goOn();
        }
    }
    EXPECT_EQ(seen,
              (std::vector<std::string>{
                  "{ \"n\" : 10 }", "{ \"n\" : 15 }", "{ \"n\" : 20 }", "{ \"n\" : 25 }"}));
}

TEST(Template, RefusesUnknownPlaces) {
    for (const char* text : {R"({"a": {"#FROB": 1}})",
                             R"({"a": {"#RAND_INT": 5}})",
                             R"({"a": [{"#RAND_STRING": ["x"]}]})"}) {
        const std::string bytes = json(text);
        EXPECT_EQ(checkTemplate(bson::Document(bytes)).code(), Code::kInvalid) << text;
    }
}

TEST(Load, CountsWhatItRanAndWhatFailed) {
    client::ScriptedServer server([](const wire::Request& request) {
        return json(request.body.has("ping") ? R"({"ok": 1})"
                                             : R"({"ok": 0, "errmsg": "no", "code": 59})");
    });
    const std::string config = json(R"({"parallel": 2, "seconds": 0.1, "operations": [
        {"kind": "command", "database": "test", "command": {"ping": 1}},
        {"kind": "insert", "database": "test", "command": {"frob": 1}}]})");
    StatusOr<bson::OwnedDocument> result = runLoad(server.where(), bson::Document(config));
    ASSERT_TRUE(result.isOk()) << result.status().toString();
    const bson::Document all = result->view();
    const bson::Document pings = all.find("operations").document().find("0").document();
    const bson::Document others = all.find("operations").document().find("1").document();
    EXPECT_GE(all.find("elapsedMicros").toInt64(), 100'000);
    EXPECT_GT(pings.find("count").toInt64(), 0);
    EXPECT_EQ(pings.find("errors").toInt64(), 0);
    EXPECT_EQ(others.find("errors").toInt64(), others.find("count").toInt64());
    EXPECT_EQ(all.find("error").stringValue(), "no");
}

TEST(Load, RunsEachOperationOnceHoweverShortTheTime) {
    client::ScriptedServer server([](const wire::Request&) { return json(R"({"ok": 1})"); });
    const std::string config = json(R"({"parallel": 2, "seconds": 1e-9, "operations": [
        {"kind": "command", "database": "test", "command": {"ping": 1}},
        {"kind": "command", "database": "test", "command": {"ping": 1}}]})");
    StatusOr<bson::OwnedDocument> result = runLoad(server.where(), bson::Document(config));
    ASSERT_TRUE(result.isOk()) << result.status().toString();
    for (const bson::Element& each : result->view().find("operations").document()) {
        EXPECT_EQ(each.document().find("count").toInt64(), 2);
    }
}

TEST(Load, AServerThatHangsUpEndsIt) {
    client::ScriptedServer server([](const wire::Request&) { return std::string(); });
    const std::string config = json(R"({"parallel": 2, "seconds": 600, "operations": [
        {"kind": "command", "database": "test", "command": {"ping": 1}}]})");
    StatusOr<bson::OwnedDocument> result = runLoad(server.where(), bson::Document(config));
    ASSERT_TRUE(result.isOk()) << result.status().toString();
    EXPECT_FALSE(result->view().find("error").stringValue().empty());
}

TEST(Load, RefusesWhatCannotBe) {
    client::ConnectionString nowhere;
    for (const char* text :
         {R"({"parallel": 1, "seconds": 1})",
          R"({"parallel": 0, "seconds": 1, "operations": [{"command": {"ping": 1}}]})",
          R"({"parallel": 1, "seconds": 0, "operations": [{"command": {"ping": 1}}]})"}) {
        const std::string config = json(text);
        EXPECT_EQ(runLoad(nowhere, bson::Document(config)).status().code(), Code::kInvalid) << text;
    }
}

}  // namespace freshet::shell
