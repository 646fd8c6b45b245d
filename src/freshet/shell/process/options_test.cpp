// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/process/options.h"

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

TEST(Options, AHostMayBeMoreThanAName) {
    const auto where = [](std::vector<std::string> arguments) {
        StatusOr<Options> options = parseOptions(arguments);
        EXPECT_TRUE(options.isOk()) << options.status().toString();
        return options.isOk()
                   ? options->where.whereText() + "/" + options->where.database +
                         (options->where.replicaSet.empty() ? "" : " " + options->where.replicaSet)
                   : "";
    };
    EXPECT_EQ(where({"--host=h:5"}), "h:5/test");
    EXPECT_EQ(where({"--host", "h:5", "shop"}), "h:5/shop");
    EXPECT_EQ(where({"--host", "h", "--port", "6"}), "h:6/test");
    EXPECT_EQ(where({"--host", "h:27017", "mongodb://a:1/shop"}), "h:27017/shop");
    EXPECT_EQ(where({"--host", "rs0/a:1,b"}), "a:1,b:27017/test rs0");
    EXPECT_EQ(where({"--host", "mongodb://h:5/shop"}), "h:5/shop");
    EXPECT_EQ(where({"--host", "/tmp/mongodb-1.sock"}), "/tmp/mongodb-1.sock/test");
    EXPECT_FALSE(parseOptions({"--host", "h:x"}).isOk());
    EXPECT_FALSE(parseOptions({"mongodb+srv://a.b.c", "--host", "h"}).isOk());
    EXPECT_FALSE(parseOptions({"--port", "5", "mongodb+srv://a.b.c"}).isOk());
    const auto service = parseOptions({"--host", "mongodb+srv://a.b.c/shop"});
    ASSERT_TRUE(service.isOk()) << service.status().toString();
    EXPECT_EQ(service->where.service.domain, "a.b.c");
}

TEST(Options, ShortOnesMayHoldTheirValue) {
    StatusOr<Options> options = parseOptions({"-uann", "-psecret", "-p=other"});
    ASSERT_TRUE(options.isOk()) << options.status().toString();
    EXPECT_EQ(options->where.username, "ann");
    EXPECT_EQ(options->where.password, "other");
    EXPECT_FALSE(options->asksPassword);
}

TEST(Options, LoginAndTls) {
    StatusOr<Options> options = parseOptions({"-u",
                                              "ann",
                                              "-p",
                                              "secret",
                                              "--authenticationDatabase=shop",
                                              "--tls",
                                              "--tlsCAFile",
                                              "ca.pem",
                                              "--networkMessageCompressors=zstd,zlib",
                                              "mongodb://bob:x@h/"});
    ASSERT_TRUE(options.isOk()) << options.status().toString();
    EXPECT_EQ(options->where.username, "ann");
    EXPECT_EQ(options->where.password, "secret");
    EXPECT_EQ(options->where.authSource, "shop");
    EXPECT_TRUE(options->where.tls);
    EXPECT_EQ(options->where.tlsCaFile, "ca.pem");
    EXPECT_EQ(options->where.compressors, (std::vector<std::string>{"zstd", "zlib"}));
    EXPECT_FALSE(options->asksPassword);
}

TEST(Options, UsersAreLookedUpInTheDatabaseThatIsGiven) {
    for (const char* place : {"shop", "h:5/shop", "mongodb://h/shop"}) {
        EXPECT_EQ(parseOptions({"-u", "ann", "-p", "x", place})->where.authSource, "shop") << place;
    }
    EXPECT_EQ(parseOptions({"-u", "ann", "-p", "x"})->where.authSource, "") << "it is admin";
    EXPECT_EQ(parseOptions({"--authenticationDatabase", "admin", "shop"})->where.authSource,
              "admin");
}

TEST(Options, APasswordThatIsNotGivenIsAskedFor) {
    EXPECT_TRUE(parseOptions({"--username", "ann"})->asksPassword);
    EXPECT_TRUE(parseOptions({"-u", "ann", "-p", "--quiet"})->asksPassword);
    EXPECT_TRUE(parseOptions({"-u", "ann", "-p"})->asksPassword);
    EXPECT_FALSE(parseOptions({"-u", "ann", "--password="})->asksPassword) << "it is empty";
    EXPECT_FALSE(parseOptions({"mongodb://ann:x@h"})->asksPassword);
    EXPECT_FALSE(parseOptions({})->asksPassword);
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
                                            {"--tls=yes"},
                                            {"-u"},
                                            {"--networkMessageCompressors", "lzma"},
                                            {"a", "b"},
                                            {"mongodb://"},
                                            {"--ping", "--eval", "{}"}};
    for (const std::vector<std::string>& arguments : bad) {
        EXPECT_FALSE(parseOptions(arguments).isOk()) << arguments[0];
    }
}

TEST(Options, ScriptsAndTheirOptions) {
    StatusOr<Options> options = parseOptions({"mongodb://h/shop",
                                              "a.js",
                                              "-f",
                                              "b",
                                              "--eval",
                                              "1",
                                              "--json",
                                              "--nodb",
                                              "--norc",
                                              "--shell"});
    ASSERT_TRUE(options.isOk()) << options.status().toString();
    EXPECT_EQ(options->mode, Mode::kEval);
    EXPECT_EQ(options->files, (std::vector<std::string>{"a.js", "b"}));
    EXPECT_EQ(options->json, "canonical");
    EXPECT_FALSE(options->connects);
    EXPECT_FALSE(options->readsRcFiles);
    EXPECT_TRUE(options->staysForMore);
    EXPECT_EQ(parseOptions({"--json"})->json, "canonical");
    EXPECT_EQ(parseOptions({"--json=relaxed"})->json, "relaxed");
    EXPECT_FALSE(parseOptions({"--json=other"}).isOk());
    EXPECT_TRUE(parseOptions({"--apiVersion", "1", "--retryWrites=false", "--verbose"}).isOk());
    EXPECT_FALSE(parseOptions({"--retryWrites=no"}).isOk());
    EXPECT_FALSE(parseOptions({"--apiVersion"}).isOk());
}

TEST(Options, HealthIsPing) {
    EXPECT_EQ(parseOptions({"--health"})->mode, Mode::kPing);
    EXPECT_EQ(parseOptions({"--ping"})->mode, Mode::kPing);
    EXPECT_EQ(parseOptions({"--help"})->mode, Mode::kHelp);
    const auto check = parseOptions({"--rdma-check", "fd00-host:27018"});
    EXPECT_EQ(check->mode, Mode::kRdmaCheck);
    EXPECT_EQ(check->where.whereText(), "fd00-host:27018");
    EXPECT_EQ(parseOptions({"--rdma-check=shop"})->where.host, "shop") << "no database's name";
    EXPECT_TRUE(parseOptions({"--rdma-check", "mongodb://h:27020/?rdma=cm"})->where.rdmaByCall);
    EXPECT_FALSE(parseOptions({"--rdma-check"}).isOk());
    EXPECT_FALSE(parseOptions({"--rdma-check", "h", "--eval", "1"}).isOk());
    EXPECT_EQ(parseOptions({"--version"})->mode, Mode::kVersion);
}

}  // namespace freshet::shell
