// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/repl/splitter.h"

#include <gtest/gtest.h>

#include <vector>

namespace freshet::shell {

namespace {

std::vector<std::string> split(const std::vector<std::string>& lines, bool* open = nullptr) {
    Splitter splitter;
    std::vector<std::string> commands;
    for (const std::string& line : lines) {
        EXPECT_TRUE(splitter.addLine(line).isOk());
        while (std::optional<std::string> command = splitter.next()) {
            commands.push_back(*command);
        }
    }
    if (open != nullptr) {
        *open = splitter.isOpen();
    }
    return commands;
}

using Commands = std::vector<std::string>;

}  // namespace

TEST(Splitter, TakesWordsByLineAndObjectsByBraces) {
    EXPECT_EQ(split({"use shop", "{\"a\": 1}", "", "show dbs;", "  exit  "}),
              (Commands{"use shop", "{\"a\": 1}", "show dbs", "exit"}));
    EXPECT_EQ(split({"{\"a\":", "  [1,", "   2]}"}), (Commands{"{\"a\":\n  [1,\n   2]}"}));
    EXPECT_EQ(split({"  {\"a\": 1} {\"b\": 2}; use x", "{}"}),
              (Commands{"{\"a\": 1}", "{\"b\": 2}", "use x", "{}"}));
}

TEST(Splitter, DropsCommentsButNotInStrings) {
    EXPECT_EQ(split({"// nothing", "{\"a\": \"http://x\", // here", "\"b\": \"\\\"//\"} // there"}),
              (Commands{"{\"a\": \"http://x\", \n\"b\": \"\\\"//\"}"}));
}

TEST(Splitter, BracesInStringsDoNotCount) {
    EXPECT_EQ(split({R"({"a": "}{"})"}), (Commands{R"({"a": "}{"})"}));
}

TEST(Splitter, BracesInAnyQuotesDoNotCount) {
    for (const char* line : {"{ a: '}' }",
                             "{ a: `}${ {b: '}'}.b }}` }",
                             R"({ a: "\"}" })",
                             R"({ a: '\'}' })",
                             "{ a: /}/, b: /[/}]/ }",
                             "{ a: 1 / 2, b: x / 3 }"}) {
        EXPECT_EQ(split({line}), Commands{line});
    }
    EXPECT_EQ(split({"{ a: `", "} // stays", "`, b: 'it//'", "}"}),
              (Commands{"{ a: `\n} // stays\n`, b: 'it//'\n}"}));
    EXPECT_EQ(split({"{ /* } */ a: 1, // }", "b: 2 }"}), (Commands{"{  a: 1, \nb: 2 }"}));
    EXPECT_EQ(split({"{ a: /* one", "} two */ 1 }"}), (Commands{"{ a:  1 }"}));
}

TEST(Splitter, KnowsWhenACommandIsUnfinished) {
    bool open = false;
    EXPECT_TRUE(split({"{\"a\": {"}, &open).empty());
    EXPECT_TRUE(open);
    split({"{}", "  "}, &open);
    EXPECT_FALSE(open);
}

TEST(Splitter, DropsUnfinishedTextOnRequestAndStartsAfresh) {
    Splitter splitter;
    ASSERT_TRUE(splitter.addLine("{\"a\": {").isOk());
    EXPECT_FALSE(splitter.next().has_value());
    EXPECT_EQ(splitter.takeRest(), "{\"a\": {\n");
    ASSERT_TRUE(splitter.addLine("{\"b\": 1}").isOk());
    EXPECT_EQ(splitter.next(), "{\"b\": 1}");
}

TEST(Splitter, BoundsUnfinishedText) {
    Splitter splitter;
    const std::string line = "{" + std::string(1'000'000, ' ');
    Status status;
    size_t lines = 0;
    while (status.isOk() && lines < 100) {
        status = splitter.addLine(line);
        ++lines;
    }
    EXPECT_EQ(status.code(), Code::kLimit);
    EXPECT_FALSE(splitter.isOpen());
}

}  // namespace freshet::shell
