// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/repl/options.h"

#include <gtest/gtest.h>

namespace freshet::shell {

TEST(Options, HostAndPortWinOverTheConnectionString) {
    StatusOr<Options> options =
        parseOptions({"--port", "5", "mongodb://h:1/shop", "--host=other", "--quiet"});
    ASSERT_TRUE(options.isOk()) << options.status().toString();
    EXPECT_EQ(options->where.host, "other");
    EXPECT_EQ(options->where.port, 5);
    EXPECT_EQ(options->where.database, "shop");
    EXPECT_TRUE(options->quiet);
    EXPECT_EQ(options->mode, Mode::kCommands);
}

TEST(Options, EvalsKeepTheirOrder) {
    StatusOr<Options> options = parseOptions({"--eval", "{\"a\":1}", "--eval={\"b\":\"x=y\"}"});
    ASSERT_TRUE(options.isOk());
    EXPECT_EQ(options->mode, Mode::kEval);
    EXPECT_EQ(options->evals, (std::vector<std::string>{"{\"a\":1}", "{\"b\":\"x=y\"}"}));
}

TEST(Options, RefusesWhatItDoesNotKnow) {
    const std::vector<std::string> bad[] = {{"--nosuch"},
                                            {"--port"},
                                            {"--port", "0"},
                                            {"--port", "x"},
                                            {"--port", "70000"},
                                            {"--eval"},
                                            {"--quiet=yes"},
                                            {"a", "b"},
                                            {"mongodb://"},
                                            {"--ping", "--eval", "{}"}};
    for (const std::vector<std::string>& arguments : bad) {
        EXPECT_FALSE(parseOptions(arguments).isOk()) << arguments[0];
    }
}

TEST(Options, HealthIsPing) {
    EXPECT_EQ(parseOptions({"--health"})->mode, Mode::kPing);
    EXPECT_EQ(parseOptions({"--ping"})->mode, Mode::kPing);
    EXPECT_EQ(parseOptions({"--help"})->mode, Mode::kHelp);
    EXPECT_EQ(parseOptions({"--version"})->mode, Mode::kVersion);
}

}  // namespace freshet::shell
