// SPDX-License-Identifier: Apache-2.0
#include "freshet/client/client.h"

#include <gtest/gtest.h>

namespace freshet::client {

namespace {

ConnectionString parsed(std::string_view text) {
    StatusOr<ConnectionString> result = ConnectionString::parse(text);
    EXPECT_TRUE(result.isOk()) << text << ": " << result.status().toString();
    return result.isOk() ? *result : ConnectionString();
}

std::string summary(std::string_view text) {
    ConnectionString where = parsed(text);
    return where.host + " " + std::to_string(where.port) + " " + where.database;
}

}  // namespace

TEST(ConnectionString, AcceptsTheShellsForms) {
    EXPECT_EQ(summary("mongodb://h"), "h 27017 test");
    EXPECT_EQ(summary("mongodb://h:1234"), "h 1234 test");
    EXPECT_EQ(summary("mongodb://h:1234/"), "h 1234 test");
    EXPECT_EQ(summary("mongodb://h/shop"), "h 27017 shop");
    EXPECT_EQ(summary("mongodb://h:1234/shop?w=1"), "h 1234 shop");
    EXPECT_EQ(summary("mongodb://h/?w=1"), "h 27017 test");
    EXPECT_EQ(summary("mongodb://h?w=1"), "h 27017 test");
    EXPECT_EQ(summary("mongodb://[::1]:5/x"), "::1 5 x");
    EXPECT_EQ(summary("mongodb://[::1]"), "::1 27017 test");
    EXPECT_EQ(summary("localhost"), "localhost 27017 test");
    EXPECT_EQ(summary("10.0.0.1"), "10.0.0.1 27017 test");
    EXPECT_EQ(summary("h:1234/shop"), "h 1234 shop");
    EXPECT_EQ(summary("h/shop"), "h 27017 shop");
    EXPECT_EQ(summary("shop"), "127.0.0.1 27017 shop");
    EXPECT_EQ(summary("mongodb://h/a%20b"), "h 27017 a b");
}

TEST(ConnectionString, ParsesOptions) {
    ConnectionString where =
        parsed("mongodb://h/?connectTimeoutMS=250&appName=my%20app&retryWrites=true&tls=false&x");
    EXPECT_EQ(where.connectTimeoutMs, 250u);
    EXPECT_EQ(where.appName, "my app");
    EXPECT_TRUE(where.retryWrites && parsed("mongodb://h").retryWrites);
    EXPECT_FALSE(parsed("mongodb://h/?retryWrites=false").retryWrites);
}

TEST(ConnectionString, ParsesSeveralHostsAndTheirSet) {
    ConnectionString where = parsed("mongodb://u:p@a:1,[::1]:2,c/shop?replicaSet=rs0");
    EXPECT_EQ(where.whereText(), "a:1,::1:2,c:27017");
    EXPECT_EQ(where.database, "shop");
    EXPECT_EQ(where.replicaSet, "rs0");
    ASSERT_EQ(where.each().size(), 3u);
    EXPECT_EQ(where.each()[2].whereText(), "c:27017");
    EXPECT_EQ(where.each()[2].username, "u");
    EXPECT_EQ(parsed("mongodb://a").each().size(), 1u);
}

TEST(ConnectionString, KeepsOptionsForCommands) {
    ConnectionString where = parsed("mongodb://a/?readPreference=nearest&W=majority&maxPoolSize=3");
    EXPECT_EQ(
        where.ofCommands,
        (std::map<std::string, std::string>{{"readpreference", "nearest"}, {"w", "majority"}}));
}

TEST(ConnectionString, ParsesUsersAndTheirSource) {
    ConnectionString where = parsed("mongodb://ann:p%40ss%3Aword@h:5/shop");
    EXPECT_EQ(where.username, "ann");
    EXPECT_EQ(where.password, "p@ss:word");
    EXPECT_EQ(where.authSource, "shop");
    EXPECT_EQ(where.host, "h");
    EXPECT_EQ(parsed("mongodb://ann:x@h/shop?authSource=admin").authSource, "admin");
    EXPECT_EQ(parsed("mongodb://ann@h/").authSource, "");
    EXPECT_EQ(parsed("shop").authSource, "shop") << "the user may be given by options";
    EXPECT_EQ(parsed("h:5/shop").authSource, "shop");
    EXPECT_EQ(parsed("mongodb://a:b@h/?authMechanism=SCRAM-SHA-1").authMechanism, "SCRAM-SHA-1");
    EXPECT_EQ(parsed("mongodb://a:secret@h").whereText().find("secret"), std::string::npos);
}

TEST(ConnectionString, ParsesTlsCompressionAndUnixSockets) {
    ConnectionString where = parsed(
        "mongodb://h/?tls=true&tlsCAFile=%2Fca.pem&tlsCertificateKeyFile=k.pem&"
        "tlsCertificateKeyFilePassword=x&tlsAllowInvalidHostnames=true&compressors=zstd,snappy");
    EXPECT_TRUE(where.tls);
    EXPECT_EQ(where.tlsCaFile, "/ca.pem");
    EXPECT_EQ(where.tlsCertificateKeyFile, "k.pem");
    EXPECT_EQ(where.tlsCertificateKeyFilePassword, "x");
    EXPECT_TRUE(where.tlsAllowInvalidHostnames);
    EXPECT_FALSE(where.tlsAllowInvalidCertificates);
    EXPECT_EQ(where.compressors, (std::vector<std::string>{"zstd", "snappy"}));
    where = parsed("mongodb://h/?ssl=true&tlsInsecure=true");
    EXPECT_TRUE(where.tls && where.tlsAllowInvalidHostnames && where.tlsAllowInvalidCertificates);
    EXPECT_EQ(parsed("mongodb://%2Ftmp%2Fmongodb-1.sock/db").host, "/tmp/mongodb-1.sock");
    EXPECT_EQ(parsed("/tmp/mongodb-1.sock").whereText(), "/tmp/mongodb-1.sock");
    EXPECT_TRUE(parsed("mongodb://h/?rdma=true").rdma);
    EXPECT_FALSE(parsed("mongodb://h/?rdma=true").rdmaByCall);
    EXPECT_TRUE(parsed("mongodb://h:27020/?rdma=cm").rdma);
    EXPECT_TRUE(parsed("mongodb://h:27020/?rdma=cm").rdmaByCall);
    EXPECT_FALSE(parsed("mongodb://h/?rdma=false&tls=true").rdma);
}

TEST(ConnectionString, ParsesMongodbSrvStrings) {
    ConnectionString where =
        parsed("mongodb+srv://ann:pw@cluster.example.org/shop?srvServiceName=my-db&srvMaxHosts=2");
    EXPECT_EQ(where.service.domain, "cluster.example.org");
    EXPECT_EQ(where.service.name, "my-db");
    EXPECT_EQ(where.service.hostsMax, 2u);
    EXPECT_EQ(where.service.database, "shop");
    EXPECT_EQ(where.database, "shop");
    EXPECT_EQ(where.authSource, "");
    EXPECT_EQ(where.username, "ann");
    EXPECT_EQ(where.whereText(), "cluster.example.org");
    EXPECT_TRUE(where.tls);
    EXPECT_FALSE(parsed("mongodb+srv://h?tls=false").tls);
    EXPECT_TRUE(parsed("mongodb+srv://h?tls=false&rdma=true").rdma);
    EXPECT_EQ(parsed("mongodb+srv://h").service.name, "mongodb");
    EXPECT_TRUE(parsed("mongodb://h").service.domain.empty());
}

TEST(ConnectionString, RefusesUnsupportedOptions) {
    for (const char* text : {"",
                             "mongodb://",
                             "mongodb://:1",
                             "mongodb://h:0",
                             "mongodb://h:65536",
                             "mongodb://h:port",
                             "mongodb://h:12x",
                             "mongodb://a,",
                             "mongodb://a,b:x/",
                             "mongodb://[::1]x",
                             "mongodb://:pw@h",
                             "mongodb://us@er:pw@h",
                             "mongodb://user:p:w@h",
                             "mongodb+srv://",
                             "mongodb+srv:///shop",
                             "mongodb+srv://h:27017",
                             "mongodb+srv://a,b",
                             "mongodb+srv://[::1]",
                             "mongodb+srv://127.0.0.1",
                             "mongodb+srv://%2Ftmp%2Fmongodb-1.sock",
                             "mongodb+srv://a..b",
                             "mongodb+srv://h?directConnection=true",
                             "mongodb+srv://h?rdma=true",
                             "mongodb+srv://h?srvMaxHosts=-1",
                             "mongodb+srv://h?srvMaxHosts=1&replicaSet=x",
                             "mongodb+srv://h?srvMaxHosts=1&loadBalanced=true",
                             "mongodb+srv://h?srvServiceName=",
                             "mongodb+srv://h?srvServiceName=12",
                             "mongodb+srv://h?srvServiceName=-a",
                             "mongodb+srv://h?srvServiceName=a-",
                             "mongodb+srv://h?srvServiceName=a--b",
                             "mongodb+srv://h?srvServiceName=a.b",
                             "mongodb://h?srvMaxHosts=1",
                             "mongodb://h?srvServiceName=x",
                             "mongodb://a,b?directConnection=true",
                             "mongodb://a,b?loadBalanced=true",
                             "mongodb://a?loadBalanced=true&replicaSet=x",
                             "mongodb://a?loadBalanced=perhaps",
                             "mongodb://h/?tls=perhaps",
                             "mongodb://h/?compressors=brotli",
                             "mongodb://h/?rdma=perhaps",
                             "mongodb://h/?rdma=true&tls=true",
                             "mongodb://h/?rdma=cm&tls=true",
                             "mongodb://h/?tls=true&rdma=true",
                             "mongodb://%2Ftmp%2Fmongodb-1.sock/?rdma=true",
                             "mongodb://h/?authMechanism=PLAIN",
                             "mongodb://h/?connectTimeoutMS=soon",
                             "mongodb://h/%4",
                             "mongodb://h/%zz"}) {
        StatusOr<ConnectionString> result = ConnectionString::parse(text);
        EXPECT_FALSE(result.isOk()) << text;
        if (!result.isOk()) {
            EXPECT_EQ(result.status().reason(), Reason::kFailedToParse) << text;
        }
    }
}

}  // namespace freshet::client
